package v1alpha1

// Scenario is one story of a cluster.
type Scenario struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Metadata   Metadata     `json:"metadata,omitzero"`
	Spec       ScenarioSpec `json:"spec"`
}

// Metadata names a scenario.
type Metadata struct {
	Name        string            `json:"name,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ScenarioSpec is the story.
type ScenarioSpec struct {
	// about says the idea in a sentence.
	About string `json:"about,omitempty"`
	// start is the time at 0s (RFC 3339). Left out: 2026-01-05T00:00:00Z, a
	// Monday.
	Start string `json:"start,omitempty"`
	// until is when the run stops. Left out: when all jobs have ended, at most
	// 400 days, or 400 days after the last submission of a trace.
	Until Offset `json:"until,omitempty"`
	// seed is what chance is drawn from, where a scenario has any. Left out: 1.
	Seed *int64 `json:"seed,omitempty"`
	// live marks a scenario that is also played against a real control plane.
	Live *bool `json:"live,omitempty"`
	// liveScale is how much scenario time passes there in a second. Left out: 1m.
	LiveScale Offset `json:"liveScale,omitempty"`

	Nodes  []NodeGroup   `json:"nodes,omitempty"`
	Jobs   []Job         `json:"jobs,omitempty"`
	Trace  *Trace        `json:"trace,omitempty"`
	Events []Event       `json:"events,omitempty"`
	Expect []Expectation `json:"expect,omitempty"`
}

// NodeGroup is one node (name), or some that are alike (prefix, count).
type NodeGroup struct {
	Name   string `json:"name,omitempty"`
	Prefix string `json:"prefix,omitempty"`
	Count  *int   `json:"count,omitempty"`
	// resources are what a node has. pods: 110 unless given.
	Resources map[string]Quantity `json:"resources,omitempty"`
	Labels    map[string]string   `json:"labels,omitempty"`
	// spread gives a label a new value after so many nodes each: {rack: 2} is
	// rack=r0 on the first two, r1 on the next two.
	Spread map[string]int `json:"spread,omitempty"`
	Taints []Taint        `json:"taints,omitempty"`
}

// Taint keeps pods off a node.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// Toleration lets pods onto a tainted node.
type Toleration struct {
	Key      string `json:"key,omitempty"`
	Operator string `json:"operator,omitempty"`
	Value    string `json:"value,omitempty"`
	Effect   string `json:"effect,omitempty"`
}

// Job is work, and how it behaves.
type Job struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	Queue     string `json:"queue,omitempty"` // a LocalQueue
	At        Offset `json:"at,omitempty"`

	Pods     *int                `json:"pods,omitempty"`
	MinPods  *int                `json:"minPods,omitempty"`
	Requests map[string]Quantity `json:"requests,omitempty"`
	PodSets  []PodSet            `json:"podSets,omitempty"`
	Array    *Array              `json:"array,omitempty"`

	Walltime Walltime `json:"walltime,omitempty"`
	TimeMin  Walltime `json:"timeMin,omitempty"`
	// runtime is how long it really runs if nobody stops it; never: until its
	// limit. Left out: its walltime.
	Runtime Offset `json:"runtime,omitempty"`
	// exit is ok or fail: how it ends by itself.
	Exit string `json:"exit,omitempty"`

	User          string `json:"user,omitempty"`
	Account       string `json:"account,omitempty"`
	QoS           string `json:"qos,omitempty"`
	PriorityClass string `json:"priorityClass,omitempty"`
	Priority      *int   `json:"priority,omitempty"`
	Nice          *int   `json:"nice,omitempty"`

	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	Tolerations  []Toleration      `json:"tolerations,omitempty"`
	Exclusive    string            `json:"exclusive,omitempty"`
	Topology     *TopologyDemand   `json:"topology,omitempty"`
	OnNodeLoss   string            `json:"onNodeLoss,omitempty"`

	JobName    string      `json:"jobName,omitempty"`
	Begin      Offset      `json:"begin,omitempty"`
	EndBefore  Offset      `json:"endBefore,omitempty"`
	After      []string    `json:"after,omitempty"`
	Hold       *bool       `json:"hold,omitempty"`
	Requeue    *bool       `json:"requeue,omitempty"`
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
	OnNotice   any         `json:"onNotice,omitempty"`
	CancelAt   Offset      `json:"cancelAt,omitempty"`
}

// PodSet is a group of like pods.
type PodSet struct {
	Name         string              `json:"name"`
	Pods         *int                `json:"pods,omitempty"`
	MinPods      *int                `json:"minPods,omitempty"`
	Requests     map[string]Quantity `json:"requests,omitempty"`
	NodeSelector map[string]string   `json:"nodeSelector,omitempty"`
	Tolerations  []Toleration        `json:"tolerations,omitempty"`
	Topology     *TopologyDemand     `json:"topology,omitempty"`
}

// Array makes many jobs of one: NAME-0, NAME-1, ...
type Array struct {
	Count int `json:"count"`
	// parallelism is how many of them run at the same time. Left out: all.
	Parallelism *int `json:"parallelism,omitempty"`
}

// TopologyDemand is where in the network pods may lie.
type TopologyDemand struct {
	Required  string         `json:"required,omitempty"`
	Preferred string         `json:"preferred,omitempty"`
	Slice     *TopologySlice `json:"slice,omitempty"`
}

// TopologySlice keeps so many pods in a row under one domain of a level.
type TopologySlice struct {
	Size  int    `json:"size"`
	Level string `json:"level"`
}

// Checkpoint says what progress survives an eviction.
type Checkpoint struct {
	Every  Offset `json:"every,omitempty"`
	Save   Offset `json:"save,omitempty"`
	Resume Offset `json:"resume,omitempty"`
}

// Trace is a log of jobs that were submitted somewhere.
type Trace struct {
	File string `json:"file"`
	// format is swf or csv.
	Format string `json:"format"`

	// procsPerNode is how many processors of an swf log a node has. Left out: 1.
	ProcsPerNode *int `json:"procsPerNode,omitempty"`
	// resource is what a processor is. Left out: cpu.
	Resource string `json:"resource,omitempty"`
	// useRequestedTime takes the requested time as walltime; false: the run
	// time itself. Left out: true.
	UseRequestedTime *bool `json:"useRequestedTime,omitempty"`

	// columns names the columns of a csv file.
	Columns *TraceColumns `json:"columns,omitempty"`
	// unit of times in a csv file: ms, s, m, h. Left out: s.
	Unit string `json:"unit,omitempty"`

	// limit is how many jobs are taken. Left out: all.
	Limit *int `json:"limit,omitempty"`
	// queues maps the queue (else the partition) field to a LocalQueue. Left
	// out: all go to default.
	Queues map[string]string `json:"queues,omitempty"`
}

// TraceColumns are the names of columns.
type TraceColumns struct {
	Job      string `json:"job,omitempty"`
	Submit   string `json:"submit"`
	Runtime  string `json:"runtime"`
	Walltime string `json:"walltime,omitempty"`
	GPUs     string `json:"gpus,omitempty"`
	Nodes    string `json:"nodes,omitempty"`
	User     string `json:"user,omitempty"`
	Queue    string `json:"queue,omitempty"`
}

// Event is something that happens, beside the jobs.
type Event struct {
	At Offset `json:"at"`

	Node          string   `json:"node,omitempty"`
	Ready         *bool    `json:"ready,omitempty"`
	Unschedulable *bool    `json:"unschedulable,omitempty"`
	Delete        Deletion `json:"delete,omitempty"`

	AddNodes *NodeGroup     `json:"addNodes,omitempty"`
	Apply    map[string]any `json:"apply,omitempty"`

	Release string `json:"release,omitempty"` // a job
	Hold    string `json:"hold,omitempty"`    // a job
	Set     *Edit  `json:"set,omitempty"`

	Restart        string `json:"restart,omitempty"` // controller
	ControllerDown Offset `json:"controllerDown,omitempty"`
}

// Edit is a change of a job by its author.
type Edit struct {
	Job      string   `json:"job"`
	Walltime Walltime `json:"walltime,omitempty"`
	Priority *int     `json:"priority,omitempty"`
	QoS      string   `json:"qos,omitempty"`
	Queue    string   `json:"queue,omitempty"`
}
