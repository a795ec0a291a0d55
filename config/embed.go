// Package config holds the manifests that Berth is installed from, embedded, so
// that a program can install exactly what `kubectl apply -k config/default`
// does: the sandbox and the tests run with the very CRDs, rights and admission
// policies that a real cluster gets.
//
// It is for reading manifests. It talks to no API server; whoever applies the
// objects waits for what they need (a CRD to be established, a policy to take
// effect).
package config

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Namespace is where Berth is installed.
const Namespace = "berth-system"

// ControllerServiceAccount is the account, in Namespace, that the controller
// runs as. The admission policies know it by name.
const ControllerServiceAccount = "berth-controller"

//go:embed crd/*.yaml policy/*.yaml rbac/*.yaml manager/namespace.yaml components/exec/role.yaml samples/*.yaml samples/checkpoint/*.yaml samples/two-teams/*.yaml
var files embed.FS

// folders in the order in which their objects are applied: an object comes
// after what it refers to.
var folders = []string{"manager", "crd", "rbac", "policy"}

// Objects returns all objects of config/default but the controller's
// Deployment, in the order in which they are to be applied: the namespace,
// CRDs, RBAC, admission policies, each followed by its binding.
func Objects() ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, folder := range folders {
		names, err := fs.Glob(files, folder+"/*.yaml")
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", folder, err)
		}
		slices.Sort(names)
		for _, name := range names {
			if strings.HasSuffix(name, "/kustomization.yaml") {
				continue
			}
			found, err := read(name)
			if err != nil {
				return nil, err
			}
			objects = append(objects, found...)
		}
	}
	return objects, nil
}

// execPolicy refuses what needs exec, unless its first variable says that the
// installation grants it.
const execPolicy = "berth-checkpoint-exec"

// ObjectsWithExec are those of config/with-exec: with the right to run commands in
// the pods of queued work.
func ObjectsWithExec() ([]*unstructured.Unstructured, error) {
	objects, err := Objects()
	if err != nil {
		return nil, err
	}
	granted := []any{map[string]any{"name": "granted", "expression": "true"}}
	for _, object := range objects {
		if object.GetName() != execPolicy || object.GetKind() != "ValidatingAdmissionPolicy" {
			continue
		}
		if err := unstructured.SetNestedSlice(object.Object, granted, "spec", "variables"); err != nil {
			return nil, fmt.Errorf("grant exec in %s: %w", execPolicy, err)
		}
	}
	role, err := read("components/exec/role.yaml")
	if err != nil {
		return nil, err
	}
	// Before the policies: what lets work in must not come before what it needs.
	first := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "MutatingAdmissionPolicy" })
	return slices.Insert(objects, max(first, 0), role...), nil
}

// Sample returns the objects of one file of config/samples, as they stand there.
func Sample(file string) ([]*unstructured.Unstructured, error) { return read("samples/" + file) }

// read returns the objects of one embedded file.
func read(name string) ([]*unstructured.Unstructured, error) {
	content, err := files.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		var document runtime.RawExtension
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(document.Raw); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		objects = append(objects, object)
	}
}
