package explain

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// Verdict says why a workload waits: what it asks for, what is free, where the
// limit is, and what will end the wait.
func Verdict(v batch.Verdict) string {
	text := reason(&v)
	if loose := Loose(v.Facts.Loose); loose != "" {
		text += "; " + loose
	}
	if until := v.Facts.SafeUntil; !until.IsZero() {
		text += "; work whose place it may take is exempt from that until " + Instant(until)
	}
	if v.MovedBy != "" {
		text += "; moved later by: " + v.MovedBy
	}
	return text
}

func reason(v *batch.Verdict) string {
	switch v.Reason {
	case batch.ReasonPriority:
		return priority(*v)
	case batch.ReasonResources:
		return resources(*v)
	case batch.ReasonTopology:
		return topology(*v)
	case batch.ReasonQuotaExceeded, batch.ReasonBorrowingLimit:
		return quotas(v)
	case batch.ReasonPreempting:
		return preempting(*v)
	case batch.ReasonNodesUnavailable:
		return away(v.Facts)
	case batch.ReasonNotPlanned:
		return notPlanned(v) // of most that wait, where very many do
	case batch.ReasonQueueStopped, batch.ReasonQueueNotFound, batch.ReasonAccessDenied:
		return shut(v.Reason, v.Facts)
	case batch.ReasonHeld, batch.ReasonRequeued, batch.ReasonBeginTime, batch.ReasonDependency, batch.ReasonArrayLimit:
		return notYet(v.Reason, v.Facts)
	case batch.ReasonNeverFits, batch.ReasonWalltimeLimit, batch.ReasonInvalidSpec,
		batch.ReasonDependencyNeverSatisfied, batch.ReasonDeadlineMissed:
		return never(v.Reason, v.Facts)
	}
	return string(v.Reason)
}

// away says which nodes would do if they were there.
func away(f batch.Facts) string {
	return fmt.Sprintf("asks %s; %s%s would do but %s; it starts by itself once %s",
		asked(f.Asked, f.Resource), count(f.NotReady+f.Tainted, "node"), where(f), unavailable(f), returned(f))
}

// notPlanned says where one is in the order whose start is not planned.
func notPlanned(v *batch.Verdict) string {
	f := &v.Facts
	return "asks " + asked(f.Asked, f.Resource) + "; place " + strconv.Itoa(v.Position) + " in the order, and " + planned(f) + "; it starts by itself " + unplanned(f)
}

// planned says of how many the starts are planned.
func planned(f *batch.Facts) string {
	switch f.Bound {
	case "mode":
		return fmt.Sprintf("only the first that waits in ClusterQueue %s is planned (backfill.mode: EASY)", f.Queue)
	case "perUser":
		return fmt.Sprintf("only the first%s (backfill.perUser)", are(f.Limit, " of a user", "planned"))
	case "perQueue":
		return fmt.Sprintf("only the first%s (backfill.perQueue)", are(f.Limit, " of ClusterQueue "+string(f.Queue), "planned"))
	}
	return "only the first" + are(f.Limit, "", "planned")
}

// are says " of a user is planned", or " 3 of a user are planned".
func are(n batch.Amount, of, what string) string {
	if n == 1 {
		return of + " is " + what
	}
	return " " + strconv.FormatInt(int64(n), 10) + of + " are " + what
}

// unplanned says when that starts whose start is not planned.
func unplanned(f *batch.Facts) string {
	if f.InTurn {
		return inTurn(*f)
	}
	return "when it fits or is nearer the top"
}

// inTurn says when that starts which may not overtake.
func inTurn(f batch.Facts) string {
	return fmt.Sprintf("after those that wait before it in ClusterQueue %s (backfill.mode: Strict)", f.Queue)
}

// returned says what must have happened where nodes are away.
func returned(f batch.Facts) string {
	text := "they return"
	if f.NotReady+f.Tainted == 1 {
		text = "that one returns"
	}
	if f.InTurn {
		return text + ", " + inTurn(f)
	}
	return text
}

// shut says what only an admin can change.
func shut(reason batch.Reason, f batch.Facts) string {
	switch reason {
	case batch.ReasonQueueStopped:
		return stopped(f)
	case batch.ReasonQueueNotFound:
		return missing(f)
	default:
		return denied(f)
	}
}

