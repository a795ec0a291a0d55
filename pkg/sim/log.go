package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// EventName is the kind of an entry of the event log.
type EventName string

// The kinds of entries.
const (
	EventSubmit EventName = "submit"
	EventReject EventName = "reject"
	EventStart  EventName = "start"
	EventPlan   EventName = "plan"
	EventWait   EventName = "wait"
	EventNotice EventName = "notice"
	EventEvict  EventName = "evict"
	EventEnd    EventName = "end"
	EventNode   EventName = "node"
	EventPolicy EventName = "policy"
)

// Entry is a line of the event log. Detail is one of the types below; nil for
// a submission.
type Entry struct {
	Label  string // which of two runs that are compared it is of; empty: there is one
	At     time.Duration
	Event  EventName
	Job    batch.WorkloadID // empty: it is about no job
	Detail any
}

type (
	// StartDetail is of a start.
	StartDetail struct {
		Run   int              `json:"run"` // from 1
		Via   batch.Via        `json:"via"`
		Nodes map[string]int   `json:"nodes"`
		Order []batch.NodeName `json:"order"`
		Until *float64         `json:"until"` // seconds; null: unlimited
		Queue batch.QueueName  `json:"queue"`
	}
	// PlanDetail is of a planned start that was given, moved or taken back.
	PlanDetail struct {
		PlannedStart *string `json:"plannedStart"` // an offset; null: none any more
	}
	// WaitDetail is of an answer why a job waits.
	WaitDetail struct {
		Reason  batch.Reason `json:"reason"`
		Message string       `json:"message"`
	}
	// RejectDetail is of an edit of a job that changes nothing.
	RejectDetail struct {
		Message string `json:"message"`
	}
	// NoticeDetail is of the notice of an eviction.
	NoticeDetail struct {
		Cause batch.Cause `json:"cause"`
		By    string      `json:"by"`
		Grace string      `json:"grace"`
	}
	// EvictDetail is of a run that is over before its time.
	EvictDetail struct {
		Cause    batch.Cause `json:"cause"`
		By       string      `json:"by"`
		Requeued bool        `json:"requeued"`
	}
	// EndDetail is of the end of a job.
	EndDetail struct {
		State string `json:"state"`
	}
	// NodeDetail is of a node.
	NodeDetail struct {
		Node   batch.NodeName `json:"node"`
		Change string         `json:"change"`
	}
	// PolicyDetail is of a Berth object: "ClusterQueue/main" or
	// "ClusterQueue/main deleted".
	PolicyDetail struct {
		Object string `json:"object"`
	}
)

// MarshalJSON writes label, time, event and job first, then the detail.
func (e Entry) MarshalJSON() ([]byte, error) {
	head, err := encode(struct {
		Label string           `json:"label,omitempty"`
		T     float64          `json:"t"`
		Event EventName        `json:"event"`
		Job   batch.WorkloadID `json:"job,omitempty"`
	}{e.Label, e.At.Seconds(), e.Event, e.Job})
	if err != nil || e.Detail == nil {
		return head, err
	}
	detail, err := encode(e.Detail)
	if err != nil {
		return nil, err
	}
	return append(append(head[:len(head)-1], ','), detail[1:]...), nil
}

// encode leaves < and > as they are: the log is read by people.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func (w *world) log(event EventName, job batch.WorkloadID, detail any) {
	if w.options.Log != nil {
		w.options.Log(Entry{At: w.now, Event: event, Job: job, Detail: detail})
	}
}

// logs says whether anybody reads the log: details are not made for nobody.
func (w *world) logs() bool { return w.options.Log != nil }

// declinedMax is how many edits that change nothing are told in words.
const declinedMax = 20

// decline tells that an edit of a job changes nothing, as its author is told in a
// cluster.
func (w *world) decline(id batch.WorkloadID, words string) {
	w.log(EventReject, id, RejectDetail{Message: words})
	if w.declined++; w.declined <= declinedMax {
		w.notes = append(w.notes, fmt.Sprintf("at %s, job %s: %s", offsetText(w.now), id, words))
	}
}

func (w *world) logStart(j *job, a *batch.Allocation) {
	if !w.logs() {
		return
	}
	d := StartDetail{Run: j.workload.Restarts + 1, Via: a.Via, Nodes: map[string]int{}, Queue: a.Queue, Order: hosts(a)}
	for _, host := range d.Order {
		d.Nodes[string(host)]++
	}
	if !a.Deadline.IsZero() {
		until := w.offset(a.Deadline).Seconds()
		d.Until = &until
	}
	w.log(EventStart, j.workload.ID, d)
}

// hosts are the nodes of all pods, in order of pod set and rank.
func hosts(a *batch.Allocation) []batch.NodeName {
	var out []batch.NodeName
	for _, p := range a.PodSets {
		out = append(out, p.Hosts...)
	}
	return out
}

// distinct counts pods by node.
func distinct(order []batch.NodeName) map[batch.NodeName]int {
	counts := map[batch.NodeName]int{}
	for _, host := range order {
		counts[host]++
	}
	return counts
}

// offsetText is a moment as the file format writes it.
func offsetText(at time.Duration) string {
	if at < 0 {
		return "-" + batch.FormatDuration(-at)
	}
	return batch.FormatDuration(at)
}
