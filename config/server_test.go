package config_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/discovery"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi/openapitest"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/config"
)

// server admits requests with the very code of an API server: its plugins for
// mutating and validating admission policies, loaded with ours. What it lacks
// is the defaulting and validation of the built-in kinds.
type server struct {
	scheme     *runtime.Scheme
	mutating   *mutating.Plugin
	validating *validating.Plugin
}

// The users of the tables.
const (
	alice      = "alice"
	berth      = "system:serviceaccount:berth-system:berth-controller"
	jobs       = "system:serviceaccount:kube-system:job-controller"
	cronJobs   = "system:serviceaccount:kube-system:cronjob-controller"
	collector  = "system:serviceaccount:kube-system:generic-garbage-collector"
	namespaces = "system:serviceaccount:kube-system:namespace-controller"
	kubelet    = "system:node:n1"
)

// The namespaces of the tables. Both have a LocalQueue "default" with 120 s of
// grace and "quick" with 10.
const (
	free    = "free"
	managed = "managed"
)

// granted makes a server of an installation with config/components/exec.
const granted = "granted"

func newServer(t *testing.T, with ...string) *server {
	t.Helper()
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	addCopies(scheme)

	installed := []runtime.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: free}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: managed, Labels: map[string]string{v1alpha1.ManagedNamespaceLabel: "true"}}},
	}
	for _, object := range policies(t, with...) {
		typed, err := scheme.New(object.GroupVersionKind())
		if err != nil {
			t.Fatal(err)
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, typed, true); err != nil {
			t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
		installed = append(installed, defaulted(typed))
	}
	client := clientset{Clientset: fake.NewClientset(installed...)}

	var queues []runtime.Object
	for _, namespace := range []string{free, managed} {
		queues = append(queues, localQueue(namespace, "default", 120), localQueue(namespace, "quick", 10))
	}
	queueResource := v1alpha1.GroupVersion.WithResource("localqueues")
	params := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{queueResource: "LocalQueueList"}, queues...)
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{v1alpha1.GroupVersion})
	mapper.AddSpecific(v1alpha1.GroupVersion.WithKind("LocalQueue"), queueResource,
		v1alpha1.GroupVersion.WithResource("localqueue"), meta.RESTScopeNamespace)

	s := &server{scheme: scheme}
	var err error
	if s.mutating, err = mutating.NewPlugin(nil); err != nil {
		t.Fatal(err)
	}
	if s.validating, err = validating.NewPlugin(nil); err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	setUp := initializer.New(client, params, factory, authorizerfactory.NewAlwaysAllowAuthorizer(),
		utilfeature.DefaultFeatureGate, compatibility.DefaultBuildEffectiveVersion(), t.Context().Done(), mapper)
	for _, plugin := range []admission.Interface{s.mutating, s.validating} {
		setUp.Initialize(plugin)
		if err := plugin.(admission.InitializationValidator).ValidateInitialization(); err != nil {
			t.Fatal(err)
		}
	}
	factory.Start(t.Context().Done())
	s.waitForPolicies(t)
	return s
}

// waitForPolicies returns when a Job is mutated and a bad one is refused.
func (s *server) waitForPolicies(t *testing.T) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		bad := job(free, label(v1alpha1.QueueLabel, "default"), annotation("berth.dev/nonsense", "1"))
		err := s.admit(alice, admission.Create, nil, bad)
		return err != nil && strings.Contains(err.Error(), "nonsense") && *bad.Spec.Suspend, nil
	})
	if err != nil {
		t.Fatalf("the policies take no effect: %v", err)
	}
}

// admit runs a request through all policies, changes the object as they do, and
// returns the error that the client would get.
func (s *server) admit(username string, operation admission.Operation, old, object client) error {
	request, err := s.request(username, operation, old, object)
	if err != nil {
		return err
	}
	if operation != admission.Delete {
		if err := s.mutating.Admit(context.Background(), request, admission.NewObjectInterfacesFromScheme(s.scheme)); err != nil {
			return err
		}
	}
	return s.validate(request)
}

// validate runs a request through the validating policies alone.
func (s *server) validate(request admission.Attributes) error {
	return s.validating.Validate(context.Background(), request, admission.NewObjectInterfacesFromScheme(s.scheme))
}

