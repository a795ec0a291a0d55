package state

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/google/btree"

	"github.com/berth-dev/berth/pkg/batch"
)

// degree of the trees: nodes of about a kilobyte.
const degree = 32

// strayOwnersMax bounds owners that were seen without a workload: those whose
// workload comes a moment later, and those whose workload never will.
const strayOwnersMax = 10_000

// State is the working set. It is not safe for use by several goroutines.
type State struct {
	policy      batch.Policy
	queues      table[batch.QueueName, batch.Queue]
	cohorts     table[batch.CohortName, batch.Cohort]
	accounts    table[batch.AccountName, batch.Account]
	localQueues table[batch.LocalQueueName, batch.LocalQueue]
	flavors     table[batch.FlavorName, batch.Flavor]
	topologies  table[batch.TopologyName, batch.Topology]
	namespaces  table[string, batch.Labels]

	nodes   map[batch.NodeName]*node
	absent  map[batch.NodeName]*node // of nodes: not ready, or gone with work on them
	pods    map[batch.PodUID]*pod
	ghosts  map[batch.PodUID]*pod // of pods: gone by force, perhaps still running
	records map[batch.WorkloadID]*record
	strays  int // records that only an owner is known of
	names   names

	waiting     *btree.BTreeG[*batch.Waiting] // by rank
	waitingList []*batch.Waiting              // the same; nil: not since it has changed
	started     *btree.BTreeG[*record]        // by ID
	dependent   map[batch.WorkloadID]*record  // those waiting or started that depend on others
	held        []*record                     // those with a placement of a planned start
	returned    []*record                     // those that wait, first seen since the last snapshot
	issued      int                           // plans
	ending      map[batch.WorkloadID]*record  // those that are over but for their pods

	dirtyRecords map[batch.WorkloadID]*record // charges to be worked out
	charged      map[batch.WorkloadID]*record // those that are charged for anything
	paying       map[batch.WorkloadID]bool    // those of whom usesList may not be true any more; nil: nothing is in it
	usesList     []batch.Use                  // see uses; frozen
	dirtyNodes   map[batch.NodeName]*node     // views to be made
	nodesChanged bool                         // a node came or went
	views        []*batch.NodeView
	capacity     map[batch.FlavorName]batch.Resources // as far as it is known
	carried      batch.Carried                        // from the last plan to the next
	loose        bool                                 // something may have become free since the last plan
}

// New returns an empty working set.
func New() *State {
	return &State{
		policy:  batch.DefaultPolicy(),
		nodes:   map[batch.NodeName]*node{},
		absent:  map[batch.NodeName]*node{},
		pods:    map[batch.PodUID]*pod{},
		ghosts:  map[batch.PodUID]*pod{},
		records: map[batch.WorkloadID]*record{},
		names:   newNames(),
		waiting: btree.NewG(degree, func(a, b *batch.Waiting) bool {
			return batch.CompareRank(a.Workload, b.Workload) < 0
		}),
		started:      btree.NewG(degree, func(a, b *record) bool { return cmp.Less(a.id, b.id) }),
		ending:       map[batch.WorkloadID]*record{},
		dependent:    map[batch.WorkloadID]*record{},
		dirtyRecords: map[batch.WorkloadID]*record{},
		charged:      map[batch.WorkloadID]*record{},
		dirtyNodes:   map[batch.NodeName]*node{},
		loose:        true,
	}
}

// Step takes in one event.
func (s *State) Step(e batch.Event) {
	switch e := e.(type) {
	case batch.NodeObserved:
		s.observeNode(e.Node)
	case batch.NodeGone:
		s.dropNode(e.Name)
	case batch.PodObserved:
		s.observePod(e.Pod)
	case batch.PodGone:
		s.dropPod(e)
	case batch.PolicyObserved:
		s.loose = s.loose || s.policy != e.Policy
		s.observePolicy(e.Policy)
	case batch.QueueObserved, batch.QueueGone, batch.CohortObserved, batch.CohortGone,
		batch.AccountObserved, batch.AccountGone, batch.LocalQueueObserved, batch.LocalQueueGone,
		batch.FlavorObserved, batch.FlavorGone,
		batch.TopologyObserved, batch.TopologyGone, batch.NamespaceObserved, batch.NamespaceGone:
		s.stepTables(e)
	case batch.WorkloadObserved:
		s.observeWorkload(e.Workload)
	case batch.WorkloadGone:
		s.dropWorkload(e)
	case batch.OwnerObserved:
		s.observeOwner(e.ID, e.Owner)
	case batch.PlanIssued:
		s.issue(e.Plan)
	case batch.AdmitFailed:
		s.undoStart(e)
	case batch.StartRefused:
		s.refuseStart(e)
	default:
		panic(fmt.Sprintf("state: event of unknown type %T", e))
	}
}