// Refused says that a queue does not take a namespace's work, and whose it does.
func Refused(namespace string, queue batch.QueueName, selector string) string {
	if selector == "" {
		return fmt.Sprintf("namespace %s may not use ClusterQueue %s", namespace, queue)
	}
	return fmt.Sprintf("namespace %s may not use ClusterQueue %s, which takes namespaces with the labels %s (access.namespaceSelector)",
		namespace, queue, selector)
}

// notYet says what the workload's own state keeps it from.
func notYet(reason batch.Reason, f batch.Facts) string {
	switch reason {
	case batch.ReasonRequeued:
		if f.Text == "" {
			return fmt.Sprintf("its last run was taken back; its start is tried again at %s", Instant(f.Until))
		}
		return fmt.Sprintf("its last run was taken back; its start is tried again at %s; why: %s", Instant(f.Until), f.Text)
	case batch.ReasonBeginTime:
		return fmt.Sprintf("may not begin before %s; it starts by itself from then on", Instant(f.Until))
	case batch.ReasonDependency:
		return fmt.Sprintf("waits for %s; it starts by itself once that has happened", f.Text)
	case batch.ReasonArrayLimit:
		return fmt.Sprintf("at most %s of array %s may run at a time, and others come before it; it starts by itself when one has ended",
			count(int(f.Limit), "member"), f.Text)
	default:
		return held(f)
	}
}

// never says what an edit alone can change.
func never(reason batch.Reason, f batch.Facts) string {
	switch reason {
	case batch.ReasonWalltimeLimit:
		return fmt.Sprintf("asks for a walltime of %s; ClusterQueue %s allows %s at most; it never starts unless one of them is changed",
			batch.FormatWalltime(f.Walltime), f.Queue, batch.FormatWalltime(f.WalltimeMax))
	case batch.ReasonInvalidSpec:
		return f.Text + "; it never starts unless that is changed"
	case batch.ReasonDependencyNeverSatisfied:
		return f.Text + "; it never starts unless the dependency is changed"
	case batch.ReasonDeadlineMissed:
		return missed(f)
	default:
		return neverFits(f)
	}
}

// preempting says who gives way to a workload, and until when.
func preempting(v batch.Verdict) string {
	f := v.Facts
	ask := asked(f.Asked, f.Resource)
	if f.Ahead == 0 {
		return fmt.Sprintf("asks %s; its place is kept for it until all of it is free; %s", ask, when(v))
	}
	return fmt.Sprintf("asks %s; %s to it, told to end by %s: %s%s; their place is kept for it as it becomes free; %s",
		ask, gives(f.Ahead), Instant(f.Until), f.First, lost(f), when(v))
}

// lost says how much work those lose that give way.
func lost(f batch.Facts) string {
	if f.Resource == "" {
		return ""
	}
	unit := batch.Amount(1)
	if f.Resource == batch.ResourceCPU {
		unit = 1000
	}
	if f.Lost/unit == 0 {
		return " (they lose no work)"
	}
	long := time.Duration(f.Lost/unit) * time.Second
	return fmt.Sprintf(" (what they have not saved is lost: %s of %s time)", batch.FormatDuration(long), f.Resource)
}

func gives(n int) string {
	if n == 1 {
		return "1 workload gives way"
	}
	return fmt.Sprintf("%d workloads give way", n)
}

// missed says by when it had to start.
func missed(f batch.Facts) string {
	const never = "it never starts unless its author gives it "
	if f.Walltime == 0 {
		return fmt.Sprintf("must have ended by %s, and that time has passed; %sa later end-before", Instant(f.Until), never)
	}
	return fmt.Sprintf("must have ended by %s and asks for %s at least, so it had to start by %s; %sa later end-before, or a shorter walltime or time-min",
		Instant(f.Until), batch.FormatWalltime(f.Walltime), Instant(f.Until.Add(-time.Duration(f.Walltime))), never)
}

func priority(v batch.Verdict) string {
	return "asks " + asked(v.Facts.Asked, v.Facts.Resource) + "; would fit now, but " + ahead(v.Facts) + "; " + when(v)
}

