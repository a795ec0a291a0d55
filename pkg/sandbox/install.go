package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	berth "github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/config"
)

// fieldManager owns what the sandbox applies.
const fieldManager = "berth-sandbox"

// defaultQueue names the queues of a sandbox that is not bare.
const defaultQueue = "default"

// install applies what config/default, or config/with-exec, installs, but the controller's
// Deployment, and waits until it is in effect.
func (s *Sandbox) install(ctx context.Context) error {
	api, err := newApplier(s.config)
	if err != nil {
		return err
	}
	what := config.Objects
	if s.options.Exec == WithExec {
		what = config.ObjectsWithExec
	}
	objects, err := what()
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
	return s.awaitPolicies(ctx, api)
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
	resource, err := a.resource(object)
	if err != nil {
		return err
	}
	_, err = resource.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	return err
}

// remove deletes objects.
func (a *applier) remove(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		resource, err := a.resource(object)
		if err != nil {
			return err
		}
		if err := resource.Delete(ctx, object.GetName(), metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// resource is where objects of this one's kind and namespace are.
func (a *applier) resource(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if apimeta.IsNoMatchError(err) {
		a.mapper.Reset() // look again the next time
	}
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == apimeta.RESTScopeNameNamespace {
		return a.client.Resource(mapping.Resource).Namespace(object.GetNamespace()), nil
	}
	return a.client.Resource(mapping.Resource), nil
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
