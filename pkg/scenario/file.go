package scenario

import (
	"time"

	"github.com/berth-dev/berth/apis/sim/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// DurationMax is how long a scenario without an end of its own is played, and how long
// after the last submission of a log: some work never ends.
const DurationMax = 400 * 24 * time.Hour

// Never is a run time without an end of its own.
const Never time.Duration = -1

// File is a scenario that can be played. All times are offsets from Start.
type File struct {
	Path  string
	Name  string
	About string
	Start time.Time
	Until time.Duration // 0: when all jobs have ended, at most DurationMax (after the last of a log)
	Seed  int64
	// Live says that it is also played against a real control plane, where
	// LiveScale of its time passes in a second.
	Live      bool
	LiveScale time.Duration

	Objects []Object // in the order in which they are applied
	Nodes   []batch.Node
	Jobs    []Job // as in the file
	Trace   *v1alpha1.Trace
	Events  []Event // by time, then as in the file
	Expect  []Expectation

	// Notes are what is allowed, and hardly what was meant.
	Notes []string

	// LocalQueues says that the file defines LocalQueues of its own: then none
	// are made for its ClusterQueues.
	LocalQueues bool
}

// Object is a Berth object as a cluster has admitted it.
type Object struct {
	Kind, Namespace, Name string
	// Seen and Gone are what the core hears of it; nil for a PriorityClass.
	Seen, Gone batch.Event
	// Value is that of a PriorityClass.
	Value int32
	// Raw is the object with its defaults.
	Raw map[string]any
}

// Job is work, and how it behaves.
type Job struct {
	// Workload is what was asked for; when it was queued is not set yet.
	Workload batch.Workload
	At       time.Duration
	// Runtime is how long it really runs; 0: as long as its limit, Never:
	// until it is stopped.
	Runtime time.Duration
	// Instant says that Runtime is 0 and means it.
	Instant bool
	Fails   bool
	// CancelAt is when its author deletes it; 0: never.
	CancelAt time.Duration
	// Saves is what of its work survives an eviction; nil: nothing does.
	Saves *Saves
	// Ignores says that it runs on after a notice, until its grace is over;
	// else it ends so long after it.
	Ignores    bool
	ExitsAfter time.Duration
	// FromTrace says that the job is of a log: it is forgotten when it ends.
	FromTrace bool
}

// Saves is how a job saves its work.
type Saves struct {
	Every  time.Duration // of progress, by itself; 0: it does not
	Save   time.Duration // what it takes to save at a notice
	Resume time.Duration // what a run takes before it goes on from there
}

// Event is something that happens beside the jobs: exactly one of the fields
// after At is set.
type Event struct {
	At      time.Duration
	Node    *NodeChange
	Nodes   []batch.Node // that come
	Apply   []Object     // a ClusterQueue may bring its LocalQueue
	Delete  *Object
	Release batch.WorkloadID
	Hold    batch.WorkloadID
	Set     *Edit
	Restart bool
	Down    time.Duration
}

// NodeChange is what becomes of a node.
type NodeChange struct {
	Name          batch.NodeName
	Ready         *bool
	Unschedulable *bool
	Delete        bool
}

// Edit is a change of a job by its author; nil leaves a field as it is.
type Edit struct {
	Job      batch.WorkloadID
	Walltime *batch.Walltime
	Priority *int32 // with the value of its class
	Classed  bool   // its class is there now: nobody has edited the job itself
	Queue    *batch.LocalQueueName
}

// Expectation is what must come of it; what is nil or empty is not expected.
type Expectation struct {
	Text string // as in the file
	Path string
	Line int

	At        *time.Duration
	Tolerance time.Duration

	Job   batch.WorkloadID
	Queue batch.QueueName

	Start, End     *time.Duration
	State          string
	Starts         *int
	Evictions      *int
	EvictedAt      []time.Duration // nil: not expected
	Cause          batch.Cause
	By             batch.WorkloadID
	Lost           *time.Duration
	Nodes, Order   []string
	NodeCount      *int
	Domains        map[string]int
	Via            batch.Via
	NonIncreasing  bool
	Pods           *int
	Reason         batch.Reason
	Message        string
	PlannedStart   *time.Duration
	Position       *int
	Used           batch.Resources
	Borrowed, Lent batch.Resources
	Pending        *int
	FreeNodes      *int
	FreeGPUs       *int
	NeverAbove     *Bound
	EvictionsTotal *int
	StartsTotal    *int
	Before         [2]batch.WorkloadID
	Metric         string
	Min, Max       *float64
}

// Bound is what a queue must never exceed.
type Bound struct {
	Queue batch.QueueName
	Used  batch.Resources
}
