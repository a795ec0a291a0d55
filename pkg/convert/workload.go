package convert

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// Workload is a QueuedWorkload as the planner sees it: what was asked for, and
// the decisions of ours that stand in its status.
func Workload(qw *v1alpha1.QueuedWorkload) batch.Workload {
	out := batch.Workload{
		ID:         WorkloadID(qw.Namespace, qw.Name),
		UID:        string(qw.UID),
		Namespace:  qw.Namespace,
		Name:       ownerName(qw),
		LocalQueue: batch.LocalQueueName(qw.Namespace + "/" + qw.Spec.QueueName),
		Priority:   value(qw.Spec.Priority),
		Submitter:  qw.Spec.Submitter,
		Account:    batch.AccountName(qw.Spec.AccountName),
		Held:       qw.Spec.Hold == v1alpha1.HoldAll,
		JobName:    qw.Spec.JobName,
		Exclusive:  batch.Exclusive(qw.Spec.Exclusive),
		QueuedAt:   queuedAt(qw),
		NoRequeue:  qw.Spec.Requeue == v1alpha1.RequeueNever,
	}
	out.Array = arrayMember(qw)
	out.PodSets, out.Invalid = podSets(qw.Spec.PodSets)
	if qw.Spec.PriorityClassName != "" && qw.Spec.Priority == nil {
		out.Invalid = fmt.Sprintf("PriorityClass %q does not exist; pods of that class would be refused", qw.Spec.PriorityClassName)
	}
	if err := times(&out, &qw.Spec); err != nil {
		out.Invalid = err.Error()
	}
	checkpoint, _, err := ParseCheckpoint(qw.Spec.Checkpoint)
	if err != nil {
		out.Invalid = err.Error()
	}
	out.Checkpoint = checkpoint
	decisions(&out, qw)
	return out
}

// times reads what a person wrote about times and order; the error names the
// first that cannot be read.
func times(out *batch.Workload, spec *v1alpha1.QueuedWorkloadSpec) error {
	var err error
	if text := spec.Walltime; text != "" {
		if out.Walltime, err = batch.ParseWalltime(string(text)); err != nil {
			return err
		}
	}
	if text := spec.TimeMin; text != "" {
		if out.TimeMin, err = batch.ParseWalltime(string(text)); err != nil {
			return fmt.Errorf("time-min: %w", err)
		}
	}
	if out.Begin, err = moment("begin", spec.Begin); err != nil {
		return err
	}
	if out.EndBefore, err = moment("end-before", spec.EndBefore); err != nil {
		return err
	}
	for _, text := range spec.After {
		dependency, err := batch.ParseDependency(text)
		if err != nil {
			return err
		}
		out.After = append(out.After, dependency)
	}
	if field, words := out.Contradiction(); field != "" {
		return fmt.Errorf("%s %s", map[string]string{"TimeMin": "time-min", "EndBefore": "end-before"}[field], words)
	}
	return nil
}

func moment(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s is %q; it must be a time such as 2026-01-05T14:00:00Z", name, text)
	}
	return at.UTC(), nil
}

// decisions reads back what earlier plans wrote: the one memory that survives
// a restart.
func decisions(out *batch.Workload, qw *v1alpha1.QueuedWorkload) {
	status := &qw.Status
	out.Restarts = int(value(status.Restarts))
	out.Promise = instant(status.PlannedStartTime)
	out.Basis = batch.Basis(status.Basis)
	out.RequeueAfter = instant(status.RequeueAfter)
	out.Outcomes = outcomes(qw)
	if status.Allocation != nil {
		out.Allocation = allocation(status.Allocation)
		out.Relimited = unanswered(out.Walltime, status.Allocation)
	}
	out.Eviction = eviction(qw)
	if n := status.Notice; n != nil && batch.Cause(n.Cause) == batch.CauseWalltime && out.Allocation != nil {
		out.Notice = readNotice(n)
	}
	out.Nomination = nomination(status.Nomination)
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionFinished); c != nil && c.Status == metav1.ConditionTrue {
		out.Finished = &batch.End{State: batch.EndState(c.Reason), Time: c.LastTransitionTime.UTC(), Message: c.Message}
	}
	if out.Allocation != nil {
		readiness(out, qw)
	}
	if last := len(status.Runs) - 1; last >= 0 && out.Allocation == nil && batch.EndState(status.Runs[last].State) == batch.Requeued {
		out.TakenBack = RunWords(status.Runs[last])
	}
	// What was said of an older spec is no answer to this one.
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionPending); c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == qw.Generation {
		out.LastVerdict = &batch.Verdict{Reason: batch.Reason(c.Reason), PlannedStart: out.Promise, Message: c.Message}
	}
}

// readiness reads back how far the pods of a run had come. A run whose pods are
// being made, or held up, was never ready.
func readiness(out *batch.Workload, qw *v1alpha1.QueuedWorkload) {
	c := meta.FindStatusCondition(qw.Status.Conditions, v1alpha1.ConditionPodsReady)
	switch {
	case c == nil, c.Reason == StateStarting:
	case c.Reason == podsHeld:
		out.HeldBy = c.Message
	default:
		out.PodsReady = new(c.Status == metav1.ConditionTrue)
	}
	out.ReadySince = instant(qw.Status.Allocation.ReadyTime)
}

