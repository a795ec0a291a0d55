package core_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
)

func whole(w *batch.Workload) { w.Exclusive = batch.ExclusiveWorkload }

func TestWholeNodesAreSharedWithNoManagedPod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.nodes(2, 8)
	w.step(batch.PodObserved{Pod: unmanaged("daemon", "n1", 1)})
	w.submit(job{name: "shared", gpu: 1, walltime: 30, edit: on("n1")})
	w.until(0)
	w.submit(job{name: "two", pods: 2, gpu: 4, walltime: 60, edit: whole}, job{name: "wide", pods: 3, gpu: 4, walltime: 60, edit: whole})
	w.until(0)
	if diff := cmp.Diff([]string{"n2", "n2"}, w.jobs["two"].hosts); diff != "" {
		t.Error(diff)
	}
	w.want("two=0", "wide~60")
	w.reason("wide", batch.ReasonResources)
	w.until(1)
	// n1 is shared now and wide's from 60 on; n2 is two's alone.
	w.submit(job{name: "short", gpu: 1, walltime: 60}, job{name: "long", gpu: 1, walltime: 61})
	w.until(1)
	w.want("short=-", "long~120")
	w.submit(job{name: "gap", gpu: 1, walltime: 59})
	w.until(1)
	w.want("gap=1", "short~120")
	if diff := cmp.Diff([]string{"n1"}, w.jobs["gap"].hosts); diff != "" {
		t.Error(diff)
	}
	w.until(60)
	w.want("wide=60")
	w.until(130)
	w.want("short=120", "long=120")
}

func TestWholeNodesOfAQueueHoldOverARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("alone", func(q *batch.Queue) { q.Exclusive = batch.ExclusiveWorkload })
	w.nodes(2, 8)
	w.submit(job{name: "a", queue: "alone", gpu: 1, walltime: 60}, job{name: "b", queue: "alone", gpu: 1, walltime: 30})
	w.until(0)
	w.submit(job{name: "c", gpu: 1, walltime: 10}, job{name: "d", queue: "alone", gpu: 1, walltime: 10})
	w.until(0)
	w.want("a=0", "b=0", "c~30", "d~40")
	w.reason("c", batch.ReasonResources, "0 of")
	w.restart(w.events)
	w.settle()
	w.want("c~30", "d~40")
	w.until(100)
	w.want("c=30", "d=40")
}

// At no time is a node that somebody has for himself given to anybody else.
func TestNobodySharesWholeNodes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.queue("alone", func(q *batch.Queue) { q.Exclusive = batch.ExclusiveWorkload })
		w.nodes(rapid.IntRange(1, 4).Draw(t, "nodes"), 8)
		w.step(batch.PodObserved{Pod: unmanaged("daemon", "n1", 0)})
		alone := map[string]bool{}
		w.look = func(plan batch.Plan) {
			checkGrants(w, plan)
			for host, all := range grants(w, plan) { //order:any each node by itself
				for _, a := range all {
					for _, b := range all {
						x, y := nameOf(batch.WorkloadID(a.who)), nameOf(batch.WorkloadID(b.who))
						if x != y && alone[x] && w.jobs[y] != nil && a.from.Before(b.till) && b.from.Before(a.till) {
							t.Fatalf("%s is shared by %s and %s: %+v", host, x, y, all)
						}
					}
				}
			}
		}
		minute := 0
		for i := range rapid.IntRange(1, 20).Draw(t, "steps") {
			if rapid.IntRange(0, 2).Draw(t, "step") == 0 {
				minute += rapid.IntRange(0, 12).Draw(t, "minutes")
				w.until(minute)
				continue
			}
			j := drawJob(t, i)
			j.walltime = max(j.walltime, 1)
			j.queue = rapid.SampledFrom([]string{"main", "main", "alone"}).Draw(t, "where")
			if alone[j.name] = j.queue == "alone"; !alone[j.name] && rapid.IntRange(0, 3).Draw(t, "whole") == 0 {
				alone[j.name] = true
				edit := j.edit
				j.edit = func(w *batch.Workload) {
					whole(w)
					if edit != nil {
						edit(w)
					}
				}
			}
			w.submit(j)
			w.until(minute)
		}
		w.until(minute + 900)
		for name := range alone { //order:any each by itself
			if w.jobs[name].starts == 0 && w.waits[name].Reason != batch.ReasonNeverFits {
				t.Fatalf("%s never started: %s", name, w.waits[name].Message)
			}
		}
	})
}

// What counts is what is asked for: it does not come and go with the nodes.
func TestSizeOfAQueueCountsTheNodesThatAreNeeded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("main", func(q *batch.Queue) { q.MaxNodes = 2 })
	w.nodes(2, 4)
	w.node("big", 8, func(n *batch.Node) { n.Ready = false })
	w.submit(job{name: "twelve", pods: 12, gpu: 1, walltime: 5}, job{name: "eight", pods: 8, gpu: 1, walltime: 5})
	w.until(0)
	w.want("twelve=-", "eight=0")
	w.reason("twelve", batch.ReasonNodesUnavailable) // 8 + 4 are two nodes
	w.submit(job{name: "thirteen", pods: 13, gpu: 1, walltime: 5})
	w.until(1)
	w.reason("thirteen", batch.ReasonNeverFits, "that is 3 nodes", "at most 2 (size.maxNodes)")
	w.node("big", 8, nil)
	w.until(5)
	w.want("twelve=5")
}
