package v1alpha1

// Condition types of a QueuedWorkload. Exactly one of Pending, Admitted and
// Finished is True at a time.
const (
	// ConditionPending is True while the workload waits. Its reason is one of
	// the closed set of reasons (batch.Reason), its message says what was
	// asked, what was free, and what will end the wait. Written by pkg/apply.
	ConditionPending = "Pending"

	// ConditionAdmitted is True from the start until the last pod is gone.
	// Reason: Started, Backfilled, InPlaceOfOthers, or Requeued (False). Written by
	// pkg/apply.
	ConditionAdmitted = "Admitted"

	// ConditionPodsReady is True while as many pods are ready as the run
	// needs. Written by pkg/apply.
	ConditionPodsReady = "PodsReady"

	// ConditionEvicted is True from the decision to take an allocation back
	// until the workload starts again. Its reason is the cause, its message says
	// by whom and until when. Written by pkg/apply.
	ConditionEvicted = "Evicted"

	// ConditionFinished is True at the end, and stays. Its reason is the final
	// state: Completed, Failed, Timeout, Cancelled, Preempted. Written by
	// pkg/apply.
	ConditionFinished = "Finished"

	// ConditionActive, on a ClusterQueue or LocalQueue, says whether work sent
	// there can start now.
	ConditionActive = "Active"
)

// Reasons of ConditionAdmitted.
const (
	AdmittedStarted    = "Started"
	AdmittedBackfilled = "Backfilled"
	// AdmittedInPlaceOfOthers: others gave way to it. What waits for that has the
	// reason Preempting, and a word for both would say that it goes on.
	AdmittedInPlaceOfOthers = "InPlaceOfOthers"
	AdmittedRequeued        = "Requeued"
)
