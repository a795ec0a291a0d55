package explain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/explain"
)

func TestVerdictsInWords(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 2, 14, 20, 0, 0, time.UTC)
	gang := []batch.Ask{{Pods: 4, Requests: batch.Resources{batch.ResourceGPU: 8, batch.ResourceCPU: 64_000, batch.ResourcePods: 1}}}
	single := []batch.Ask{{Pods: 1, Requests: batch.Resources{batch.ResourceCPU: 1500, "memory": 3 << 30, batch.ResourcePods: 1}}}
	tests := []struct {
		name    string
		verdict batch.Verdict
		want    string
	}{
		{
			"a gang that waits for running work",
			batch.Verdict{Reason: batch.ReasonResources, PlannedStart: start, Facts: batch.Facts{
				Asked: gang, Flavor: "h100", FreeNow: 3, Resource: batch.ResourceGPU, Need: 32, Free: 25, Limit: 128,
			}},
			"asks 4 × 8 nvidia.com/gpu; 25 of 128 nvidia.com/gpu free in h100, room for 3 of 4 pods now; starts at 2026-03-02T14:20:00Z at the latest",
		},
		{
			"nobody knows when",
			batch.Verdict{Reason: batch.ReasonResources, Facts: batch.Facts{Asked: single, Resource: "memory", Need: 3 << 30, Free: 1 << 20, Limit: 64 << 30}},
			"asks 1 × 3Gi memory; 1Mi of 64Gi memory free; no start is known, it starts by itself when enough running work has ended",
		},
		{
			"tomorrow, and why later than promised",
			batch.Verdict{Reason: batch.ReasonResources, PlannedStart: start.Add(24*time.Hour + 5*time.Second), MovedBy: "overrun of ns/a", Facts: batch.Facts{
				Asked: single, Resource: batch.ResourcePods, Need: 1, Limit: 110,
			}},
			"asks 1 × (1500m cpu, 3Gi memory); 0 of 110 pod slots free; starts at 2026-03-03T14:20:05Z at the latest; moved later by: overrun of ns/a",
		},
		{
			"behind others",
			batch.Verdict{Reason: batch.ReasonPriority, PlannedStart: start, Facts: batch.Facts{Asked: gang, Ahead: 3, First: "ns/a", FirstAt: start.Add(-time.Hour)}},
			"asks 4 × 8 nvidia.com/gpu; would fit now, but 3 higher-ranked workloads are planned on these nodes, first ns/a for 2026-03-02T13:20:00Z; starts at 2026-03-02T14:20:00Z at the latest",
		},
		{
			"behind another with the same quota",
			batch.Verdict{Reason: batch.ReasonPriority, PlannedStart: start, Facts: batch.Facts{Asked: gang, Ahead: 1, First: "ns/a", FirstAt: start, Bound: "quota"}},
			"asks 4 × 8 nvidia.com/gpu; would fit now, but higher-ranked ns/a is planned with this quota for 2026-03-02T14:20:00Z; starts at 2026-03-02T14:20:00Z at the latest",
		},
		{
			"more than the queue's own quota",
			batch.Verdict{Reason: batch.ReasonQuotaExceeded, PlannedStart: start, Facts: batch.Facts{
				Asked: gang, Queue: "a", Flavor: "h100", Resource: batch.ResourceGPU, Need: 32, Used: 8, Limit: 4,
			}},
			"asks 4 × 8 nvidia.com/gpu; ClusterQueue a uses 8 of 4 nvidia.com/gpu of its quota in h100: 0 left, 32 asked; starts at 2026-03-02T14:20:00Z at the latest",
		},
		{
			"what its cohort has left",
			batch.Verdict{Reason: batch.ReasonQuotaExceeded, PlannedStart: start, Facts: batch.Facts{
				Asked: single, Queue: "a", Flavor: "cpu", Resource: batch.ResourceCPU, Need: 1500, Free: 500, Used: 1000, Limit: 4000, Lent: 3000, Cohort: "all",
			}},
			"asks 1 × 1500m cpu; ClusterQueue a uses 1 of 4 cpu of its quota in cpu, and has lent 3; with all that Cohort all can lend: 500m left, 1500m asked; starts at 2026-03-02T14:20:00Z at the latest",
		},
		{
			"a borrowing limit",
			batch.Verdict{Reason: batch.ReasonBorrowingLimit, Facts: batch.Facts{
				Asked: gang, Queue: "a", Flavor: "h100", Resource: batch.ResourceGPU, Need: 32, Free: 16, Used: 48, Limit: 64,
			}},
			"asks 4 × 8 nvidia.com/gpu; ClusterQueue a uses 48 of 64 nvidia.com/gpu in h100 with all that it may borrow (borrowingLimit): 16 left, 32 asked; no start is known, it starts by itself when enough running work has ended",
		},
		{
			"a borrowing limit of a cohort",
			batch.Verdict{Reason: batch.ReasonBorrowingLimit, PlannedStart: start, Facts: batch.Facts{
				Asked: gang, Queue: "a", Flavor: "h100", Resource: batch.ResourceGPU, Need: 32, Used: 48, Limit: 64, Cohort: "team",
			}},
			"asks 4 × 8 nvidia.com/gpu; Cohort team may have 64 nvidia.com/gpu at most in h100 with all that it may borrow (borrowingLimit): 0 left, 32 asked; starts at 2026-03-02T14:20:00Z at the latest",
		},
		{
			"more than the quota could ever be",
			batch.Verdict{Reason: batch.ReasonNeverFits, Facts: batch.Facts{
				Asked: gang, Queue: "a", Flavor: "h100", Resource: batch.ResourceGPU, Need: 32, Limit: 24, Bound: "quota",
			}},
			"asks 4 × 8 nvidia.com/gpu; that is 32 nvidia.com/gpu, and ClusterQueue a could have 24 at most in h100 by its quota; it never starts unless the workload, its queue or the nodes are changed",
		},
		{
			"an account that is missing",
			batch.Verdict{Reason: batch.ReasonAccessDenied, Facts: batch.Facts{Bound: string(batch.TurnedMissing), Account: "lab", User: "ann"}},
			"Account lab does not exist; it starts by itself once an admin makes it, or its author names another in berth.dev/account",
		},
		{
			"a circle of accounts",
			batch.Verdict{Reason: batch.ReasonAccessDenied, Facts: batch.Facts{Bound: string(batch.TurnedCircle), Account: "a", Text: "a below b below a"}},
			"the accounts above Account a form a circle (a below b below a); it starts by itself once an admin gives one of them another spec.parentName",
		},
		{
			"who is no user of the account",
			batch.Verdict{Reason: batch.ReasonAccessDenied, Facts: batch.Facts{Bound: string(batch.TurnedUser), Account: "lab", User: "ann"}},
			"user ann is no user of Account lab (spec.users); it starts by itself once an admin adds the user, or its author names another account in berth.dev/account",
		},
		{
			"whose submitter is not known",
			batch.Verdict{Reason: batch.ReasonAccessDenied, Facts: batch.Facts{Bound: string(batch.TurnedUser), Account: "lab"}},
			"its submitter, who is not known, is no user of Account lab (spec.users); it starts by itself once an admin adds the user, or its author names another account in berth.dev/account",
		},
		{
			"an account that is kept out",
			batch.Verdict{Reason: batch.ReasonAccessDenied, Facts: batch.Facts{Bound: string(batch.TurnedDenied), Queue: "q", Account: "lab", Text: "lab"}},
			"ClusterQueue q keeps Account lab out (access.denyAccounts); it starts by itself once an admin lets the account in, or its author names another in berth.dev/account",
		},
		{
			"an account below one that is kept out",
			batch.Verdict{Reason: batch.ReasonAccessDenied, Facts: batch.Facts{Bound: string(batch.TurnedDenied), Queue: "q", Account: "group", Text: "lab"}},
			"ClusterQueue q keeps Account group out, which is below lab (access.denyAccounts); it starts by itself once an admin lets the account in, or its author names another in berth.dev/account",
		},
		{
			"an account that is not let in",
			batch.Verdict{Reason: batch.ReasonAccessDenied, Facts: batch.Facts{Bound: string(batch.TurnedOther), Queue: "q", Account: "guests", Text: "lab, office"}},
			"ClusterQueue q lets in Accounts lab, office and those below them (access.allowAccounts), and not guests; it starts by itself once an admin lets the account in, or its author names another in berth.dev/account",
		},
		{
			"no account where one is asked for",
			batch.Verdict{Reason: batch.ReasonAccessDenied, Facts: batch.Facts{Bound: string(batch.TurnedNone), Queue: "q", Text: "lab"}},
			"ClusterQueue q lets in Account lab and those below it (access.allowAccounts), and no account is named; it starts by itself once its author names one in berth.dev/account",
		},
		{
			"a circle of cohorts",
			batch.Verdict{Reason: batch.ReasonQueueStopped, Facts: batch.Facts{Queue: "a", Bound: "Circle", Cohort: "c", Text: "b → c → b"}},
			"Cohort c of ClusterQueue a is above itself (b → c → b); it starts by itself once an admin breaks the circle",
		},
		{
			"a queue that is being deleted",
			batch.Verdict{Reason: batch.ReasonQueueStopped, Facts: batch.Facts{Queue: "a", Bound: "Terminating"}},
			"ClusterQueue a is being deleted and starts nothing; it starts by itself once the queue is made again, or the work is sent to another",
		},
		{
			"scattered",
			batch.Verdict{Reason: batch.ReasonTopology, PlannedStart: start, Facts: batch.Facts{
				Asked: gang, FreeNow: 1, Resource: batch.ResourceGPU, Free: 40, Limit: 64,
			}},
			"asks 4 × 8 nvidia.com/gpu; 40 of 64 nvidia.com/gpu free, which is enough in total, but not on single nodes as its pods need it, room for 1 of 4 pods now; starts at 2026-03-02T14:20:00Z at the latest",
		},
		{
			"not in one rack",
			batch.Verdict{Reason: batch.ReasonTopology, PlannedStart: start, Facts: batch.Facts{
				Asked: gang, FreeNow: 2, Resource: batch.ResourceGPU, Free: 40, Limit: 64, Level: "rack", Flavor: "h100",
			}},
			"asks 4 × 8 nvidia.com/gpu in one rack; 40 of 64 nvidia.com/gpu free in h100, which is enough in total, but not in one rack, room for 2 of 4 pods now; starts at 2026-03-02T14:20:00Z at the latest",
		},
		{
			"more than a rack has",
			batch.Verdict{Reason: batch.ReasonNeverFits, Facts: batch.Facts{Asked: gang, Bound: "domain", Level: "rack", Text: "b1/r2", Flavor: "h100", Need: 4, Limit: 3}},
			"asks 4 × 8 nvidia.com/gpu; all in one rack (berth.dev/topology), and even when empty b1/r2 in h100, which holds most of them, has room for 3 of 4 such pods; it never starts unless the workload, its queue or the nodes are changed",
		},
		{
			"more racks than are tried",
			batch.Verdict{Reason: batch.ReasonNeverFits, Facts: batch.Facts{Asked: gang, Bound: "domains", Level: "rack", Text: "room", Limit: 1000}},
			"asks 4 × 8 nvidia.com/gpu; all in one rack (berth.dev/topology), and Topology room has more than 1000 of them, which are not looked through; it never starts unless the workload, its queue or the nodes are changed",
		},
		{
			"whole nodes",
			batch.Verdict{Reason: batch.ReasonTopology, PlannedStart: start, Facts: batch.Facts{
				Asked: gang, FreeNow: 3, Resource: batch.ResourceGPU, Free: 40, Limit: 64, Bound: "exclusive",
			}},
			"asks 4 × 8 nvidia.com/gpu on whole nodes; 40 of 64 nvidia.com/gpu free, which is enough in total, but not on nodes that it would have for itself, room for 3 of 4 pods now; starts at 2026-03-02T14:20:00Z at the latest",
		},
		{
			"elastic, with an end in sight",
			batch.Verdict{Reason: batch.ReasonResources, Facts: batch.Facts{
				Asked: []batch.Ask{{Pods: 8, Least: 2, Requests: gang[0].Requests}}, FreeNow: 1, Resource: batch.ResourceGPU, Free: 8, Limit: 64, Until: start,
			}},
			"asks 2 to 8 × 8 nvidia.com/gpu; 8 of 64 nvidia.com/gpu free, room for 1 of 2 pods now; no start is known after which it could end by 2026-03-02T14:20:00Z, it starts by itself when enough running work has ended before",
		},
		{
			"in its turn",
			batch.Verdict{Reason: batch.ReasonPriority, PlannedStart: start, Facts: batch.Facts{Asked: gang, Queue: "main", Bound: "Strict", First: "ns/a"}},
			"asks 4 × 8 nvidia.com/gpu; would fit now, but nothing overtakes in ClusterQueue main (backfill.mode: Strict) and ns/a waits before it; starts at 2026-03-02T14:20:00Z at the latest",
		},
		{
			"too far ahead",
			batch.Verdict{Reason: batch.ReasonPriority, Facts: batch.Facts{Asked: gang, Ahead: 1, First: "ns/a", Window: 30 * 24 * time.Hour}},
			"asks 4 × 8 nvidia.com/gpu; would fit now, but higher-ranked ns/a is planned on these nodes; its planned start is more than 30d away and not shown yet",
		},
		{
			"too many of a user",
			batch.Verdict{Reason: batch.ReasonNotPlanned, Position: 12, Facts: batch.Facts{Asked: gang, Limit: 10, Bound: "perUser"}},
			"asks 4 × 8 nvidia.com/gpu; place 12 in the order, and only the first 10 of a user are planned (backfill.perUser); it starts by itself when it fits or is nearer the top",
		},
		{
			"one of a user, and in its turn",
			batch.Verdict{Reason: batch.ReasonNotPlanned, Position: 2, Facts: batch.Facts{Asked: gang, Bound: "perUser", Limit: 1, Queue: "main", InTurn: true}},
			"asks 4 × 8 nvidia.com/gpu; place 2 in the order, and only the first of a user is planned (backfill.perUser); it starts by itself after those that wait before it in ClusterQueue main (backfill.mode: Strict)",
		},
		{
			"a node is away, and it is not its turn",
			batch.Verdict{Reason: batch.ReasonNodesUnavailable, Facts: batch.Facts{Asked: gang, NotReady: 1, Queue: "main", InTurn: true}},
			"asks 4 × 8 nvidia.com/gpu; 1 node would do but is not ready; it starts by itself once that one returns, after those that wait before it in ClusterQueue main (backfill.mode: Strict)",
		},
		{
			"not its turn, and by a time",
			batch.Verdict{Reason: batch.ReasonResources, Facts: batch.Facts{Asked: gang, Resource: batch.ResourceGPU, Need: 32, Limit: 64, Queue: "main", Until: start, InTurn: true}},
			"asks 4 × 8 nvidia.com/gpu; 0 of 64 nvidia.com/gpu free, room for 0 of 4 pods now; no start is known after which it could end by 2026-03-02T14:20:00Z, it starts by itself after those that wait before it in ClusterQueue main (backfill.mode: Strict)",
		},
		{
			"the throttle of an array",
			batch.Verdict{Reason: batch.ReasonArrayLimit, Facts: batch.Facts{Limit: 2, Text: "sweep"}},
			"at most 2 members of array sweep may run at a time, and others come before it; it starts by itself when one has ended",
		},
		{
			"nodes that are away",
			batch.Verdict{Reason: batch.ReasonNodesUnavailable, Facts: batch.Facts{Asked: gang, NotReady: 1, NotReadyNames: "n7", Tainted: 2, TaintedNames: "n2, n4"}},
			"asks 4 × 8 nvidia.com/gpu; 3 nodes would do but are unavailable (1 not ready: n7; 2 cordoned or tainted: n2, n4); it starts by itself once they return",
		},
		{
			"too deep",
			batch.Verdict{Reason: batch.ReasonNotPlanned, Position: 1204, Facts: batch.Facts{Asked: gang, Limit: 1000}},
			"asks 4 × 8 nvidia.com/gpu; place 1204 in the order, and only the first 1000 are planned; it starts by itself when it fits or is nearer the top",
		},
		{
			"others give way",
			batch.Verdict{Reason: batch.ReasonPreempting, PlannedStart: start, Facts: batch.Facts{
				Asked: gang, Ahead: 2, First: "ns/a, ns/b", Until: start, Resource: batch.ResourceGPU, Lost: 8 * 5400,
			}},
			"asks 4 × 8 nvidia.com/gpu; 2 workloads give way to it, told to end by 2026-03-02T14:20:00Z: ns/a, ns/b (what they have not saved is lost: 12h of nvidia.com/gpu time); their place is kept for it as it becomes free; starts at 2026-03-02T14:20:00Z at the latest",
		},
		{
			"the others are gone, and a node is not free yet",
			batch.Verdict{Reason: batch.ReasonPreempting, PlannedStart: start, Facts: batch.Facts{Asked: gang}},
			"asks 4 × 8 nvidia.com/gpu; its place is kept for it until all of it is free; starts at 2026-03-02T14:20:00Z at the latest",
		},
		{"held", batch.Verdict{Reason: batch.ReasonHeld}, "held by its author; it starts by itself once the hold is lifted"},
		{"paused", batch.Verdict{Reason: batch.ReasonHeld, Facts: batch.Facts{Bound: "Pods"}}, "paused: its owner asks for 0 pods; it starts by itself once it asks for some"},
		{"held by the door", batch.Verdict{Reason: batch.ReasonHeld, Facts: batch.Facts{Bound: "LocalQueue", Text: "ns/main"}}, "LocalQueue ns/main holds its work; it starts by itself once the hold is lifted"},
		{"tried again", batch.Verdict{Reason: batch.ReasonRequeued, Facts: batch.Facts{Until: start}}, "its last run was taken back; its start is tried again at 2026-03-02T14:20:00Z"},
		{
			"tried again after a refusal",
			batch.Verdict{Reason: batch.ReasonRequeued, Facts: batch.Facts{Until: start, Text: "release pod a-0: denied by policy x"}},
			"its last run was taken back; its start is tried again at 2026-03-02T14:20:00Z; why: release pod a-0: denied by policy x",
		},
		{
			"a queue that drains",
			batch.Verdict{Reason: batch.ReasonQueueStopped, Facts: batch.Facts{Queue: "main", Bound: "Drain"}},
			"ClusterQueue main is set to Drain and starts only what was queued before; it starts by itself once an admin sets the queue to Up",
		},
		{
			"no such queue",
			batch.Verdict{Reason: batch.ReasonQueueNotFound, Facts: batch.Facts{Bound: "LocalQueue", Text: "ns/x"}},
			"LocalQueue x does not exist in namespace ns; it starts by itself once somebody makes it",
		},
		{
			"a door to nowhere",
			batch.Verdict{Reason: batch.ReasonQueueNotFound, Facts: batch.Facts{Bound: "ClusterQueue", Text: "x"}},
			"ClusterQueue x does not exist; it starts by itself once somebody makes it",
		},
		{
			"not let in",
			batch.Verdict{Reason: batch.ReasonAccessDenied, Facts: batch.Facts{Queue: "main", Text: "ns", Selector: "team in (a,b)"}},
			"namespace ns may not use ClusterQueue main, which takes namespaces with the labels team in (a,b) (access.namespaceSelector); it starts by itself once an admin lets the namespace in",
		},
		{
			"a pod larger than any node",
			batch.Verdict{Reason: batch.ReasonNeverFits, Facts: batch.Facts{Asked: gang, Bound: "pod", Resource: batch.ResourceGPU, Need: 3, Limit: 2}},
			"asks 3 nvidia.com/gpu a pod; the largest node has 2; it never starts unless the workload, its queue or the nodes are changed",
		},
		{
			"a gang larger than all nodes",
			batch.Verdict{Reason: batch.ReasonNeverFits, Facts: batch.Facts{Asked: gang, Bound: "gang", Need: 4, Limit: 2, FreeNodes: 1}},
			"asks 4 × 8 nvidia.com/gpu; 1 node has room for 2 of 4 such pods, even when empty; it never starts unless the workload, its queue or the nodes are changed",
		},
		{
			"outside the queue's size",
			batch.Verdict{Reason: batch.ReasonNeverFits, Facts: batch.Facts{Asked: gang, Queue: "main", Bound: "size.maxNodes", Need: 4, Limit: 2}},
			"asks 4 × 8 nvidia.com/gpu; that is 4 nodes and ClusterQueue main takes at most 2 (size.maxNodes); it never starts unless the workload, its queue or the nodes are changed",
		},
		{
			"too long",
			batch.Verdict{Reason: batch.ReasonWalltimeLimit, Facts: batch.Facts{Queue: "main", Walltime: batch.Unlimited, WalltimeMax: batch.Walltime(36 * time.Hour)}},
			"asks for a walltime of UNLIMITED; ClusterQueue main allows 1d12h at most; it never starts unless one of them is changed",
		},
		{"not before", batch.Verdict{Reason: batch.ReasonBeginTime, Facts: batch.Facts{Until: start}}, "may not begin before 2026-03-02T14:20:00Z; it starts by itself from then on"},
		{"too late", batch.Verdict{Reason: batch.ReasonDeadlineMissed, Facts: batch.Facts{Until: start}}, "must have ended by 2026-03-02T14:20:00Z, and that time has passed; it never starts unless its author gives it a later end-before"},
		{
			"too long to end in time",
			batch.Verdict{Reason: batch.ReasonDeadlineMissed, Facts: batch.Facts{Until: start, Walltime: batch.Walltime(3 * time.Hour)}},
			"must have ended by 2026-03-02T14:20:00Z and asks for 3h at least, so it had to start by 2026-03-02T11:20:00Z; it never starts unless its author gives it a later end-before, or a shorter walltime or time-min",
		},
		{
			"endless, and must have ended",
			batch.Verdict{Reason: batch.ReasonResources, Facts: batch.Facts{
				Asked: []batch.Ask{{Pods: 1, Requests: batch.Resources{batch.ResourceGPU: 8}}}, Resource: batch.ResourceGPU, Limit: 8,
				Until: start, Walltime: batch.Unlimited,
			}},
			"asks 1 × 8 nvidia.com/gpu; 0 of 8 nvidia.com/gpu free; no start is planned for what has no walltime and must have ended by 2026-03-02T14:20:00Z, it starts by itself when it can have all the time until then",
		},
		{
			"pods of which the slots run out",
			batch.Verdict{Reason: batch.ReasonNeverFits, Facts: batch.Facts{
				Asked: []batch.Ask{{Pods: 11, Requests: batch.Resources{batch.ResourcePods: 1}}}, Bound: "gang", Need: 11, Limit: 10, FreeNodes: 2, Resource: batch.ResourcePods,
			}},
			"asks 11 × 1 pod slot; all 2 nodes together have room for 10 of 11 such pods, even when empty (pod slots run out first); it never starts unless the workload, its queue or the nodes are changed",
		},
		{"wrong", batch.Verdict{Reason: batch.ReasonInvalidSpec, Facts: batch.Facts{Text: "spread is not supported"}}, "spread is not supported; it never starts unless that is changed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, explain.Verdict(tt.verdict)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryReasonHasWordsThatSayWhetherItCanStart(t *testing.T) {
	t.Parallel()
	for _, reason := range []batch.Reason{
		batch.ReasonPriority, batch.ReasonResources, batch.ReasonTopology, batch.ReasonPreempting, batch.ReasonNodesUnavailable, batch.ReasonHeld,
		batch.ReasonRequeued, batch.ReasonNotPlanned, batch.ReasonQueueStopped, batch.ReasonQueueNotFound,
		batch.ReasonAccessDenied, batch.ReasonNeverFits, batch.ReasonWalltimeLimit, batch.ReasonInvalidSpec,
		batch.ReasonBeginTime, batch.ReasonDependency, batch.ReasonArrayLimit, batch.ReasonDependencyNeverSatisfied, batch.ReasonDeadlineMissed,
	} {
		text := explain.Verdict(batch.Verdict{Reason: reason})
		if !strings.Contains(text, "start") {
			t.Errorf("%s does not say whether it can start: %s", reason, text)
		}
		if strings.Contains(text, "quota") {
			t.Errorf("%s speaks of quota: %s", reason, text)
		}
	}
}
