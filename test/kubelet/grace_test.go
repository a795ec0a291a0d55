//go:build linux

package kubelet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/checkpoint"
	"github.com/berth-dev/berth/test/kubelet/evidence"
)

// TestNobodyOutlivesTheGrace: pods that hear of nothing have it to its end and
// are told to end then, and those that take no notice of that either are killed
// when their own grace is over, which is the queue's, because it was raised to
// it. Those whose end is their notice have it once.
func TestNobodyOutlivesTheGrace(t *testing.T) {
	t.Parallel()
	const patient = 6 * time.Second
	ends := map[string]func(*team, *work) time.Time{
		"preempted": func(t *team, _ *work) time.Time {
			at := time.Now()
			t.submit(t.job("urgent", through(urgentName)))
			return at
		},
		"cancelled": func(_ *team, w *work) time.Time { return w.annotate(v1alpha1.CancelAnnotation, patient.String()) },
	}
	for cause, end := range ends {
		for _, how := range []string{"term", "signal=USR1"} {
			t.Run(cause+"/"+how, func(t *testing.T) {
				t.Parallel()
				team := newPreemptible(t, patient)
				work := team.submit(team.job("stubborn", stubborn, grace(time.Second), annotated(v1alpha1.CheckpointAnnotation, how)))
				pods := work.mustRun()
				told := end(team, work).Add(noticeTime)
				if how != "term" {
					for _, pod := range pods {
						team.mustHappen(pod, patience, evidence.Signal, usr1)
					}
					told = told.Add(patient - noticeTime)
				}
				for _, at := range team.mustGetSIGTERM(pods, told) {
					if at.Before(told.Add(-kubeletTime)) {
						t.Errorf("SIGTERM came at %s, before %s", at.Format(clock), told.Format(clock))
					}
				}
				team.mustBeKilled(pods, patient)
			})
		}
	}
}

// TestDeliveryThatFails is tried again, an Event names the pod and the error,
// and the pod has its grace.
func TestDeliveryThatFails(t *testing.T) {
	t.Parallel()
	const patient = 6 * time.Second
	for name, c := range map[string]struct {
		checkpoint string
		args       []string
		heard      evidence.Kind
		words      string
	}{
		"http": {"http=:8080/checkpoint", []string{"--http", ":8080", "--status", "503", "--on", "terminated=exit"}, evidence.Request, "503"},
		"exec": {"exec=/bin/trap save --code 3", []string{"--on", "terminated=exit"}, evidence.Command, "exit code 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			team := newPreemptible(t, patient)
			work := team.submit(team.job("deaf", args(c.args...), annotated(v1alpha1.CheckpointAnnotation, c.checkpoint)))
			pods := work.mustRun()
			at := work.annotate(v1alpha1.CancelAnnotation, patient.String())
			for _, told := range team.mustGetSIGTERM(pods, at.Add(patient)) {
				if told.Before(at.Add(patient - kubeletTime)) {
					t.Errorf("SIGTERM came at %s; nobody has acknowledged, and the grace ends at %s", told.Format(clock), at.Add(patient).Format(clock))
				}
			}
			for _, pod := range pods {
				if n := team.life(pod).Count(c.heard); n < 2 {
					t.Errorf("%s was asked %d times, want more", pod.Name, n)
				}
				team.mustBeWarnedOf(pod, checkpoint.EventUndelivered, c.words)
			}
		})
	}
}

// mustBeWarnedOf says that an Event about a pod has its name and all words.
func (t *team) mustBeWarnedOf(pod podLife, reason string, words string) {
	t.t.Helper()
	eventually(t.t, patience, fmt.Sprintf("an Event %s names %s and %q", reason, pod.Name, words), func() (string, bool) {
		var events corev1.EventList
		if err := t.client.List(t.t.Context(), &events, client.InNamespace(t.name)); err != nil {
			t.t.Fatal(err)
		}
		var notes []string
		for i := range events.Items {
			if e := &events.Items[i]; e.Reason == reason {
				notes = append(notes, e.Message)
				if e.InvolvedObject.Name == pod.Name && strings.Contains(e.Message, pod.Name) && strings.Contains(e.Message, words) {
					return "", true
				}
			}
		}
		return fmt.Sprintf("%q", notes), false
	})
}

