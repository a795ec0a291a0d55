package convert

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// Queue converts a ClusterQueue. The error names the field that no server
// that applies our schema would have accepted.
func Queue(cq *v1alpha1.ClusterQueue) (batch.Queue, error) {
	out := batch.Queue{Name: batch.QueueName(cq.Name), State: batch.QueueState(cq.Spec.State), Tier: 1}
	if out.State == "" {
		out.State = batch.QueueUp
	}
	if cq.DeletionTimestamp != nil {
		out.State = batch.QueueTerminating
	}
	if cq.Spec.PriorityTier != nil {
		out.Tier = *cq.Spec.PriorityTier
	}
	out.Exclusive = exclusive(cq.Spec.Exclusive)
	for _, flavor := range cq.Spec.Flavors {
		out.Flavors = append(out.Flavors, batch.FlavorName(flavor.Name))
		out.Quotas = withQuotas(out.Quotas, flavor.Name, flavor.Resources)
	}
	out.Cohort = batch.CohortName(cq.Spec.CohortName)
	if active := meta.FindStatusCondition(cq.Status.Conditions, v1alpha1.ConditionActive); active != nil && active.Status == metav1.ConditionFalse {
		out.StateSince = active.LastTransitionTime.UTC()
	}
	if size := cq.Spec.Size; size != nil {
		out.MinNodes, out.MaxNodes, out.MaxPods = number(size.MinNodes), number(size.MaxNodes), number(size.MaxPods)
	}
	out.Access = Access(cq)
	if access := cq.Spec.Access; access != nil {
		out.AllowAccounts, out.DenyAccounts = accountNames(access.AllowAccounts), accountNames(access.DenyAccounts)
	}
	if limits := cq.Spec.Walltime; limits != nil {
		var err error
		if out.WalltimeDefault, err = duration("spec.walltime.default", limits.Default); err != nil {
			return out, err
		}
		if out.WalltimeMax, err = duration("spec.walltime.max", limits.Max); err != nil {
			return out, err
		}
		overrun, err := duration("spec.walltime.overrun", limits.Overrun)
		if err != nil {
			return out, err
		}
		out.Overrun = time.Duration(overrun)
	}
	var err error
	out.Preemption, err = preemption(cq)
	return out, err
}

// Access picks the namespaces that may use a ClusterQueue; nil: all.
func Access(cq *v1alpha1.ClusterQueue) *batch.LabelSelector {
	access := cq.Spec.Access
	if access == nil || access.NamespaceSelector == nil {
		return nil
	}
	selector := labelSelector(access.NamespaceSelector)
	return &selector
}

// preemption is how a queue's work gives way, and whom it may push out.
func preemption(cq *v1alpha1.ClusterQueue) (batch.Preemption, error) {
	spec := cq.Spec.Preemption
	if spec == nil {
		return batch.Preemption{}, nil
	}
	out := batch.Preemption{
		Mode:                batch.PreemptionMode(spec.Mode),
		WithinQueue:         batch.PreemptWhom(spec.WithinQueue),
		ReclaimWithinCohort: batch.PreemptWhom(spec.ReclaimWithinCohort),
		BorrowWithinCohort:  batch.PreemptWhom(spec.BorrowWithinCohort),
	}
	var err error
	if out.Grace, err = Grace(cq); err != nil {
		return out, err
	}
	exempt, err := duration("spec.preemption.exempt", spec.Exempt)
	out.Exempt = time.Duration(exempt)
	return out, err
}

// Grace is the time from notice to kill in a ClusterQueue; 0: the pods' own.
func Grace(cq *v1alpha1.ClusterQueue) (time.Duration, error) {
	if cq.Spec.Preemption == nil {
		return 0, nil
	}
	grace, err := duration("spec.preemption.grace", cq.Spec.Preemption.Grace)
	return time.Duration(grace), err
}

// LocalQueue converts a LocalQueue.
func LocalQueue(lq *v1alpha1.LocalQueue) batch.LocalQueue {
	out := batch.LocalQueue{
		Name: batch.LocalQueueName(lq.Namespace + "/" + lq.Name),
		Held: lq.Spec.Hold == v1alpha1.HoldAll, Account: batch.AccountName(lq.Spec.AccountName),
	}
	for _, name := range lq.Spec.ClusterQueueNames {
		out.Queues = append(out.Queues, batch.QueueName(name))
	}
	return out
}

// Flavor converts a ResourceFlavor.
func Flavor(flavor *v1alpha1.ResourceFlavor) batch.Flavor {
	return batch.Flavor{
		Name:        batch.FlavorName(flavor.Name),
		Selector:    labelSelector(flavor.Spec.NodeSelector),
		Tolerations: tolerations(flavor.Spec.Tolerations),
		Topology:    batch.TopologyName(flavor.Spec.TopologyName),
	}
}

// Policy converts the SchedulingPolicy; nil gives the defaults.
func Policy(policy *v1alpha1.SchedulingPolicy) (batch.Policy, error) {
	out := batch.DefaultPolicy()
	if policy == nil {
		return out, nil
	}
	if backfill := policy.Spec.Backfill; backfill != nil {
		if backfill.Mode != "" {
			out.Backfill = batch.BackfillMode(backfill.Mode)
		}
		if backfill.Depth != nil {
			out.Depth = int(*backfill.Depth)
		}
		out.PerUser, out.PerQueue = number(backfill.PerUser), number(backfill.PerQueue)
		window, err := duration("spec.backfill.window", backfill.Window)
		if err != nil {
			return out, err
		}
		if window > 0 {
			out.Window = time.Duration(window)
		}
	}
	if preemption := policy.Spec.Preemption; preemption != nil {
		out.NoTierPreemption = preemption.Tiers == v1alpha1.PreemptionDisabled
		out.Victims = batch.VictimOrder(preemption.Victims)
	}
	if failure := policy.Spec.NodeFailure; failure != nil {
		after, err := duration("spec.nodeFailure.timeout", failure.Timeout)
		if err != nil {
			return out, err
		}
		out.NodeTimeout = time.Duration(after)
	}
	delay, err := duration("spec.requeueDelay", policy.Spec.RequeueDelay)
	if err != nil {
		return out, err
	}
	out.RequeueDelay = time.Duration(delay)
	timeout, err := duration("spec.startTimeout", policy.Spec.StartTimeout)
	if err != nil {
		return out, err
	}
	if timeout > 0 {
		out.StartTimeout = time.Duration(timeout)
	}
	return out, nil
}

func exclusive(mode v1alpha1.ExclusiveMode) batch.Exclusive {
	if mode == "" {
		return batch.ExclusiveNone
	}
	return batch.Exclusive(mode)
}

func duration(field string, text v1alpha1.Duration) (batch.Walltime, error) {
	if text == "" {
		return 0, nil
	}
	length, err := batch.ParseDuration(string(text))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", field, err)
	}
	return batch.Walltime(length), nil
}

func number(n *int32) int {
	if n == nil {
		return 0
	}
	return int(*n)
}
