package scenario

import (
	"maps"
	"slices"

	"github.com/berth-dev/berth/apis/sim/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// Form is how a text must look that stands in a node or a pod of a cluster.
type Form int

const (
	// FormKey is of the key of a label or a taint, and of what a node has.
	FormKey Form = iota
	// FormValue is of the value of a label or a taint.
	FormValue
	// FormRequest is of a resource that a pod asks for.
	FormRequest
	// FormClass is of the name of a PriorityClass.
	FormClass
)

// form refuses a text that a cluster would not take there.
func (l *loader) form(path string, form Form, text string) {
	if why := l.options.Admitter.Malformed(form, text); why != "" {
		l.wrong(path, "%q %s", text, why)
	}
}

// name checks the name of something that would be an object in a cluster.
func (l *loader) name(path, name string) {
	if !batch.IsName(name) {
		l.wrong(path, "%q is not a name: at most 63 small letters, digits, - and ., each part between dots beginning and ending with a letter or digit", name)
	}
}

// plainName checks a name that may have no dots in a cluster; what says whose it is.
func (l *loader) plainName(path, name, what string) {
	if !batch.IsPlainName(name) {
		l.wrong(path, "%q is not the name of %s: at most 63 small letters, digits and -, beginning and ending with a letter or digit", name, what)
	}
}

// labels checks the labels of a node, or those that a pod asks of one.
func (l *loader) labels(path string, labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		l.form(join(path, key), FormKey, key)
		l.form(join(path, key), FormValue, labels[key])
	}
}

// resourceNames checks what a node has, or a pod asks for.
func (l *loader) resourceNames(path string, form Form, amounts map[string]v1alpha1.Quantity) {
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		l.form(join(path, name), form, name)
	}
}
