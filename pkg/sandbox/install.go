package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	berth "github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/config"
)

// fieldManager owns what the sandbox applies.
const fieldManager = "berth-sandbox"

// defaultQueue names the queues of a sandbox that is not bare.
const defaultQueue = "default"

// install applies what config/default installs, but the controller's
// Deployment, and waits until it is in effect.
func (s *Sandbox) install(ctx context.Context) error {
	api, err := client.New(s.config, client.Options{})
	if err != nil {
		return err
	}
	objects, err := config.Objects()
	if err != nil {
		return err
	}
	// Policies refer to our kinds, so the CRDs come first and are waited for.
	isCRD := func(o *unstructured.Unstructured) bool { return o.GetKind() == "CustomResourceDefinition" }
	isPolicy := func(o *unstructured.Unstructured) bool {
		return o.GroupVersionKind().Group == "admissionregistration.k8s.io"
	}
	if err := apply(ctx, api, slices.DeleteFunc(slices.Clone(objects), isPolicy)); err != nil {
		return err
	}
	for _, object := range objects {
		if isCRD(object) {
			if err := awaitEstablished(ctx, api, object.GetName()); err != nil {
				return err
			}
		}
	}
	policies := slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return !isPolicy(o) })
	if err := apply(ctx, api, policies); err != nil {
		return err
	}
	if s.options.Queues == DefaultQueues {
		if err := apply(ctx, api, defaultQueues()); err != nil {
			return err
		}
	}
	return awaitPolicies(ctx, api)
}

// apply applies objects in order. One whose kind is not served yet, because
// its CRD is a moment old, is tried again.
func apply(ctx context.Context, api client.Client, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		name := fmt.Sprintf("%s %s", object.GetKind(), client.ObjectKeyFromObject(object))
		err := poll(ctx, name, func(ctx context.Context) error {
			return api.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(fieldManager), client.ForceOwnership)
		})
		if err != nil {
			return fmt.Errorf("apply %s: %w", name, err)
		}
	}
	return nil
}

func awaitEstablished(ctx context.Context, api client.Client, name string) error {
	return poll(ctx, "CRD "+name, func(ctx context.Context) error {
		crd := &unstructured.Unstructured{}
		crd.SetAPIVersion("apiextensions.k8s.io/v1")
		crd.SetKind("CustomResourceDefinition")
		if err := api.Get(ctx, client.ObjectKey{Name: name}, crd); err != nil {
			return err
		}
		conditions, _, err := unstructured.NestedSlice(crd.Object, "status", "conditions")
		if err != nil {
			return err
		}
		for _, c := range conditions {
			condition, ok := c.(map[string]any)
			if ok && condition["type"] == "Established" && condition["status"] == "True" {
				return nil
			}
		}
		return errors.New("not established")
	})
}

// defaultQueues let a Job be queued with nothing but a label.
func defaultQueues() []*unstructured.Unstructured {
	queue := func(kind, namespace string, spec map[string]any) *unstructured.Unstructured {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		object.SetAPIVersion(berth.GroupVersion.String())
		object.SetKind(kind)
		object.SetName(defaultQueue)
		object.SetNamespace(namespace)
		return object
	}
	return []*unstructured.Unstructured{
		queue("ClusterQueue", "", map[string]any{}),
		queue("LocalQueue", metav1.NamespaceDefault, map[string]any{"clusterQueueNames": []any{defaultQueue}}),
	}
}

// awaitPolicies waits until the API server evaluates the admission policies,
// which takes it seconds: a Job that is submitted earlier would start at once,
// past the queue. Nothing but trying tells.
func awaitPolicies(ctx context.Context, api client.Client) error {
	return poll(ctx, "the admission policies to take effect", func(ctx context.Context) error {
		job := probeJob()
		if err := api.Create(ctx, job, client.DryRunAll); err != nil {
			return err
		}
		if job.Spec.Suspend == nil || !*job.Spec.Suspend {
			return errors.New("a labelled Job is not suspended")
		}
		return nil
	})
}

// probeJob is only ever created in a dry run.
func probeJob() *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "berth-sandbox-probe-",
			Namespace:    metav1.NamespaceDefault,
			Labels:       map[string]string{berth.QueueLabel: defaultQueue},
		},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Image: "none"}},
		}}},
	}
}