func (s *server) request(username string, operation admission.Operation, old, object client) (admission.Attributes, error) {
	subject := object
	if operation == admission.Delete {
		subject, object = old, nil
	}
	kinds, _, err := s.scheme.ObjectKinds(subject)
	if err != nil {
		return nil, err
	}
	resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
	who := &user.DefaultInfo{Name: username, Groups: []string{user.AllAuthenticated}}
	if username == kubelet {
		who.Groups = append(who.Groups, user.NodesGroup)
	}
	return admission.NewAttributesRecord(orNil(object), orNil(old), kinds[0], subject.GetNamespace(), subject.GetName(),
		resource, "", operation, nil, false, who), nil
}

// client is what the tables submit.
type client interface {
	runtime.Object
	metav1.Object
}

// orNil keeps a nil object from becoming an interface that isn't nil.
func orNil(object client) runtime.Object {
	if object == nil {
		return nil
	}
	return object
}

// clientset is a fake with the schemas of the built-in kinds, which an
// ApplyConfiguration is merged by.
type clientset struct {
	*fake.Clientset
}

var _ kubernetes.Interface = clientset{}

func (c clientset) Discovery() discovery.DiscoveryInterfaces {
	return schemas{c.Clientset.Discovery()}
}

type schemas struct {
	discovery.DiscoveryInterfaces
}

func (schemas) OpenAPIV3() openapi.Client {
	return openapitest.NewEmbeddedFileClient()
}

// addCopies registers what an API server has between its versioned and its
// internal types: here they're the same.
func addCopies(scheme *runtime.Scheme) {
	utilruntime.Must(scheme.AddConversionFunc((*batchv1.Job)(nil), (*batchv1.Job)(nil), func(from, to any, _ conversion.Scope) error {
		from.(*batchv1.Job).DeepCopyInto(to.(*batchv1.Job))
		return nil
	}))
	utilruntime.Must(scheme.AddConversionFunc((*corev1.Pod)(nil), (*corev1.Pod)(nil), func(from, to any, _ conversion.Scope) error {
		from.(*corev1.Pod).DeepCopyInto(to.(*corev1.Pod))
		return nil
	}))
}

// policies are the admission policies and bindings of config.Objects.
func policies(t *testing.T, with ...string) []*unstructured.Unstructured {
	t.Helper()
	what := config.Objects
	if slices.Contains(with, granted) {
		what = config.ObjectsWithExec
	}
	all, err := what()
	if err != nil {
		t.Fatal(err)
	}
	var found []*unstructured.Unstructured
	for _, object := range all {
		if object.GroupVersionKind().Group == admissionv1.GroupName {
			found = append(found, object)
		}
	}
	return found
}

// defaulted fills in what the API server would.
func defaulted(object runtime.Object) runtime.Object {
	everything := &metav1.LabelSelector{}
	equivalent := admissionv1.Equivalent
	match := func(m *admissionv1.MatchResources) {
		if m.NamespaceSelector == nil {
			m.NamespaceSelector = everything
		}
		m.ObjectSelector = everything
		m.MatchPolicy = &equivalent
		for i := range m.ResourceRules {
			scope := admissionv1.AllScopes
			m.ResourceRules[i].Scope = &scope
		}
	}
	switch policy := object.(type) {
	case *admissionv1.MutatingAdmissionPolicy:
		match(policy.Spec.MatchConstraints)
	case *admissionv1.ValidatingAdmissionPolicy:
		match(policy.Spec.MatchConstraints)
	}
	return object
}

func localQueue(namespace, name string, graceSeconds int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(),
		"kind":       "LocalQueue",
		"metadata":   map[string]any{"namespace": namespace, "name": name},
		"spec":       map[string]any{"clusterQueueNames": []any{"gpu"}},
		"status":     map[string]any{"graceSeconds": graceSeconds},
	}}
}

// message is what a person would read of an error: the policy's own words.
func message(err error) string {
	if err == nil {
		return ""
	}
	_, words, found := strings.Cut(err.Error(), "denied request: ")
	if !found {
		return errors.Join(errors.New("not refused by a policy"), err).Error()
	}
	return words
}
