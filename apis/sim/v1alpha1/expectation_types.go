package v1alpha1

// Expectation is what must come of a scenario. It speaks of a whole run, or,
// with at, of a moment.
type Expectation struct {
	At        *Offset `json:"at,omitempty"`
	Tolerance *Offset `json:"tolerance,omitempty"`

	// What it is about: a job, a ClusterQueue, an account or a user.
	Job     string `json:"job,omitempty"`
	Queue   string `json:"queue,omitempty"`
	Account string `json:"account,omitempty"`
	User    string `json:"user,omitempty"`

	// Of a job, over the whole run.
	Start         *Offset        `json:"start,omitempty"`
	End           *Offset        `json:"end,omitempty"`
	State         string         `json:"state,omitempty"` // at a moment too
	Starts        *int           `json:"starts,omitempty"`
	Evictions     *int           `json:"evictions,omitempty"`
	EvictedAt     []Offset       `json:"evictedAt,omitempty"`
	Cause         string         `json:"cause,omitempty"`
	By            string         `json:"by,omitempty"`
	Nodes         []string       `json:"nodes,omitempty"`
	NodeCount     *int           `json:"nodeCount,omitempty"`
	Domains       map[string]int `json:"domains,omitempty"`
	Order         []string       `json:"order,omitempty"`
	Via           string         `json:"via,omitempty"`
	PlannedStarts string         `json:"plannedStarts,omitempty"`
	Pods          *int           `json:"pods,omitempty"`
	Lost          *Offset        `json:"lost,omitempty"`

	// Of a job, at a moment.
	Reason       string         `json:"reason,omitempty"`
	Message      string         `json:"message,omitempty"`
	PlannedStart *Offset        `json:"plannedStart,omitempty"`
	Position     *int           `json:"position,omitempty"`
	Priority     *int           `json:"priority,omitempty"`
	Parts        map[string]any `json:"parts,omitempty"`

	// Of a queue, an account or a user, at a moment.
	Used     map[string]Quantity `json:"used,omitempty"`
	Borrowed map[string]Quantity `json:"borrowed,omitempty"`
	Lent     map[string]Quantity `json:"lent,omitempty"`
	Pending  *int                `json:"pending,omitempty"`
	Usage    Number              `json:"usage,omitempty"`
	Share    Number              `json:"share,omitempty"`

	// Of the cluster, at a moment.
	FreeNodes *int `json:"freeNodes,omitempty"`
	FreeGPUs  *int `json:"freeGpus,omitempty"`

	// Over time.
	NeverAbove     *Bound   `json:"neverAbove,omitempty"`
	EvictionsTotal *int     `json:"evictionsTotal,omitempty"`
	StartsTotal    *int     `json:"startsTotal,omitempty"`
	Before         []string `json:"before,omitempty"`

	// A metric of the whole run.
	Metric string `json:"metric,omitempty"`
	Min    Number `json:"min,omitempty"`
	Max    Number `json:"max,omitempty"`
}

// Bound is what a queue must never exceed.
type Bound struct {
	Queue string              `json:"queue"`
	Used  map[string]Quantity `json:"used,omitempty"`
}
