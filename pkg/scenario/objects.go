package scenario

import (
	"fmt"
	"strings"

	"github.com/berth-dev/berth/apis/sim/v1alpha1"
)

// The kinds that the loader knows by name.
const (
	kindAccount          = "Account"
	kindClusterQueue     = "ClusterQueue"
	kindLocalQueue       = "LocalQueue"
	kindSchedulingPolicy = "SchedulingPolicy"
	kindPriorityClass    = "PriorityClass"
)

// defaultName is that of the queue, the LocalQueue, the namespace and the
// policy that are there without being asked for.
const defaultName = "default"

// overrideFlag is the flag by which fields of the policy are set.
const overrideFlag = "--policy"

const berthVersion = "berth.dev/v1alpha1"

// applyInstead puts objects in the place of those of the same kind and name.
func (l *loader) applyInstead(documents []*document) {
	for _, d := range documents {
		for _, other := range l.options.Instead {
			if keyOf(other.Object) == keyOf(d.object) {
				*d = *other.document()
			}
		}
	}
}

// admitAll admits the objects of the file and those that stand by themselves.
func (l *loader) admitAll(spec contents) {
	documents := spec.objects
	for _, other := range l.options.Instead {
		if !has(documents, keyOf(other.Object)) {
			documents = append(documents, other.document())
		}
	}
	documents = l.override(documents)
	queues, seen := 0, map[string]int{}
	for _, d := range documents {
		key := keyOf(d.object)
		if first, twice := seen[key]; twice {
			l.add(Problem{File: d.file, Document: d.number, Line: d.line, Text: fmt.Sprintf("%s stands already in document %d", key, first)})
			continue
		}
		seen[key] = d.number
		l.admit(d)
		switch kindOfObject(d.object) {
		case kindClusterQueue:
			queues++
		case kindLocalQueue:
			l.out.LocalQueues = true
		}
	}
	if queues == 0 {
		l.admit(&document{object: bare(kindClusterQueue, "", defaultName, map[string]any{})})
	}
	if l.out.LocalQueues {
		return
	}
	for _, object := range l.out.Objects {
		if object.Kind == kindClusterQueue {
			l.admit(&document{object: door(object.Name)})
		}
	}
}

// deepCopy copies an object as far as fields may be set in it.
func deepCopy(object map[string]any) map[string]any {
	out := make(map[string]any, len(object))
	for name, value := range object { //order:any each its own entry
		if inner, ok := value.(map[string]any); ok {
			value = deepCopy(inner)
		}
		out[name] = value
	}
	return out
}

func has(documents []*document, key string) bool {
	for _, d := range documents {
		if keyOf(d.object) == key {
			return true
		}
	}
	return false
}

func bare(kind, namespace, name string, spec map[string]any) map[string]any {
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return map[string]any{"apiVersion": berthVersion, "kind": kind, "metadata": metadata, "spec": spec}
}

// door is the LocalQueue that a ClusterQueue has without being asked for.
func door(queue string) map[string]any {
	return bare(kindLocalQueue, defaultName, queue, map[string]any{"clusterQueueNames": []any{queue}})
}

// override sets fields of the SchedulingPolicy.
func (l *loader) override(documents []*document) []*document {
	if len(l.options.Overrides) == 0 {
		return documents
	}
	var policy *document
	for _, d := range documents {
		if kindOfObject(d.object) == kindSchedulingPolicy {
			policy = d
		}
	}
	if policy == nil {
		policy = &document{object: bare(kindSchedulingPolicy, "", defaultName, map[string]any{})}
		documents = append(documents, policy)
	}
	policy.plain = policy.object
	policy.object = deepCopy(policy.object)
	for _, o := range l.options.Overrides {
		at := policy.object
		for _, key := range append([]string{"spec"}, o.Path[:len(o.Path)-1]...) {
			next, ok := at[key].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[key] = next
			}
			at = next
		}
		at[o.Path[len(o.Path)-1]] = o.Value
	}
	return documents
}