// TestB51 one pod that takes long to save has all of the grace, though the
// others leave at once and with an error; its Job counts that neither as
// failure nor as success.
func TestB51(t *testing.T) {
	t.Parallel()
	const patient, long = 15 * time.Second, 8 * time.Second
	team := newPreemptible(t, patient)
	work := team.submit(team.job("gang", grace(2*time.Second), args("--on", "terminated=leave", "--save-first", long.String(), "--code", "143")))
	pods := work.mustRun()
	at := time.Now()
	urgent := team.submit(team.job("urgent", through(urgentName)))
	told := team.mustGetSIGTERM(pods, at.Add(noticeTime))
	team.mustBeSoon("SIGTERM to the last after that to the first", slices.MinFunc(told, time.Time.Compare), slices.MaxFunc(told, time.Time.Compare), kubeletTime)
	for _, pod := range pods {
		team.mustHappen(pod, patience, evidence.Leaving, "143")
		took := team.mustHappen(pod, patience, evidence.Saved, "").At.Sub(team.mustHappen(pod, patience, evidence.Saving, "").At)
		if first := pod.Annotations[batchv1.JobCompletionIndexAnnotation] == "0"; first != (took >= long) {
			t.Errorf("%s saved for %s; only the one of index 0 takes %s", pod.Name, took, long)
		}
	}
	urgent.mustFollow(team.mustDie(pods))
	work.mustHaveRun("Requeued", "Preempted", team.name+"/"+urgent.job.Name)
}

// TestNextRunKnowsOfTheLast: how often the job was taken back, and why.
func TestNextRunKnowsOfTheLast(t *testing.T) {
	t.Parallel()
	team := newPreemptible(t, until)
	work := team.submit(team.job("again"))
	knows := func() string {
		out, err := team.exec(work.mustRun()[0], "env")
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		var found []string
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "BERTH_RESTART_COUNT=") || strings.HasPrefix(line, "BERTH_LAST_EVICTION=") {
				found = append(found, strings.TrimSpace(line))
			}
		}
		return strings.Join(found, " ")
	}
	if got := knows(); got != "BERTH_RESTART_COUNT=0" {
		t.Errorf("the first run has %q", got)
	}
	urgent := team.submit(team.job("urgent", through(urgentName)))
	urgent.mustRun()
	urgent.cancel()
	if got := knows(); !strings.Contains(got, "BERTH_RESTART_COUNT=1") || !strings.Contains(got, "BERTH_LAST_EVICTION=Preempted") {
		t.Errorf("the second run has %q", got)
	}
}

// TestB39 a pod that never comes up is a victim like any other.
func TestB39(t *testing.T) {
	t.Parallel()
	team := newPreemptible(t, 2*time.Second)
	missing := team.submit(team.job("missing", func(j *batchv1.Job) { j.Spec.Template.Spec.Containers[0].Image = "berth.local/none:1" }))
	eventually(t, patience, "its pods have no image", func() (string, bool) {
		for _, pod := range team.history.podsOf(missing.job.UID) {
			if s := pod.Status.ContainerStatuses; len(s) == 1 && s[0].State.Waiting != nil && s[0].State.Waiting.Reason == "ErrImageNeverPull" {
				return "", true
			}
		}
		return describe(missing.record()), false
	})
	urgent := team.submit(team.job("urgent", through(urgentName)))
	urgent.mustRun()
	for _, pod := range team.history.podsOf(missing.job.UID) {
		if pod.gone.IsZero() {
			t.Errorf("%s holds the GPUs that %s has", pod.Name, urgent.job.Name)
		}
	}
	missing.mustBe("Pending")
	missing.mustHaveRun("Requeued", "Preempted", team.name+"/"+urgent.job.Name)
}
