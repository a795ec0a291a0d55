package v1alpha1_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/berth-dev/berth/config"
)

var filter = regexp.MustCompile(`\[[^]]*\]`)

// A column whose path leads nowhere is empty for ever, and nobody is told.
func TestPrinterColumnsShowFieldsThatExist(t *testing.T) {
	t.Parallel()
	for name, version := range installed(t) {
		columns := version.AdditionalPrinterColumns
		if len(columns) == 0 || columns[len(columns)-1].Name != "Age" && columns[len(columns)-2].Name != "Age" {
			t.Errorf("%s has no column Age at its end", name)
		}
		for _, column := range columns {
			if problem := unknownField(*version.Schema.OpenAPIV3Schema, filter.ReplaceAllString(column.JSONPath, "")); problem != "" {
				t.Errorf("%s: column %s: %s: no field %s", name, column.Name, column.JSONPath, problem)
			}
		}
	}
}

// installed are the kinds that Berth is installed with, by name.
func installed(t *testing.T) map[string]apiextensionsv1.CustomResourceDefinitionVersion {
	t.Helper()
	objects, err := config.Objects()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]apiextensionsv1.CustomResourceDefinitionVersion{}
	for _, object := range objects {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, crd); err != nil {
			t.Fatal(err)
		}
		out[crd.Spec.Names.Plural] = crd.Spec.Versions[0]
	}
	return out
}

// TestWhatKubectlGetShows, with -o wide: the cells are made by the API server's
// own code, which takes the first of several results alone.
func TestWhatKubectlGetShows(t *testing.T) {
	t.Parallel()
	kinds := installed(t)
	for _, test := range []struct {
		plural, object string
		columns        []string
		want           string
	}{
		{
			"topologies", `{metadata: {name: net}, spec: {levels: [{name: block, nodeLabel: b}, {name: rack, nodeLabel: r}, {name: host, nodeLabel: h}]}}`,
			[]string{"L1", "L2", "L3", "L4"},
			"block rack host <nil>",
		},
		{
			"clusterqueues", `{metadata: {name: main}, status: {conditions: [{type: Active, status: "False", message: none of its flavors exists}]}}`,
			[]string{"Active", "Message"},
			"False none of its flavors exists",
		},
	} {
		convertor, err := tableconvertor.New(kinds[test.plural].AdditionalPrinterColumns)
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(test.object), &object.Object); err != nil {
			t.Fatal(err)
		}
		table, err := convertor.ConvertToTable(t.Context(), object, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, column := range table.ColumnDefinitions {
			if slices.Contains(test.columns, column.Name) {
				got = append(got, fmt.Sprint(table.Rows[0].Cells[i]))
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %q, want %q", test.plural, got, test.want)
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
