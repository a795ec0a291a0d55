package batch

import "time"

// QueueState says what a queue does with work.
type QueueState string

// The states of a queue.
const (
	QueueUp       QueueState = "Up"
	QueueDrain    QueueState = "Drain"    // nothing new, starts what is queued
	QueueDown     QueueState = "Down"     // accepts, starts nothing
	QueueInactive QueueState = "Inactive" // neither
	// QueueTerminating is of a queue that is being deleted: it starts nothing,
	// and is gone when its last work is.
	QueueTerminating QueueState = "Terminating"
)

// Queue is a ClusterQueue: a partition.
type Queue struct {
	Name  QueueName
	State QueueState
	// StateSince is when the state was last seen to change; work queued after
	// a Drain or Inactive began is not accepted. Zero: since ever.
	StateSince time.Time
	Tier       int32
	Flavors    []FlavorName // in order of preference; none: all nodes

	Cohort CohortName // the cohort that it is in; empty: none
	Quotas Quotas

	WalltimeDefault Walltime // 0: WalltimeMax, else Unlimited
	WalltimeMax     Walltime // 0: none

	// Overrun is how long a run may go on past its deadline; it is ended then.
	Overrun time.Duration

	// Exclusive gives every workload of the queue whole nodes; empty: None.
	Exclusive Exclusive

	// MinNodes and MaxNodes bound the fewest nodes that a workload needs when
	// all nodes of the flavor are empty, also those that are away just now: what
	// is asked for, and not how it happens to be spread. MaxPods bounds its pods.
	// Elastic sets count with their fewest pods, and grow within the bounds.
	MinNodes, MaxNodes, MaxPods int // 0: no bound

	// Preemption is how its work gives way, and whom it may push out.
	Preemption Preemption

	// Access picks the namespaces that may use the queue; nil: all.
	Access *LabelSelector
	// AllowAccounts are the accounts whose work is let in, with all accounts
	// below them; none: all work is. DenyAccounts are kept out, with all below
	// them, whatever else lets them in.
	AllowAccounts, DenyAccounts []AccountName `json:",omitempty"`
}

// LocalQueue is the door to a queue in a namespace.
type LocalQueue struct {
	Name   LocalQueueName
	Queues []QueueName
	Held   bool
	// Account is charged for work that names none; empty: none is.
	Account AccountName `json:",omitempty"`
}

// Flavor is a set of like nodes.
type Flavor struct {
	Name        FlavorName
	Selector    LabelSelector // empty: all nodes
	Tolerations []Toleration  // added to the pods that run here
	// Topology says which of its nodes are near each other; empty: nothing does,
	// and all of them are one domain.
	Topology TopologyName `json:",omitempty"`
}

// Topology is the levels of a network, from wide to narrow.
type Topology struct {
	Name   TopologyName
	Levels []TopologyLevel
}

// TopologyLevel is a level, with the label of a node that names its domain there.
type TopologyLevel struct{ Name, Label string }

// BackfillMode says how waiting work is planned.
type BackfillMode string

// The modes of backfill.
const (
	BackfillConservative BackfillMode = "Conservative"
	BackfillNone         BackfillMode = "None"
	BackfillEASY         BackfillMode = "EASY"   // only the first blocked workload of each queue is planned
	BackfillStrict       BackfillMode = "Strict" // nothing overtakes in its queue
)

// Policy is how the whole cluster is planned.
type Policy struct {
	Backfill     BackfillMode
	Depth        int           // waiting workloads that get a planned start
	StartTimeout time.Duration // started pods must be bound by then

	// NodeTimeout is how long a node may be not ready before it is lost: its
	// work is taken back, and nobody is charged for what is left there.
	// 0: DefaultNodeTimeout.
	NodeTimeout time.Duration

	// NoTierPreemption keeps higher tiers from pushing out lower ones.
	NoTierPreemption bool
	// Victims is which of the sets of victims that would do is taken.
	Victims VictimOrder
	// RequeueDelay is how long an evicted workload waits before it is eligible.
	RequeueDelay time.Duration

	// Window is how far ahead planned starts are shown; what lies beyond is
	// shown as unknown. 0: DefaultWindow.
	Window time.Duration
	// PerUser and PerQueue bound how many planned starts each user and each
	// queue may have; 0: no bound.
	PerUser, PerQueue int
}

// DefaultWindow is how far ahead planned starts are shown.
const DefaultWindow = 30 * 24 * time.Hour

// DefaultNodeTimeout is how long a node may be not ready before it is lost.
const DefaultNodeTimeout = time.Minute

// NodeTimeoutOf is how long a node may be not ready before it is lost.
func (p *Policy) NodeTimeoutOf() time.Duration {
	if p.NodeTimeout > 0 {
		return p.NodeTimeout
	}
	return DefaultNodeTimeout
}

// DefaultPolicy is what holds without a SchedulingPolicy.
func DefaultPolicy() Policy {
	return Policy{Backfill: BackfillConservative, Depth: 1000, StartTimeout: 5 * time.Minute, Window: DefaultWindow}
}
