package batch_test

import (
	"testing"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// TestBasisNamesWhatWasEdited: one answer, and what of it was edited when somebody
// looks again.
func TestBasisNamesWhatWasEdited(t *testing.T) {
	t.Parallel()
	type world struct {
		w      batch.Workload
		shape  string
		door   *batch.LocalQueue
		queues map[batch.QueueName]*batch.Queue
	}
	fresh := func() *world {
		return &world{
			w:     batch.Workload{LocalQueue: "team/both", Priority: 3, QueuedAt: time.Unix(1000, 0)},
			shape: "1-1/0[nvidia.com/gpu=8,]",
			door:  &batch.LocalQueue{Name: "team/both", Queues: []batch.QueueName{"short", "long"}},
			queues: map[batch.QueueName]*batch.Queue{
				"short": {Name: "short", Tier: 10, WalltimeDefault: batch.Walltime(time.Hour)}, "long": {Name: "long", Tier: 1},
			},
		}
	}
	basis := func(is *world) batch.Basis { return batch.AskedBy(&is.w, is.shape).Basis(is.door, is.queues) }
	for name, is := range map[string]struct {
		edit   func(*world)
		what   string
		edited bool
	}{
		"nothing":                    {func(*world) {}, "", false},
		"its name":                   {func(is *world) { is.w.Name = "b" }, "", false},
		"its priority":               {func(is *world) { is.w.Priority = 4 }, "", true},
		"its walltime":               {func(is *world) { is.w.Walltime = batch.Walltime(time.Minute) }, "", true},
		"its shortest limit":         {func(is *world) { is.w.TimeMin = batch.Walltime(time.Minute) }, "", true},
		"its latest end":             {func(is *world) { is.w.EndBefore = time.Unix(9000, 0) }, "", true},
		"its pods":                   {func(is *world) { is.shape = "2-2/0[nvidia.com/gpu=8,]" }, "", true},
		"its local queue":            {func(is *world) { is.w.LocalQueue = "team/other" }, "", true},
		"where its queue leads":      {func(is *world) { is.door.Queues = []batch.QueueName{"long", "short"} }, "LocalQueue team/both", true},
		"that its queue is gone":     {func(is *world) { is.door = nil }, "", false},
		"a tier":                     {func(is *world) { is.queues["long"].Tier = 2 }, "ClusterQueue long", true},
		"a default of the walltime":  {func(is *world) { is.queues["short"].WalltimeDefault = 0 }, "ClusterQueue short", true},
		"that a queue of it is gone": {func(is *world) { delete(is.queues, "long") }, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := fresh(), fresh()
			is.edit(after)
			for _, order := range [][2]batch.Basis{{basis(before), basis(after)}, {basis(after), basis(before)}} {
				if what, edited := order[0].EditedTo(order[1], "team/both"); what != is.what || edited != is.edited {
					t.Errorf("%q, then %q: edited %v by %q, want %v by %q", order[0], order[1], edited, what, is.edited, is.what)
				}
			}
		})
	}
}

// TestBasisThatIsNotKnownBinds: what an older Berth has written, or a newer one, says
// nothing of an edit.
func TestBasisThatIsNotKnownBinds(t *testing.T) {
	t.Parallel()
	now := batch.AskedBy(&batch.Workload{}, "").Basis(nil, nil)
	for _, was := range []batch.Basis{"", "1 12ab q=3", "nonsense"} {
		if what, edited := was.EditedTo(now, "q"); edited {
			t.Errorf("%q: edited by %q", was, what)
		}
	}
}

// TestBasisOfAQueuesWalltimeCountsWhereItIsUsed: who declares a walltime does not mind
// the queue's.
func TestBasisOfAQueuesWalltimeCountsWhereItIsUsed(t *testing.T) {
	t.Parallel()
	asked := batch.AskedBy(&batch.Workload{Walltime: batch.Walltime(time.Hour)}, "")
	door := &batch.LocalQueue{Queues: []batch.QueueName{"q"}}
	before := asked.Basis(door, map[batch.QueueName]*batch.Queue{"q": {Tier: 1, WalltimeMax: batch.Walltime(time.Hour)}})
	after := asked.Basis(door, map[batch.QueueName]*batch.Queue{"q": {Tier: 1}})
	if what, edited := before.EditedTo(after, "q"); edited {
		t.Errorf("edited by %q, although it has a walltime of its own", what)
	}
}