// stepTables takes in what is configured rather than scheduled.
func (s *State) stepTables(e batch.Event) {
	s.loose = true
	switch e := e.(type) {
	case batch.QueueObserved:
		s.observeQueue(e.Queue)
	case batch.QueueGone:
		s.dropQueue(e.Name)
	case batch.CohortObserved:
		s.cohorts.set(e.Cohort.Name, e.Cohort)
	case batch.CohortGone:
		s.cohorts.drop(e.Name)
	case batch.AccountObserved:
		s.accounts.set(e.Account.Name, e.Account)
	case batch.AccountGone:
		s.accounts.drop(e.Name)
	case batch.LocalQueueObserved:
		s.observeLocalQueue(e.LocalQueue)
	case batch.LocalQueueGone:
		s.localQueues.drop(e.Name)
	case batch.FlavorObserved:
		s.capacity = nil
		s.flavors.set(e.Flavor.Name, e.Flavor)
	case batch.FlavorGone:
		s.capacity = nil
		s.flavors.drop(e.Name)
	case batch.TopologyObserved:
		s.topologies.set(e.Topology.Name, e.Topology)
	case batch.TopologyGone:
		s.topologies.drop(e.Name)
	case batch.NamespaceObserved:
		s.namespaces.set(e.Name, e.Labels)
	case batch.NamespaceGone:
		s.namespaces.drop(e.Name)
	}
}

// observeQueue takes in a queue. What waits there is ranked anew where its tier
// was edited, and where its walltime is the queue's and that was.
func (s *State) observeQueue(queue batch.Queue) {
	was := s.queues.rows[queue.Name]
	s.queues.set(queue.Name, queue)
	if was == nil {
		return
	}
	tier := was.Tier != queue.Tier
	walltime := was.WalltimeDefault != queue.WalltimeDefault || was.WalltimeMax != queue.WalltimeMax
	if !tier && !walltime {
		return
	}
	s.rerank("ClusterQueue "+string(queue.Name), func(r *record) bool {
		local := s.localQueues.rows[r.workload.LocalQueue]
		return (tier || r.workload.Walltime == 0) && local != nil && slices.Contains(local.Queues, queue.Name)
	})
}

// dropQueue forgets a queue, with what is planned there: another of its name may
// come before the next plan.
func (s *State) dropQueue(name batch.QueueName) {
	s.queues.drop(name)
	s.rerank("ClusterQueue "+string(name), func(r *record) bool { return r.held != nil && r.held.Queue == name })
}

// observeLocalQueue takes in a local queue. Where it leads elsewhere, what waits
// in it ranks elsewhere.
func (s *State) observeLocalQueue(q batch.LocalQueue) {
	was := s.localQueues.rows[q.Name]
	s.localQueues.set(q.Name, q)
	if was != nil && !slices.Equal(was.Queues, q.Queues) {
		s.rerank("LocalQueue "+string(q.Name), func(r *record) bool { return r.workload.LocalQueue == q.Name })
	}
}

// Workload returns the record of a workload as it stands with all decisions so
// far; false if there is none.
func (s *State) Workload(id batch.WorkloadID) (batch.Workload, bool) {
	r, ok := s.records[id]
	if !ok || r.workload == nil {
		return batch.Workload{}, false
	}
	return *r.workload, true
}

// Size is how many nodes, pods and workloads are remembered.
func (s *State) Size() int { return len(s.nodes) + len(s.pods) + len(s.records) }