func ahead(f batch.Facts) string {
	at := ""
	if !f.FirstAt.IsZero() {
		at = " for " + Instant(f.FirstAt)
	}
	if f.Bound == "Strict" {
		return fmt.Sprintf("nothing overtakes in ClusterQueue %s (backfill.mode: Strict) and %s waits before it", f.Queue, f.First)
	}
	on := "on these nodes"
	if f.Bound == "quota" {
		on = "with this quota"
	}
	switch f.Ahead {
	case 0:
		return "its nodes are kept for planned starts"
	case 1:
		return "higher-ranked " + f.First + " is planned " + on + at
	}
	return fmt.Sprintf("%d higher-ranked workloads are planned %s, first %s%s", f.Ahead, on, f.First, at)
}

func resources(v batch.Verdict) string {
	f := v.Facts
	return "asks " + asked(f.Asked, f.Resource) + aside(f) + "; " + free(f) + room(f) + "; " + when(v)
}

func topology(v batch.Verdict) string {
	f := v.Facts
	why := "but not on single nodes as its pods need it"
	switch {
	case f.Level != "":
		why = "but not in one " + f.Level
	case f.Bound == "exclusive":
		why = "but not on nodes that it would have for itself"
	}
	return fmt.Sprintf("asks %s%s; %s, which is enough in total, %s%s; %s", asked(f.Asked, f.Resource), aside(f), free(f), why, room(f), when(v))
}

// free says how much is free now of all that there is.
func free(f batch.Facts) string {
	if f.Resource == "" {
		return "not enough is free" + where(f)
	}
	return Amount(f.Resource, f.Free) + " of " + Amount(f.Resource, f.Limit) + " " + noun(f.Resource) + " free" + where(f)
}

// aside says that whole nodes are asked for, or one domain.
func aside(f batch.Facts) string {
	text := ""
	if f.Bound == "exclusive" {
		text = " on whole nodes"
	}
	if f.Level != "" {
		text += " in one " + f.Level
	}
	return text
}

// room says for how many pods of a gang there is room.
func room(f batch.Facts) string {
	if n := pods(f.Asked); n > 1 {
		return fmt.Sprintf(", room for %d of %d pods now", f.FreeNow, n)
	}
	return ""
}

// when says when it will start, if that is known.
func when(v batch.Verdict) string {
	if v.PlannedStart.IsZero() && v.Facts.Window > 0 {
		return fmt.Sprintf("its planned start is more than %s away and not shown yet", batch.FormatDuration(v.Facts.Window))
	}
	if v.PlannedStart.IsZero() && !v.Facts.Until.IsZero() && v.Facts.Walltime == batch.Unlimited {
		return fmt.Sprintf("no start is planned for what has no walltime and must have ended by %s, it starts by itself when it can have all the time until then",
			Instant(v.Facts.Until))
	}
	if v.PlannedStart.IsZero() {
		return unknown(v.Facts)
	}
	return "starts at " + Instant(v.PlannedStart) + " at the latest"
}

// unknown says that no start is known, and what it waits for all the same.
func unknown(f batch.Facts) string {
	text, then := "no start is known", "when enough running work has ended"
	if !f.Until.IsZero() {
		text, then = text+" after which it could end by "+Instant(f.Until), then+" before"
	}
	switch {
	case f.Bound == "Strict":
		then = "after that one"
	case f.InTurn:
		then = inTurn(f)
	}
	return text + ", it starts by itself " + then
}

func where(f batch.Facts) string {
	if f.Flavor == "" {
		return ""
	}
	return " in " + string(f.Flavor)
}

func unavailable(f batch.Facts) string {
	switch {
	case f.Tainted == 0:
		return be(f.NotReady) + " not ready" + named(f.NotReadyNames)
	case f.NotReady == 0:
		return be(f.Tainted) + " cordoned or tainted" + named(f.TaintedNames)
	}
	return fmt.Sprintf("are unavailable (%d not ready%s; %d cordoned or tainted%s)", f.NotReady, named(f.NotReadyNames), f.Tainted, named(f.TaintedNames))
}

// named says which they are, where that is known.
func named(names string) string {
	if names == "" {
		return ""
	}
	return ": " + names
}

