package sandbox

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"

	berth "github.com/berth-dev/berth/apis/berth/v1alpha1"
)

//go:embed probe.yaml
var probePolicies []byte

// probeName names the probe's policies and the ConfigMap they are about, and
// is in the message with which it is refused.
const probeName = "berth-sandbox-probe"

// awaitPolicies waits until the API server evaluates the admission policies,
// which takes it seconds: a Job that is submitted earlier would start at once,
// past the queue. Nothing but trying tells. Two things are tried in dry runs:
// a policy that was made last (see probe.yaml), and a Job, because the policies
// about queues refuse everything until their queues are read.
func (s *Sandbox) awaitPolicies(ctx context.Context, api *applier) error {
	probes, err := probeObjects()
	if err != nil {
		return err
	}
	if err := api.apply(ctx, probes); err != nil {
		return err
	}
	client, err := s.typed()
	if err != nil {
		return err
	}
	err = poll(ctx, "the admission policies to take effect", func(ctx context.Context) error {
		return probeRefused(ctx, client)
	})
	if err != nil {
		return err
	}
	if err := api.remove(ctx, probes); err != nil {
		return err
	}
	return poll(ctx, "a Job to be queued", func(ctx context.Context) error { return jobQueued(ctx, client) })
}

func probeObjects() ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(probePolicies), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read probe.yaml: %w", err)
		}
		objects = append(objects, object)
	}
}

var dryRun = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}

// probeRefused is nil if the probe's policies are in effect.
func probeRefused(ctx context.Context, client kubernetes.Interface) error {
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: probeName}}
	_, err := client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx, probe, dryRun)
	switch {
	case err == nil:
		return errors.New("a policy that was just made is not evaluated")
	case strings.Contains(err.Error(), probeName+" is in effect"):
		return nil
	default:
		return err
	}
}

// jobQueued is nil if a labelled Job is suspended on its creation.
func jobQueued(ctx context.Context, client kubernetes.Interface) error {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: probeName + "-",
			Labels:       map[string]string{berth.QueueLabel: defaultQueue},
		},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Image: "none"}},
		}}},
	}
	job, err := client.BatchV1().Jobs(metav1.NamespaceDefault).Create(ctx, job, dryRun)
	if err != nil {
		return err
	}
	if job.Spec.Suspend == nil || !*job.Spec.Suspend {
		return errors.New("a labelled Job is not suspended")
	}
	return nil
}
