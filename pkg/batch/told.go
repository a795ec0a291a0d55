package batch

// OnlyTold says whether two records of a workload differ in nothing but what it
// was told: its verdict, and the start that it was promised. What does not lie in
// the same memory counts as different, so that it is told at a glance.
func (w *Workload) OnlyTold(other *Workload) bool {
	return w.asksAs(other) && w.standsAs(other)
}

// asksAs compares what was asked for, and by whom.
func (w *Workload) asksAs(other *Workload) bool {
	return w.ID == other.ID && w.UID == other.UID && w.Namespace == other.Namespace && w.Name == other.Name &&
		w.LocalQueue == other.LocalQueue && w.Priority == other.Priority && w.Submitter == other.Submitter &&
		w.Account == other.Account && w.QueuedAt == other.QueuedAt && w.Invalid == other.Invalid &&
		w.JobName == other.JobName && w.Array == other.Array && w.wishesAs(other)
}

// wishesAs compares what was asked for by itself.
func (w *Workload) wishesAs(other *Workload) bool {
	return w.Walltime == other.Walltime && w.TimeMin == other.TimeMin && w.Begin == other.Begin && w.EndBefore == other.EndBefore &&
		w.Held == other.Held && w.Exclusive == other.Exclusive && w.NoRequeue == other.NoRequeue &&
		w.Checkpoint == other.Checkpoint && one(w.PodSets, other.PodSets) && one(w.After, other.After)
}

// standsAs compares the decisions, but for what it was told.
func (w *Workload) standsAs(other *Workload) bool {
	return w.CheckpointedAt == other.CheckpointedAt && w.Restarts == other.Restarts && w.RequeueAfter == other.RequeueAfter &&
		w.Allocation == other.Allocation && w.Relimited == other.Relimited && w.Nomination == other.Nomination &&
		w.Eviction == other.Eviction && w.Notice == other.Notice && w.Finished == other.Finished &&
		w.PodsReady == other.PodsReady && w.ReadySince == other.ReadySince && w.HeldBy == other.HeldBy &&
		w.HeldSince == other.HeldSince && w.TakenBack == other.TakenBack && one(w.Outcomes, other.Outcomes)
}

// one says whether two slices lie in the same memory.
func one[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }
