package admission

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	apiextensionsserver "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/berth-dev/berth/config"
)

// kind is one of our kinds as its CRD describes it.
type kind struct {
	groupKind  schema.GroupKind
	namespaced bool
	structural *structuralschema.Structural
	schema     apiextensionsserver.SchemaValidator
	rules      *cel.Validator
}

// kinds reads the CRDs that Berth is installed with.
func kinds() (map[schema.GroupVersionKind]kind, error) {
	objects, err := config.Objects()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		apiextensionsv1.AddToScheme, apiextensionsv1.RegisterConversions, apiextensionsv1.RegisterDefaults,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("set up CRDs: %w", err)
		}
	}
	out := map[schema.GroupVersionKind]kind{}
	for _, object := range objects {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		if err := addKind(scheme, object, out); err != nil {
			return nil, fmt.Errorf("read CRD %s: %w", object.GetName(), err)
		}
	}
	return out, nil
}

func addKind(scheme *runtime.Scheme, object *unstructured.Unstructured, out map[schema.GroupVersionKind]kind) error {
	versioned := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, versioned); err != nil {
		return err
	}
	scheme.Default(versioned)
	crd := &apiextensions.CustomResourceDefinition{}
	if err := scheme.Convert(versioned, crd, nil); err != nil {
		return err
	}
	for _, version := range crd.Spec.Versions {
		// With one version the conversion keeps the schema at the top.
		props := crd.Spec.Validation
		if props == nil {
			props = version.Schema
		}
		structural, err := structuralschema.NewStructural(props.OpenAPIV3Schema)
		if err != nil {
			return err
		}
		validator, _, err := apiextensionsserver.NewSchemaValidator(props.OpenAPIV3Schema)
		if err != nil {
			return err
		}
		out[schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}] = kind{
			groupKind:  schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind},
			namespaced: crd.Spec.Scope == apiextensions.NamespaceScoped,
			structural: structural, schema: validator, rules: cel.NewValidator(structural, true, celconfig.PerCallLimit),
		}
	}
	return nil
}

// unknown lists the fields of an object that its kind does not have. A server
// refuses them for kubectl apply.
func (k kind) unknown(object *unstructured.Unstructured) []string {
	options := structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	return pruning.PruneWithOptions(object.Object, k.structural, true, options)
}

// admit sets the defaults of an object and returns what is wrong with it.
func (k kind) admit(object *unstructured.Unstructured, old map[string]any) field.ErrorList {
	delete(object.Object, "status")
	var errs field.ErrorList
	defaulting.PruneNonNullableNullsWithoutDefaults(object.Object, k.structural)
	defaulting.Default(object.Object, k.structural)
	errs = append(errs, validation.ValidateObjectMetaAccessor(object, k.namespaced, validation.NameIsDNSSubdomain, field.NewPath("metadata"))...)
	errs = append(errs, objectmeta.Validate(context.Background(), nil, object.Object, k.structural, true)...)
	if old == nil {
		errs = append(errs, apiextensionsserver.ValidateCustomResource(nil, object.Object, k.schema)...)
	} else {
		errs = append(errs, apiextensionsserver.ValidateCustomResourceUpdate(nil, object.Object, old, k.schema)...)
	}
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, k.structural, object.Object)...)
	if k.rules == nil || len(errs) > 0 {
		return errs
	}
	var before any
	if old != nil {
		before = old
	}
	broken, _ := k.rules.Validate(context.Background(), nil, k.structural, object.Object, before, celconfig.RuntimeCELCostBudget)
	return append(errs, broken...)
}
