//go:build linux

package kubelet

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/config"
	"github.com/berth-dev/berth/test/kubelet/kit"
)

// hostPython is the Python of this machine, for samples that need one: an image
// with a Python is nothing that we can pack.
const hostPython = "/usr/bin/python3"

// TestSamplesSaveAndGoOn: the samples of site/how-to/checkpoint.md that need no
// GPU do what the page says: told that their place is taken they save and end
// soon, and their next run goes on from there.
func TestSamplesSaveAndGoOn(t *testing.T) {
	t.Parallel()
	for _, sample := range []string{"script", "http"} {
		t.Run(sample, func(t *testing.T) {
			t.Parallel()
			team := newPreemptible(t, until)
			if _, err := os.Stat(hostPython); err != nil && sample == "http" {
				t.Skipf("the sample is in Python: %v", err)
			}
			work := team.submitSample(sample + ".yaml")
			first := team.mustSay(work, `from step (\d+)`)
			if first[1] != "0" {
				t.Errorf("the first run goes on from step %s", first[1])
			}
			time.Sleep(3 * time.Second) // some steps
			at := time.Now()
			urgent := team.submit(team.job("urgent", through(urgentName)))
			for _, pod := range urgent.mustRun() {
				team.mustBeSoon("the place is given up", at, pod.created, noticeTime+kubeletTime+handOver)
			}
			urgent.cancel()
			second := team.mustSay(work, `run 1.* from step ([1-9]\d*)`)
			t.Logf("the second run says: %s", second[0])
			work.mustHaveRun("Requeued", "Preempted", team.name+"/"+urgent.job.Name)
		})
	}
}

// submitSample submits the objects of a sample, its Job with images, volumes and
// requests that can be had here.
func (t *team) submitSample(name string) *work {
	t.t.Helper()
	objects, err := config.Sample(filepath.Join("checkpoint", name))
	if err != nil {
		t.t.Fatal(err)
	}
	var work *work
	for _, object := range objects {
		object.SetNamespace(t.name)
		if object.GetKind() != "Job" {
			t.create(object)
			continue
		}
		job := &batchv1.Job{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, job); err != nil {
			t.t.Fatal(err)
		}
		job.Labels[v1alpha1.QueueLabel] = queueName
		image(kit.TrapImage)(job)
		job.Spec.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
		t.asks(unitsPerNode)(job)
		t.storeOnNode(&job.Spec.Template.Spec)
		switch c := &job.Spec.Template.Spec.Containers[0]; c.Command[0] {
		case "python":
			withPython(&job.Spec.Template.Spec)
		case "/bin/bash":
			c.Command[0] = "/bin/sh"
		}
		pods(1)(job)
		work = t.submit(job)
	}
	return work
}

// storeOnNode puts a folder of the node in the place of claims.
func (t *team) storeOnNode(spec *corev1.PodSpec) {
	for i := range spec.Volumes {
		if v := &spec.Volumes[i]; v.PersistentVolumeClaim != nil {
			v.VolumeSource = hostPath(filepath.Join("/run/claims", t.name, v.Name), corev1.HostPathDirectoryOrCreate)
		}
	}
}

func hostPath(path string, kind corev1.HostPathType) corev1.VolumeSource {
	return corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: path, Type: &kind}}
}

// withPython gives a pod the machine's Python and its libraries.
func withPython(spec *corev1.PodSpec) {
	c := &spec.Containers[0]
	c.Command[0] = hostPython
	for i, mount := range []string{"/usr", "/lib", "/lib64"} {
		name := fmt.Sprint("host-", i)
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: hostPath(mount, corev1.HostPathDirectory)})
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: mount, ReadOnly: true})
	}
}

// mustSay waits until a pod of a Job that runs has printed something.
func (t *team) mustSay(w *work, pattern string) []string {
	t.t.Helper()
	expression := regexp.MustCompile(pattern)
	var found []string
	eventually(t.t, patience, w.job.Name+" says "+pattern, func() (string, bool) {
		out, err := t.kubectl("logs", "job/"+w.job.Name, "--all-pods=true")
		found = expression.FindStringSubmatch(out)
		return strings.TrimSpace(fmt.Sprint(out, " ", err)), err == nil && found != nil
	})
	return found
}