func (l *loader) admit(d *document) {
	object, err := l.options.Admitter.Admit(d.object, nil)
	if err != nil {
		l.add(l.blame(d, err))
		return
	}
	l.keep(object)
	if object.Kind == kindPriorityClass {
		l.classes[object.Name] = object.Value
		return
	}
	l.out.Objects = append(l.out.Objects, object)
}

// blame says where an object that is refused comes from. One that would do
// without what was set in it is the flag's.
func (l *loader) blame(d *document, err error) Problem {
	if d.plain != nil {
		if _, wrong := l.options.Admitter.Admit(d.plain, nil); wrong == nil {
			return Problem{File: overrideFlag, Text: err.Error() + l.given(err.Error())}
		}
	}
	return Problem{File: d.file, Document: d.number, Line: d.line, Text: err.Error()}
}

// given are the flags whose fields an error speaks of: a server does not always name
// the value.
func (l *loader) given(words string) string {
	var text strings.Builder
	for _, o := range l.options.Overrides {
		if field := strings.Join(o.Path, "."); strings.Contains(words, field) {
			fmt.Fprintf(&text, "; given: %s=%v", field, o.Value)
		}
	}
	return text.String()
}

func (l *loader) keep(object Object) { l.store[object.key()] = object.Raw }

func (o Object) key() string { return key(o.Kind, o.Namespace, o.Name) }

func key(kind, namespace, name string) string {
	if namespace != "" {
		name = namespace + "/" + name
	}
	return kind + "/" + name
}

func keyOf(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	if kindOfObject(object) == kindLocalQueue && namespace == "" {
		namespace = defaultName
	}
	return key(kindOfObject(object), namespace, name)
}

func kindOfObject(object map[string]any) string {
	kind, _ := object["kind"].(string)
	return kind
}

// applied admits an object that an event applies, in place of what has its
// name by then.
func (l *loader) applied(path string, raw map[string]any) []Object {
	old := l.store[keyOf(raw)]
	object, err := l.options.Admitter.Admit(raw, old)
	if err != nil {
		l.wrong(path, "%v", err)
		return nil
	}
	if l.keep(object); object.Kind == kindPriorityClass {
		l.classes[object.Name] = object.Value
	}
	out := []Object{object}
	if object.Kind != kindClusterQueue || l.out.LocalQueues || old != nil || l.store[keyOf(door(object.Name))] != nil {
		return out
	}
	local, err := l.options.Admitter.Admit(door(object.Name), nil)
	if err != nil {
		l.wrong(path, "its LocalQueue: %v", err)
		return out
	}
	l.keep(local)
	return append(out, local)
}

// deleted finds what KIND/NAME means by then.
func (l *loader) deleted(path string, text v1alpha1.Deletion) *Object {
	kind, name, ok := strings.Cut(string(text), "/")
	if !ok {
		l.wrong(path, "%q is not KIND/NAME, such as ClusterQueue/main", string(text))
		return nil
	}
	if kind == kindLocalQueue && !strings.Contains(name, "/") {
		name = defaultName + "/" + name
	}
	raw := l.store[kind+"/"+name]
	if raw == nil {
		l.wrong(path, "there is no %s/%s by then", kind, name)
		return nil
	}
	object, err := l.options.Admitter.Admit(raw, raw)
	if err != nil {
		l.wrong(path, "%v", err)
		return nil
	}
	if object.Gone == nil {
		l.wrong(path, "a %s is not deleted in a scenario", kind)
		return nil
	}
	delete(l.store, kind+"/"+name)
	return &object
}

// priorityOf is a job's own priority with that of its class.
func (l *loader) priorityOf(path, class string, own *int) (priority int32, invalid string) {
	sum := int64(0)
	if own != nil {
		sum = int64(*own)
	}
	if class != "" {
		value, ok := l.classes[class]
		if !ok {
			invalid = fmt.Sprintf("PriorityClass %q does not exist; pods of that class would be refused", class)
		}
		sum += int64(value)
	}
	const limit = 2_000_000_000
	if sum > limit || sum < -limit {
		l.wrong(path, "a priority of %d is out of range: it lies between -%d and %d", sum, limit, limit)
	}
	return int32(min(max(sum, -limit), limit)), invalid
}
