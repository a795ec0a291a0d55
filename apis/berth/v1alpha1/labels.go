package v1alpha1

// InUseFinalizer keeps a ClusterQueue, while it is being deleted, until the last
// of its work is gone: so long its quota is charged, and its status says what is
// left. It is there only while something runs, and a minute longer.
const InUseFinalizer = "berth.dev/in-use"

// What a job author writes on a Job, or on a Pod without an owner.
const (
	// QueueLabel names the LocalQueue (same namespace) that the Job or Pod
	// goes through. It is the only thing that must be written.
	QueueLabel = "berth.dev/queue-name"

	// WalltimeAnnotation is the promised run time: Berth's form ("2h",
	// "1d12h") or Slurm's ("90" minutes, "2:00:00", "2-12", "UNLIMITED").
	WalltimeAnnotation = "berth.dev/walltime"

	// HoldAnnotation "true" keeps a waiting workload from starting.
	HoldAnnotation = "berth.dev/hold"

	// TimeMinAnnotation is the shortest limit that is acceptable for a start
	// now; the longest between it and the walltime that fits is granted.
	TimeMinAnnotation = "berth.dev/time-min"

	// BeginAnnotation is the time (RFC 3339) before which it takes no part.
	BeginAnnotation = "berth.dev/begin"

	// EndBeforeAnnotation is the latest end (RFC 3339) that is wanted; it also
	// caps the limit that is granted.
	EndBeforeAnnotation = "berth.dev/end-before"

	// AfterAnnotation lists what must have happened before, separated by
	// commas: after:NAME, afterok:NAME, afterany:NAME, afternotok:NAME (all of
	// the same namespace) or singleton.
	AfterAnnotation = "berth.dev/after"

	// MinPodsAnnotation makes a Job elastic: it starts with as many pods as
	// fit, from this number up to its parallelism.
	MinPodsAnnotation = "berth.dev/min-pods"

	// ArrayAnnotation "true" on an Indexed Job makes it an array, not a gang:
	// each index is a workload of its own, and parallelism is the throttle.
	ArrayAnnotation = "berth.dev/array"

	// ExclusiveAnnotation "Workload" asks for nodes that are shared with
	// nobody.
	ExclusiveAnnotation = "berth.dev/exclusive"

	// AccountAnnotation is the Account that is charged; without it that of the
	// LocalQueue is, if that has one. The submitter must be one of its users.
	AccountAnnotation = "berth.dev/account"

	// TopologyAnnotation "required=LEVEL" keeps all pods under one domain of a
	// level of the flavor's Topology: one rack, say.
	TopologyAnnotation = "berth.dev/topology"

	// RequeueAnnotation "false" keeps the Job from waiting again when it is
	// evicted: it ends as Preempted.
	RequeueAnnotation = "berth.dev/requeue"

	// CheckpointAnnotation is how the Job wants to hear that it will be ended:
	// term, signal=NAME, exec=COMMAND, http=:PORT/PATH or annotation, and after
	// commas lead=DURATION, every=DURATION, container=NAME.
	CheckpointAnnotation = "berth.dev/checkpoint"

	// CancelAnnotation cancels the Job, and says how much time its pods have to
	// save their work: a duration, or "0".
	CancelAnnotation = "berth.dev/cancel"

	// CheckpointedAtAnnotation, on a pod, is when its work was last saved
	// (RFC 3339). Its program may write it at any time; Berth does when a
	// command or a request of its own was answered with success.
	CheckpointedAtAnnotation = "berth.dev/checkpointed-at"

	// JobNameLabel is the name by which singleton compares Jobs of one user;
	// without it the Job's own name counts.
	JobNameLabel = "berth.dev/job-name"
)

// What Berth or its admission policies write; a person's own value never counts.
const (
	// SubmitterAnnotation is the user who made the Job or Pod. The admission
	// policy berth-job-queue writes it, berth-job-guard protects it.
	SubmitterAnnotation = "berth.dev/submitter"

	// WorkloadLabel, on a pod, names the QueuedWorkload it belongs to.
	WorkloadLabel = "berth.dev/workload"

	// ClusterQueueAnnotation and the three below are put into a Job's pod
	// template by Berth at its start; the pod policy copies them into each
	// container's environment (BERTH_…).
	ClusterQueueAnnotation    = "berth.dev/cluster-queue"
	WalltimeSecondsAnnotation = "berth.dev/walltime-seconds"
	DeadlineAnnotation        = "berth.dev/deadline"
	RestartCountAnnotation    = "berth.dev/restart-count"

	// LastEvictionAnnotation, beside them, is why the last run was taken back.
	LastEvictionAnnotation = "berth.dev/last-eviction"

	// NoticeAnnotation, on a pod, tells it that it will be ended: JSON with
	// cause, by, time and until.
	NoticeAnnotation = "berth.dev/notice"

	// NoticeDeliveredAnnotation, on a pod, is which notice (its time) has reached
	// it by a signal, a command or a request.
	NoticeDeliveredAnnotation = "berth.dev/notice-delivered"

	// LeftBehindAnnotation, on a Job, is the last of its pods that has left it on a
	// lost node. The Job controller does not look at a Job when a pod that is
	// ending leaves it: this write makes it look.
	LeftBehindAnnotation = "berth.dev/left-behind"

	// ArrayMember is the value of WorkloadLabel on the pods of an array: each
	// is a workload of its own, whose name is not known before the pod is.
	ArrayMember = "array-member"

	// QueuedAtAnnotation, on a QueuedWorkload, is when its owner was created
	// (RFC 3339); on a pod of an array, when the Job was.
	QueuedAtAnnotation = "berth.dev/queued-at"

	// NameAnnotation, on the QueuedWorkload of an array's member, is the name
	// that people know it by: the Job's, and the index.
	NameAnnotation = "berth.dev/name"

	// MembersAnnotation, beside NameAnnotation and on the pods of an array, is
	// how many members the array has in all. Without NameAnnotation the
	// workload is the array itself, which is held and has no members yet.
	MembersAnnotation = "berth.dev/array-members"

	// RestoreAnnotation, on a Job that Berth has started, records (JSON) what
	// the start changed, so that taking it back leaves what its author wrote.
	RestoreAnnotation = "berth.dev/restore"

	// ManagedNamespaceLabel "true" on a namespace sends every Job, and every
	// Pod without an owner, through DefaultLocalQueue unless it names another.
	ManagedNamespaceLabel = "berth.dev/managed"
)

const (
	// DefaultLocalQueue is the queue of unlabelled work in managed namespaces.
	DefaultLocalQueue = "default"

	// PlacementGate holds a pod until Berth has told it its host.
	PlacementGate = "berth.dev/placement"

	// SchedulingPolicyName is the one name that a SchedulingPolicy may have.
	SchedulingPolicyName = "default"
)
