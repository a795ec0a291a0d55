package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/scenario"
)

// namespaceDefault is where an object goes that names no namespace.
const namespaceDefault = "default"

// highestClass is the largest value of a PriorityClass that is not the
// system's own.
const highestClass = 1_000_000_000

// later are kinds that Berth will have, with what is missing.
func later() map[string]string {
	return map[string]string{
		"QualityOfService": "service classes",
		"Reservation":      "reservations",
	}
}

// Server admits objects.
type Server struct {
	kinds map[schema.GroupVersionKind]kind
}

var _ scenario.Admitter = (*Server)(nil)

// New returns a Server with the kinds that Berth is installed with.
func New() (*Server, error) {
	found, err := kinds()
	if err != nil {
		return nil, err
	}
	return &Server{kinds: found}, nil
}

// Admit implements scenario.Admitter.
func (s *Server) Admit(raw, old map[string]any) (scenario.Object, error) {
	object := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(raw)}
	gvk := object.GroupVersionKind()
	if gvk == schedulingv1.SchemeGroupVersion.WithKind("PriorityClass") {
		return priorityClass(object, old)
	}
	k, known := s.kinds[gvk]
	if !known {
		return scenario.Object{}, s.unknown(gvk)
	}
	if k.namespaced && object.GetNamespace() == "" {
		object.SetNamespace(namespaceDefault)
	}
	if fields := k.unknown(object); len(fields) > 0 {
		return scenario.Object{}, strict(gvk, fields)
	}
	if errs := k.admit(object, old); len(errs) > 0 {
		return scenario.Object{}, invalid(k.groupKind, object.GetName(), errs)
	}
	if err := guardQuotas(object); err != nil {
		return scenario.Object{}, err
	}
	out := scenario.Object{Kind: gvk.Kind, Namespace: object.GetNamespace(), Name: object.GetName(), Raw: object.Object}
	var err error
	out.Seen, out.Gone, err = events(object)
	return out, err
}

// invalid is the error that a server gives.
func invalid(kind schema.GroupKind, name string, errs field.ErrorList) error {
	return apierrors.NewInvalid(kind, name, errs)
}

// strict is the error that a server gives for fields that it does not know.
func strict(gvk schema.GroupVersionKind, fields []string) error {
	for i, name := range fields {
		fields[i] = fmt.Sprintf("unknown field %q", name)
	}
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: strict decoding error: %s",
		gvk.Kind, gvk.Version, gvk.Kind, strings.Join(fields, ", ")))
}

func (s *Server) unknown(gvk schema.GroupVersionKind) error {
	if what, planned := later()[gvk.Kind]; planned && (gvk.Group == v1alpha1.GroupVersion.Group || gvk.Group == "") {
		return fmt.Errorf("kind %s: %s", gvk.Kind, scenario.NotBuilt(what))
	}
	var names []string
	for known := range maps.Keys(s.kinds) { //order:any sorted below
		if known.Kind != "QueuedWorkload" {
			names = append(names, known.Kind)
		}
	}
	slices.Sort(names)
	return fmt.Errorf("no matches for kind %q in version %q: a scenario has %s (%s), PriorityClass (%s) and one Scenario",
		gvk.Kind, gvk.GroupVersion(), strings.Join(names, ", "), v1alpha1.GroupVersion, schedulingv1.SchemeGroupVersion)
}

// events are what the core hears of an object that is there, and then gone.
func events(object *unstructured.Unstructured) (seen, gone batch.Event, err error) {
	switch kind := object.GetKind(); kind {
	case "ClusterQueue":
		typed := &v1alpha1.ClusterQueue{}
		if err := into(object, typed); err != nil {
			return nil, nil, err
		}
		queue, err := convert.Queue(typed)
		return batch.QueueObserved{Queue: queue}, batch.QueueGone{Name: queue.Name}, err
	case "Cohort":
		typed := &v1alpha1.Cohort{}
		if err := into(object, typed); err != nil {
			return nil, nil, err
		}
		cohort := convert.Cohort(typed)
		return batch.CohortObserved{Cohort: cohort}, batch.CohortGone{Name: cohort.Name}, nil
	case "Account":
		typed := &v1alpha1.Account{}
		if err := into(object, typed); err != nil {
			return nil, nil, err
		}
		account := convert.Account(typed)
		return batch.AccountObserved{Account: account}, batch.AccountGone{Name: account.Name}, nil
	case "LocalQueue":
		typed := &v1alpha1.LocalQueue{}
		if err := into(object, typed); err != nil {
			return nil, nil, err
		}
		queue := convert.LocalQueue(typed)
		return batch.LocalQueueObserved{LocalQueue: queue}, batch.LocalQueueGone{Name: queue.Name}, nil
	case "Topology":
		typed := &v1alpha1.Topology{}
		if err := into(object, typed); err != nil {
			return nil, nil, err
		}
		topology := convert.Topology(typed)
		return batch.TopologyObserved{Topology: topology}, batch.TopologyGone{Name: topology.Name}, nil
	case "ResourceFlavor":
		typed := &v1alpha1.ResourceFlavor{}
		if err := into(object, typed); err != nil {
			return nil, nil, err
		}
		flavor := convert.Flavor(typed)
		return batch.FlavorObserved{Flavor: flavor}, batch.FlavorGone{Name: flavor.Name}, nil
	case "SchedulingPolicy":
		typed := &v1alpha1.SchedulingPolicy{}
		if err := into(object, typed); err != nil {
			return nil, nil, err
		}
		policy, err := convert.Policy(typed)
		return batch.PolicyObserved{Policy: policy}, batch.PolicyObserved{Policy: batch.DefaultPolicy()}, err
	default:
		return nil, nil, fmt.Errorf("kind %s: Berth makes these objects itself; a scenario has jobs", kind)
	}
}

func into(object *unstructured.Unstructured, typed any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, typed, true); err != nil {
		return fmt.Errorf("read %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// priorityClass admits the one built-in kind of a scenario.
func priorityClass(object *unstructured.Unstructured, old map[string]any) (scenario.Object, error) {
	typed, was := &schedulingv1.PriorityClass{}, &schedulingv1.PriorityClass{}
	if err := into(object, typed); err != nil {
		return scenario.Object{}, err
	}
	if old != nil {
		if err := into(&unstructured.Unstructured{Object: old}, was); err != nil {
			return scenario.Object{}, err
		}
	}
	errs := validation.ValidateObjectMetaAccessor(object, false, validation.NameIsDNSSubdomain, field.NewPath("metadata"))
	switch {
	case strings.HasPrefix(typed.Name, "system-"):
		errs = append(errs, field.Forbidden(field.NewPath("metadata", "name"), "priority class names with 'system-' prefix are reserved for system use only"))
	case typed.Value > highestClass:
		errs = append(errs, field.Forbidden(field.NewPath("value"), fmt.Sprintf("maximum allowed value of a user defined priority is %d", highestClass)))
	case old != nil && typed.Value != was.Value:
		errs = append(errs, field.Forbidden(field.NewPath("value"), "may not be changed in an update."))
	}
	if len(errs) > 0 {
		return scenario.Object{}, invalid(schedulingv1.SchemeGroupVersion.WithKind("PriorityClass").GroupKind(), typed.Name, errs)
	}
	return scenario.Object{Kind: "PriorityClass", Name: typed.Name, Value: typed.Value, Raw: object.Object}, nil
}
