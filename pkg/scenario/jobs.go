package scenario

import (
	"fmt"
	"strings"
	"time"

	"github.com/berth-dev/berth/apis/sim/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// podSetName is that of the one pod set of a job that lists none.
const podSetName = "main"

const (
	podsLimit       = 1_000_000
	dependenciesMax = 32
)

func (l *loader) job(path string, j *v1alpha1.Job) {
	namespace, queue := orDefault(j.Namespace, defaultName), orDefault(j.Queue, defaultName)
	l.name(path+".name", j.Name)
	l.plainName(path+".namespace", namespace, "a namespace")
	l.name(path+".queue", queue)
	id := JobID(namespace, j.Name)
	if first, twice := l.jobs[id]; twice {
		l.wrong(path+".name", "a job %q stands already in line %d", j.Name, l.line(fmt.Sprintf("spec.jobs[%d]", first)))
		return
	}
	out := Job{
		At: l.offset(path+".at", j.At),
		Workload: batch.Workload{
			ID: id, UID: string(id), Namespace: namespace, Name: j.Name,
			LocalQueue: batch.LocalQueueName(namespace + "/" + queue),
			PodSets:    l.podSets(path, j),
			Walltime:   l.walltime(path+".walltime", j.Walltime),
			TimeMin:    l.walltime(path+".timeMin", j.TimeMin),
			Begin:      l.instant(path+".begin", j.Begin),
			EndBefore:  l.instant(path+".endBefore", j.EndBefore),
			After:      l.after(path+".after", j.After),
			JobName:    j.JobName,
			Submitter:  orDefault(j.User, "user"),
			Account:    batch.AccountName(j.Account),
			Held:       j.Hold != nil && *j.Hold,
			NoRequeue:  j.Requeue != nil && !*j.Requeue,
		},
		CancelAt: l.offset(path+".cancelAt", j.CancelAt),
	}
	if field, words := out.Workload.Contradiction(); field != "" {
		l.wrong(path+"."+map[string]string{"TimeMin": "timeMin", "EndBefore": "endBefore"}[field], "%s", words)
	}
	out.Workload.Priority, out.Workload.Invalid = l.priorityOf(path+".priority", j.PriorityClass, j.Priority)
	l.mentions(path, j)
	if l.out.Until == 0 && out.At > DurationMax {
		l.wrong(path+".at", "%s is after the %s that a run lasts at most without an until of its own: give spec.until", j.At, batch.FormatDuration(DurationMax))
	}
	if j.CancelAt != "" && out.CancelAt < out.At {
		l.wrong(path+".cancelAt", "%s is before the job is submitted at %s", j.CancelAt, batch.FormatDuration(out.At))
	}
	l.behaviour(path, j, &out)
	l.domain(path+".topology", j, &out.Workload)
	l.exclusive(path, j, &out)
	l.onNodeLoss(path, j)
	if j.Array != nil {
		l.array(path+".array", j, out)
		return
	}
	l.put(out, rank{class: j.PriorityClass, own: j.Priority})
}

// mentions checks what a job names that need not be there.
func (l *loader) mentions(path string, j *v1alpha1.Job) {
	l.form(path+".jobName", FormValue, j.JobName)
	if j.PriorityClass != "" {
		l.form(path+".priorityClass", FormClass, j.PriorityClass)
	}
	if j.Account != "" {
		l.name(path+".account", j.Account)
	}
}

// rank is what a job's priority is the sum of, by then.
type rank struct {
	class string
	own   *int
}

func (l *loader) put(job Job, is rank) {
	w := &job.Workload
	l.jobs[w.ID], l.ranks[w.ID] = len(l.out.Jobs), is
	l.named[w.Name] = append(l.named[w.Name], w.ID)
	l.out.Jobs = append(l.out.Jobs, job)
}

// array makes the members of an array: NAME-0, NAME-1, ...
func (l *loader) array(path string, j *v1alpha1.Job, job Job) {
	if j.Array.Count < 1 || j.Array.Count > podsLimit {
		l.wrong(path+".count", "is %d: an array has 1 to %d members", j.Array.Count, podsLimit)
		return
	}
	if last := fmt.Sprintf("%s-%d", j.Name, j.Array.Count-1); batch.IsName(j.Name) {
		l.plainName(path, last, "a member's pod")
	}
	limit := 0
	if given := j.Array.Parallelism; given != nil {
		if limit = *given; limit < 1 {
			l.wrong(path+".parallelism", "is %d: at least 1 member runs at a time; leave it out to run all at once", limit)
		}
	}
	for i := range j.Array.Count {
		member := job
		w := &member.Workload
		w.Name = fmt.Sprintf("%s-%d", j.Name, i)
		w.ID = JobID(w.Namespace, w.Name)
		w.UID = string(w.ID)
		w.Array = &batch.ArrayMember{Name: j.Name, Index: i, Limit: limit}
		if _, twice := l.jobs[w.ID]; twice {
			l.wrong(path, "its member %q stands already as a job", w.Name)
			return
		}
		l.put(member, rank{class: j.PriorityClass, own: j.Priority})
		for _, name := range []string{j.Name, string(JobID(w.Namespace, j.Name))} {
			l.arrays[name] = append(l.arrays[name], w.ID)
		}
	}
}

// instant is a moment of the story as a time; empty is none.
func (l *loader) instant(path string, text v1alpha1.Offset) time.Time {
	if text == "" {
		return time.Time{}
	}
	return l.out.Start.Add(l.offset(path, text))
}

func (l *loader) after(path string, texts []string) []batch.Dependency {
	var out []batch.Dependency
	if len(texts) > dependenciesMax {
		l.wrong(path, "has %d dependencies: a job has at most %d, as in a cluster; wait for an array as a whole by its name", len(texts), dependenciesMax)
	}
	for i, text := range texts {
		dependency, err := batch.ParseDependency(text)
		if err != nil {
			l.wrong(fmt.Sprintf("%s[%d]", path, i), "%v", err)
		}
		out = append(out, dependency)
	}
	return out
}

// JobID is the workload of a job: in a scenario nothing needs a hash.
func JobID(namespace, name string) batch.WorkloadID {
	return batch.WorkloadID(namespace + "/" + name)
}

func orDefault(text, or string) string {
	if text == "" {
		return or
	}
	return text
}

func (l *loader) behaviour(path string, j *v1alpha1.Job, out *Job) {
	switch j.Runtime {
	case "":
	case "never":
		out.Runtime = Never
	default:
		out.Runtime = l.offset(path+".runtime", j.Runtime)
		out.Instant = out.Runtime == 0
	}
	switch j.Exit {
	case "", "ok":
	case "fail":
		out.Fails = true
	default:
		l.wrong(path+".exit", "%q is neither ok nor fail", j.Exit)
	}
	l.onNotice(path+".onNotice", j.OnNotice, out)
	if c := j.Checkpoint; c != nil {
		path += ".checkpoint"
		out.Saves = &Saves{
			Every: l.offset(path+".every", c.Every), Save: l.offset(path+".save", c.Save), Resume: l.offset(path+".resume", c.Resume),
		}
		if out.Workload.Checkpoint.Every = out.Saves.Every; c.Every != "" && out.Saves.Every <= 0 {
			l.wrong(path+".every", "is %s: it must be longer than 0s; leave it out for a job that saves at a notice alone", c.Every)
		}
	}
}

// onNotice is how a job reacts to the notice of its eviction: "ignore", or
// {exitsAfter: 20s}.
func (l *loader) onNotice(path string, given any, out *Job) {
	switch given := given.(type) {
	case nil:
		return
	case string:
		if out.Ignores = given == "ignore"; out.Ignores {
			return
		}
	case map[string]any:
		if after, ok := given["exitsAfter"].(string); ok && len(given) == 1 {
			out.ExitsAfter = l.offset(path+".exitsAfter", v1alpha1.Offset(after))
			return
		}
	}
	l.wrong(path, "is neither ignore nor a time to exit after, such as {exitsAfter: 20s}")
}

func (l *loader) exclusive(path string, j *v1alpha1.Job, out *Job) {
	switch j.Exclusive {
	case "", "None":
	case "Workload":
		out.Workload.Exclusive = batch.ExclusiveWorkload
	case "User":
		l.wrong(path+".exclusive", "%s", NotBuilt("nodes for one user (exclusive: User)"))
	default:
		l.wrong(path+".exclusive", "%q is not one of None, Workload, User", j.Exclusive)
	}
}

// onNodeLoss is what becomes of a job that loses a node.
func (l *loader) onNodeLoss(path string, j *v1alpha1.Job) {
	switch j.OnNodeLoss {
	case "", "Requeue":
	case "Replace":
		l.wrong(path+".onNodeLoss", "%s", NotBuilt("the replacement of lost pods (Replace)"))
	default:
		l.wrong(path+".onNodeLoss", "%q is not one of Requeue, Replace", j.OnNodeLoss)
	}
}

func (l *loader) walltime(path string, text v1alpha1.Walltime) batch.Walltime {
	if text == "" {
		return 0
	}
	walltime, err := batch.ParseWalltime(string(text))
	if err != nil {
		l.wrong(path, "%v", err)
	}
	return walltime
}

func (l *loader) podSets(path string, j *v1alpha1.Job) []batch.PodSet {
	if len(j.PodSets) == 0 {
		return []batch.PodSet{l.podSet(path, &v1alpha1.PodSet{
			Name: podSetName, Pods: j.Pods, MinPods: j.MinPods, Requests: j.Requests, NodeSelector: j.NodeSelector, Tolerations: j.Tolerations,
		})}
	}
	for _, other := range []struct {
		name  string
		given bool
	}{
		{"pods", j.Pods != nil},
		{"minPods", j.MinPods != nil},
		{"requests", j.Requests != nil},
		{"nodeSelector", j.NodeSelector != nil},
		{"tolerations", j.Tolerations != nil},
	} {
		if other.given {
			l.wrong(path+"."+other.name, "stands beside podSets: give it to each of them")
		}
	}
	names := map[string]bool{}
	var out []batch.PodSet
	for i := range j.PodSets {
		set, where := &j.PodSets[i], fmt.Sprintf("%s.podSets[%d]", path, i)
		l.name(where+".name", set.Name)
		if names[set.Name] {
			l.wrong(where+".name", "a pod set %q is already there", set.Name)
		}
		names[set.Name] = true
		out = append(out, l.podSet(where, set))
	}
	return out
}

func (l *loader) podSet(path string, set *v1alpha1.PodSet) batch.PodSet {
	out := batch.PodSet{Name: set.Name, Count: 1, Requests: l.resources(path+".requests", set.Requests)}
	l.resourceNames(path+".requests", FormRequest, set.Requests)
	l.labels(path+".nodeSelector", set.NodeSelector)
	if set.Pods != nil {
		out.Count = *set.Pods
	}
	if out.Count < 1 || out.Count > podsLimit {
		l.wrong(path+".pods", "is %d: a job has 1 to %d pods", out.Count, podsLimit)
	}
	if set.MinPods != nil {
		out.MinCount = *set.MinPods
		if out.MinCount < 1 || out.MinCount > out.Count {
			l.wrong(path+".minPods", "is %d of %d pods: it lies between 1 and the number of pods", out.MinCount, out.Count)
		}
	}
	if _, given := out.Requests[batch.ResourcePods]; given {
		l.wrong(path+".requests.pods", "cannot be asked for: each pod takes one pod slot by itself")
	}
	out.Requests[batch.ResourcePods] = 1
	if len(set.NodeSelector) > 0 {
		out.Selector.Labels = set.NodeSelector
	}
	out.Tolerations = l.tolerations(path+".tolerations", set.Tolerations)
	return out
}

func (l *loader) tolerations(path string, in []v1alpha1.Toleration) []batch.Toleration {
	var out []batch.Toleration
	for i, t := range in {
		where := fmt.Sprintf("%s[%d]", path, i)
		switch t.Operator {
		case "", "Equal", "Exists":
		default:
			l.wrong(where+".operator", "%q is neither Equal nor Exists", t.Operator)
		}
		if t.Operator == "Exists" && t.Value != "" {
			l.wrong(where+".value", "must be left out with the operator Exists")
		}
		if t.Key == "" && t.Operator != "Exists" {
			l.wrong(where, "without a key the operator must be Exists")
		}
		switch t.Effect {
		case "", "NoSchedule", "NoExecute", "PreferNoSchedule":
		default:
			l.wrong(where+".effect", "%q is not one of NoSchedule, NoExecute, PreferNoSchedule", t.Effect)
		}
		if t.Key != "" {
			l.form(where+".key", FormKey, t.Key)
		}
		l.form(where+".value", FormValue, t.Value)
		out = append(out, batch.Toleration{Key: t.Key, Op: t.Operator, Value: t.Value, Effect: t.Effect})
	}
	return out
}

// jobNamed finds the job that a name means: NAME, or NAMESPACE/NAME.
func (l *loader) jobNamed(path, name string) batch.WorkloadID {
	if strings.Contains(name, "/") {
		if id := batch.WorkloadID(name); l.exists(id) {
			return id
		}
		l.wrong(path, "there is no job %q", name)
		return ""
	}
	switch ids := l.named[name]; {
	case len(ids) == 1:
		return ids[0]
	case len(ids) > 1:
		l.wrong(path, "%q is a job in %d namespaces: write NAMESPACE/%s", name, len(ids), name)
	case l.exists(JobID(defaultName, name)):
		return JobID(defaultName, name)
	default:
		l.wrong(path, "there is no job %q", name)
	}
	return ""
}

// exists says whether a job is in the file or may come from the trace.
func (l *loader) exists(id batch.WorkloadID) bool {
	if _, ok := l.jobs[id]; ok {
		return true
	}
	return l.out.Trace != nil && ofTrace(id)
}
