package scenario

import (
	"fmt"
	"strings"

	"github.com/berth-dev/berth/apis/sim/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// podSetName is that of the one pod set of a job that lists none.
const podSetName = "main"

const podsLimit = 1_000_000

func (l *loader) job(path string, j *v1alpha1.Job) {
	namespace, queue := orDefault(j.Namespace, defaultName), orDefault(j.Queue, defaultName)
	l.name(path+".name", j.Name)
	l.name(path+".namespace", namespace)
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
			Submitter:  orDefault(j.User, "user"),
			Held:       j.Hold != nil && *j.Hold,
		},
		CancelAt: l.offset(path+".cancelAt", j.CancelAt),
	}
	out.Workload.Priority, out.Workload.Invalid = l.priorityOf(path+".priority", j.PriorityClass, j.Priority)
	if j.CancelAt != "" && out.CancelAt < out.At {
		l.wrong(path+".cancelAt", "%s is before the job is submitted at %s", j.CancelAt, batch.FormatDuration(out.At))
	}
	l.behaviour(path, j, &out)
	l.jobs[id], l.classOf[id] = len(l.out.Jobs), j.PriorityClass
	l.named[j.Name] = append(l.named[j.Name], id)
	l.out.Jobs = append(l.out.Jobs, out)
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
	switch j.Exclusive {
	case "", "None":
	case "Workload", "User":
		l.wrong(path+".exclusive", "%s", NotBuilt("whole nodes for one workload or user (exclusive)"))
	default:
		l.wrong(path+".exclusive", "%q is not one of None, Workload, User", j.Exclusive)
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
			Name: podSetName, Pods: j.Pods, Requests: j.Requests, NodeSelector: j.NodeSelector, Tolerations: j.Tolerations,
		})}
	}
	for _, other := range []struct {
		name  string
		given bool
	}{
		{"pods", j.Pods != nil}, {"requests", j.Requests != nil},
		{"nodeSelector", j.NodeSelector != nil}, {"tolerations", j.Tolerations != nil},
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
	if set.Pods != nil {
		out.Count = *set.Pods
	}
	if out.Count < 1 || out.Count > podsLimit {
		l.wrong(path+".pods", "is %d: a job has 1 to %d pods", out.Count, podsLimit)
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
	return l.out.Trace != nil && traceJob.MatchString(string(id))
}
