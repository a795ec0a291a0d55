package v1alpha1_test

import (
	"regexp"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berth-dev/berth/config"
)

var filter = regexp.MustCompile(`\[[^]]*\]`)

// A column whose path leads nowhere is empty for ever, and nobody is told.
func TestPrinterColumnsShowFieldsThatExist(t *testing.T) {
	t.Parallel()
	objects, err := config.Objects()
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, crd); err != nil {
			t.Fatal(err)
		}
		version := crd.Spec.Versions[0]
		columns := version.AdditionalPrinterColumns
		if len(columns) == 0 || columns[len(columns)-1].Name != "Age" && columns[len(columns)-2].Name != "Age" {
			t.Errorf("%s has no column Age at its end", object.GetName())
		}
		for _, column := range columns {
			if problem := unknownField(*version.Schema.OpenAPIV3Schema, filter.ReplaceAllString(column.JSONPath, "")); problem != "" {
				t.Errorf("%s: column %s: %s: no field %s", object.GetName(), column.Name, column.JSONPath, problem)
			}
		}
	}
}

// unknownField is the first part of a path that a schema does not have.
func unknownField(schema apiextensionsv1.JSONSchemaProps, path string) string {
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "."), ".") {
		if part == "metadata" {
			return ""
		}
		if schema.Items != nil {
			schema = *schema.Items.Schema
		}
		next, found := schema.Properties[part]
		if !found {
			return part
		}
		schema = next
	}
	return ""
}