// ownerName is what a person typed: the name of the Job or Pod.
func ownerName(qw *v1alpha1.QueuedWorkload) string {
	if name := qw.Annotations[v1alpha1.NameAnnotation]; name != "" {
		return name // a member of an array
	}
	if owner := metav1.GetControllerOf(qw); owner != nil {
		return owner.Name
	}
	return qw.Name
}

// arrayMember places the workload in its array; nil if it is in none. Its Job's
// parallelism is the throttle, so there is no limit here.
func arrayMember(qw *v1alpha1.QueuedWorkload) *batch.ArrayMember {
	name := qw.Annotations[v1alpha1.NameAnnotation]
	if members, err := strconv.Atoi(qw.Annotations[v1alpha1.MembersAnnotation]); err == nil && name == "" {
		return &batch.ArrayMember{Name: ownerName(qw), Index: batch.WholeArray, Count: members}
	}
	dash := strings.LastIndexByte(name, '-')
	if dash < 0 {
		return nil
	}
	index, err := strconv.Atoi(name[dash+1:])
	if err != nil {
		return nil
	}
	count, err := strconv.Atoi(qw.Annotations[v1alpha1.MembersAnnotation])
	if err != nil {
		count = 0 // not known: those that exist
	}
	return &batch.ArrayMember{Name: name[:dash], Index: index, Count: count}
}

// queuedAt is the owner's creation, which Berth copies: a QueuedWorkload that
// had to be made again does not lose its owner's place in the order.
func queuedAt(qw *v1alpha1.QueuedWorkload) time.Time {
	if at, err := time.Parse(time.RFC3339, qw.Annotations[v1alpha1.QueuedAtAnnotation]); err == nil {
		return at.UTC()
	}
	return qw.CreationTimestamp.UTC()
}

func podSets(sets []v1alpha1.PodSet) ([]batch.PodSet, string) {
	out := make([]batch.PodSet, 0, len(sets))
	invalid := ""
	for _, set := range sets {
		rules := podRules{affinity: set.Affinity, spread: set.TopologySpreadConstraints, labels: set.Labels, hostPorts: set.HostPorts}
		if why := unplannable(rules); why != "" && invalid == "" {
			invalid = why
		}
		level, wrong := domain(set.Topology)
		if wrong != "" && invalid == "" {
			invalid = wrong
		}
		out = append(out, batch.PodSet{
			Name:        set.Name,
			Count:       int(value(set.Count)),
			MinCount:    int(value(set.MinCount)),
			Requests:    withSlot(set.Requests),
			Selector:    nodeSelector(set.NodeSelector, set.Affinity),
			Tolerations: tolerations(set.Tolerations),
			PerNodeMax:  perNodeMax(rules),
			Domain:      level,
		})
	}
	return out, invalid
}

// allocation reads an allocation back.
func allocation(in *v1alpha1.Allocation) *batch.Allocation {
	out := &batch.Allocation{
		Queue:    batch.QueueName(in.ClusterQueue),
		Flavor:   batch.FlavorName(in.Flavor),
		Via:      batch.Via(in.Via),
		Start:    in.StartTime.UTC(),
		Deadline: instant(in.Deadline),
		Planned:  instant(in.PlannedStartTime),
	}
	for _, set := range in.PodSets {
		placement := batch.Placement{PodSet: set.Name}
		for _, run := range set.Domains {
			for range run.Pods {
				placement.Hosts = append(placement.Hosts, batch.NodeName(run.Host))
			}
		}
		out.PodSets = append(out.PodSets, placement)
	}
	return out
}

// Allocation is an allocation as the API has it: hosts run-length encoded.
func Allocation(in batch.Allocation) *v1alpha1.Allocation {
	out := &v1alpha1.Allocation{
		ClusterQueue:     string(in.Queue),
		Flavor:           string(in.Flavor),
		Via:              string(in.Via),
		StartTime:        metav1.NewTime(in.Start),
		Deadline:         timestamp(in.Deadline),
		PlannedStartTime: timestamp(in.Planned),
	}
	for _, placement := range in.PodSets {
		set := v1alpha1.PodSetAllocation{Name: placement.PodSet, Count: new(int32(len(placement.Hosts)))}
		for _, host := range placement.Hosts {
			last := len(set.Domains) - 1
			if last >= 0 && set.Domains[last].Host == string(host) {
				set.Domains[last].Pods++
				continue
			}
			set.Domains = append(set.Domains, v1alpha1.HostRun{Host: string(host), Pods: 1})
		}
		out.PodSets = append(out.PodSets, set)
	}
	return out
}

func value(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}

// instant is a timestamp in UTC; the zero time for none.
func instant(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

func timestamp(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	at := metav1.NewTime(t)
	return &at
}