func be(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func held(f batch.Facts) string {
	switch f.Bound {
	case "LocalQueue":
		return fmt.Sprintf("LocalQueue %s holds its work; it starts by itself once the hold is lifted", f.Text)
	case "Array":
		return fmt.Sprintf("held by its author; none of its %s is made before; it starts by itself once the hold is lifted", count(int(f.Limit), "member"))
	case "Pods":
		return "paused: its owner asks for 0 pods; it starts by itself once it asks for some"
	}
	return "held by its author; it starts by itself once the hold is lifted"
}

func stopped(f batch.Facts) string {
	if f.Bound == "Circle" {
		return fmt.Sprintf("Cohort %s of ClusterQueue %s is above itself (%s); it starts by itself once an admin breaks the circle", f.Cohort, f.Queue, f.Text)
	}
	if f.Bound == string(batch.QueueTerminating) {
		return fmt.Sprintf("ClusterQueue %s is being deleted and starts nothing; it starts by itself once the queue is made again, or the work is sent to another", f.Queue)
	}
	text := fmt.Sprintf("ClusterQueue %s is set to %s", f.Queue, f.Bound)
	switch batch.QueueState(f.Bound) {
	case batch.QueueDrain:
		text += " and starts only what was queued before"
	case batch.QueueDown:
		text += " and starts nothing"
	case batch.QueueInactive:
		text += " and neither takes nor starts work"
	case batch.QueueUp, batch.QueueTerminating:
	}
	return text + "; it starts by itself once an admin sets the queue to Up"
}

func missing(f batch.Facts) string {
	if f.Bound == "ClusterQueue" {
		return fmt.Sprintf("ClusterQueue %s does not exist; it starts by itself once somebody makes it", f.Text)
	}
	namespace, name, _ := strings.Cut(f.Text, "/")
	return fmt.Sprintf("LocalQueue %s does not exist in namespace %s; it starts by itself once somebody makes it", name, namespace)
}

func neverFits(f batch.Facts) string {
	text := fmt.Sprintf("asks %s; ", asked(f.Asked, ""))
	if f.Bound == "pod" || f.Bound == "resource" {
		text = fmt.Sprintf("asks %s %s a pod; ", Amount(f.Resource, f.Need), f.Resource)
	}
	return text + neverWhy(f) + "; it never starts unless the workload, its queue or the nodes are changed"
}

func neverWhy(f batch.Facts) string {
	switch f.Bound {
	case "resource":
		return fmt.Sprintf("no node has %s", f.Resource)
	case "pod":
		return fmt.Sprintf("the largest node%s has %s", where(f), Amount(f.Resource, f.Limit))
	case "selector":
		return fmt.Sprintf("no node%s matches its node selector, affinity and tolerations", where(f))
	case "gang":
		return fmt.Sprintf("%s room for %d of %d such pods, even when empty%s", allNodes(f), f.Limit, f.Need, short(f))
	case "domain", "topology", "level", "domain labels", "domains":
		return noDomain(f)
	case "together":
		return "its pod sets do not fit beside each other, even on empty nodes"
	case "quota":
		return beyondQuota(f)
	case "flavors":
		return fmt.Sprintf("none of the flavors of ClusterQueue %s exists", f.Queue)
	case "size.maxNodes", "size.maxPods":
		return fmt.Sprintf("that is %d %s and ClusterQueue %s takes at most %d (%s)", f.Need, boundNoun(f), f.Queue, f.Limit, f.Bound)
	case "size.minNodes":
		return fmt.Sprintf("that is %d %s and ClusterQueue %s takes at least %d (%s)", f.Need, boundNoun(f), f.Queue, f.Limit, f.Bound)
	}
	return "it does not fit even on empty nodes"
}

// short names what runs out first, where it is not what was asked for anyway.
func short(f batch.Facts) string {
	if f.Resource == "" || f.Resource == batch.ResourceGPU {
		return ""
	}
	if f.Resource == batch.ResourcePods {
		return " (pod slots run out first)"
	}
	return " (" + string(f.Resource) + " runs out first)"
}

func allNodes(f batch.Facts) string {
	if f.FreeNodes == 1 {
		return "1 node" + where(f) + " has"
	}
	return fmt.Sprintf("all %d nodes%s together have", f.FreeNodes, where(f))
}

func boundNoun(f batch.Facts) string {
	noun := "node"
	if f.Bound == "size.maxPods" {
		noun = "pod"
	}
	if f.Need == 1 {
		return noun
	}
	return noun + "s"
}
