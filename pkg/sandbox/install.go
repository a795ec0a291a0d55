package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

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
	api, err := newApplier(s.config)
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
	if err := api.apply(ctx, slices.DeleteFunc(slices.Clone(objects), isPolicy)); err != nil {
		return err
	}
	for _, object := range objects {
		if isCRD(object) {
			if err := api.awaitEstablished(ctx, object.GetName()); err != nil {
				return err
			}
		}
	}
	policies := slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return !isPolicy(o) })
	if err := api.apply(ctx, policies); err != nil {
		return err
	}
	if s.options.Queues == DefaultQueues {
		if err := api.apply(ctx, defaultQueues()); err != nil {
			return err
		}
	}
	return awaitPolicies(ctx, s.config)
}

// applier applies objects of any kind.
type applier struct {
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

func newApplier(config *rest.Config) (*applier, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	served, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &applier{client: client, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(served))}, nil
}

// apply applies objects in order. One whose kind is not served yet, because
// its CRD is a moment old, is tried again.
func (a *applier) apply(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		name := fmt.Sprintf("%s %s", object.GetKind(), object.GetName())
		err := poll(ctx, name+" to be accepted", func(ctx context.Context) error { return a.applyOne(ctx, object) })
		if err != nil {
			return fmt.Errorf("apply %s: %w", name, err)
		}
	}
	return nil
}

func (a *applier) applyOne(ctx context.Context, object *unstructured.Unstructured) error {
	kind := object.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if apimeta.IsNoMatchError(err) {
		a.mapper.Reset() // look again the next time
	}
	if err != nil {
		return err
	}
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	resource := dynamic.ResourceInterface(a.client.Resource(mapping.Resource))
	if mapping.Scope.Name() == apimeta.RESTScopeNameNamespace {
		resource = a.client.Resource(mapping.Resource).Namespace(object.GetNamespace())
	}
	_, err = resource.Apply(ctx, object.GetName(), object, options)
	return err
}

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func (a *applier) awaitEstablished(ctx context.Context, name string) error {
	return poll(ctx, "CRD "+name, func(ctx context.Context) error {
		crd, err := a.client.Resource(crdResource).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
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
func awaitPolicies(ctx context.Context, config *rest.Config) error {
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return poll(ctx, "the admission policies to take effect", func(ctx context.Context) error {
		dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		job, err := api.BatchV1().Jobs(metav1.NamespaceDefault).Create(ctx, probeJob(), dryRun)
		if err != nil {
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
