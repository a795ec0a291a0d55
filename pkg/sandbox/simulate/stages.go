package simulate

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// Annotations by which a pod's author says how it shall behave. Durations are
// numbers with units d, h, m, s, ms: "90s", "1h30m", "1d12h".
const (
	// RuntimeAnnotation is how long the pod runs. Left out: until stopped.
	RuntimeAnnotation = "sandbox.berth.dev/runtime"
	// ExitCodeAnnotation is the code it exits with when it ends by itself.
	// Left out: 0 at the end of its runtime, 143 when it exits on SIGTERM.
	ExitCodeAnnotation = "sandbox.berth.dev/exit-code"
	// ReadyAfterAnnotation is how long it takes to become ready. Left out: no time.
	ReadyAfterAnnotation = "sandbox.berth.dev/ready-after"
	// ExitsAfterAnnotation is how long after SIGTERM it exits. Left out: it
	// takes no notice, and is killed at the end of its grace.
	ExitsAfterAnnotation = "sandbox.berth.dev/exits-after"
)

// Annotations that the simulated kubelet writes, because the API's own times
// have no fractions of a second.
const (
	startedAtAnnotation    = "sandbox.berth.dev/started-at"
	terminatedAtAnnotation = "sandbox.berth.dev/terminating-since"
	killedAtAnnotation     = "sandbox.berth.dev/killed-at"
)

// questions are the jq functions in which the stages' conditions are written.
//
//go:embed questions.jq
var questions string

// stage is one step in the life of a pod or node. kwok plays a stage when its
// condition holds; the conditions exclude each other, because kwok draws lots
// between stages that hold at once.
type stage struct {
	name    string
	kind    string   // empty: Pod
	phases  []string // of the pod
	deleted deletion
	when    string // a jq condition, asked last: the others cost little
	at      string // a jq time in seconds since 1970; empty: at once
	then    string // template of the patch; empty: remove the object
}

// deletion says whether a stage is for objects that are being deleted.
type deletion string

const (
	eitherWay  deletion = ""
	isDeleted  deletion = "Exists"       // its deletionTimestamp does
	notDeleted deletion = "DoesNotExist" // likewise
)

var (
	pending  = []string{"Pending"}
	running  = []string{"Running"}
	terminal = []string{"Succeeded", "Failed"}
)

// podStages is the life of a pod that is bound to a simulated node:
//
//	Pending ─start─► Running ─ready─► Running, Ready ─exit─► Succeeded | Failed
//	   │                └──────────────────┴─────────deadline─► Failed (DeadlineExceeded)
//	   ├─reject─► Failed (an annotation is no duration)
//	   │
//	   │  deleted:
//	   └─cancel─► Failed ─┐
//	Running ─terminate─► Running, its kill time set ─┬─exit──► Succeeded | Failed ─┐
//	                                                 ├─leave─► Succeeded | Failed ─┼─remove─► gone
//	                                                 └─kill──► Failed (137) ───────┘
//
// A pod is terminal before it is removed, as under a kubelet: the Job
// controller waits for that, and Berth frees nothing earlier. As under a
// kubelet, a second deletion with a shorter grace does not shorten the first.
func podStages() []stage {
	return []stage{
		{name: "pod-reject", phases: pending, deleted: notDeleted, when: `valid | not`, then: patch(rejected)},
		{name: "pod-start", phases: pending, deleted: notDeleted, when: `valid`, then: patch(started)},
		{name: "pod-ready", phases: running, deleted: notDeleted, when: `(ready | not) and readyAt < endAt`, at: `readyAt`, then: patch(becomesReady)},
		{name: "pod-exit", phases: running, when: `settled and exitAt < infinite and exitAt <= endAt`, at: `exitAt`, then: patch(exited(0))},
		{name: "pod-deadline", phases: running, deleted: notDeleted, when: `settled and deadlineAt < exitAt`, at: `deadlineAt`, then: patch(deadlineExceeded)},
		{name: "pod-cancel", phases: pending, deleted: isDeleted, then: patch(cancelled)},
		{name: "pod-terminate", phases: running, deleted: isDeleted, when: `terminating | not`, then: terminates},
		{name: "pod-leave", phases: running, deleted: isDeleted, when: `terminating and leaveAt < exitAt and leaveAt <= killAt`, at: `leaveAt`, then: patch(exited(143))},
		{name: "pod-kill", phases: running, deleted: isDeleted, when: `terminating and killAt < exitAt and killAt < leaveAt`, at: `killAt`, then: patch(killed)},
		// With grace 0 it is as good as removed: only finalizers keep it.
		{name: "pod-remove", phases: terminal, deleted: isDeleted, when: `.metadata.deletionGracePeriodSeconds != 0`},
	}
}

// nodeStages makes a node ready that was created without a status, say with
// kubectl. A node that is not ready stays so: somebody wants to see that.
func nodeStages() []stage {
	return []stage{{name: "node-ready", kind: "Node", when: `[.status.conditions[]? | select(.type == "Ready")] == []`, then: nodeReady}}
}

// KwokConfig is kwok's configuration file: its options and our stages.
func KwokConfig() ([]byte, error) {
	documents := []any{map[string]any{
		"apiVersion": "config.kwok.x-k8s.io/v1alpha1",
		"kind":       "KwokConfiguration",
		"options": map[string]any{
			// Enough that a gang of a few hundred starts together; the default is 4.
			"podPlayStageParallelism":  16,
			"nodePlayStageParallelism": 8,
			// No handlers that run commands or show profiles.
			"enableDebuggingHandlers": false,
			"enableProfilingHandler":  false,
		},
	}}
	for _, s := range append(podStages(), nodeStages()...) {
		documents = append(documents, s.object())
	}
	var file bytes.Buffer
	for _, document := range documents {
		raw, err := yaml.Marshal(document)
		if err != nil {
			return nil, fmt.Errorf("write kwok's configuration: %w", err)
		}
		file.WriteString("---\n")
		file.Write(raw)
	}
	return file.Bytes(), nil
}

// object is the stage as kwok reads it.
func (s stage) object() map[string]any {
	spec := map[string]any{
		"resourceRef": map[string]any{"apiGroup": "v1", "kind": s.objectKind()},
		"selector":    map[string]any{"matchExpressions": s.requirements()},
	}
	if s.at != "" {
		// kwok adds the answer to its own clock. Milliseconds, because Go does
		// not read the exponents in which jq writes small fractions.
		delay := fmt.Sprintf(`((%s) - now) * 1000 | floor | "\(.)ms"`, s.at)
		spec["delay"] = map[string]any{"durationFrom": map[string]any{"jq": map[string]any{"expression": jq(delay)}}}
	}
	step := map[string]any{"delete": true}
	if s.then != "" {
		// At the root, not of the status alone: the annotations are written in
		// the same request, which the API server allows on the status too.
		step = map[string]any{"patch": map[string]any{"subresource": "status", "root": "", "template": s.then, "type": "strategic"}}
	}
	spec["steps"] = []any{step}
	return map[string]any{
		"apiVersion": "kwok.x-k8s.io/v1alpha1",
		"kind":       "Stage",
		"metadata":   map[string]any{"name": s.name},
		"spec":       spec,
	}
}

// requirements are the stage's conditions, those that rule out most first.
func (s stage) requirements() []any {
	var all []any
	require := func(key, operator string, values ...string) {
		requirement := map[string]any{"key": key, "operator": operator}
		if len(values) > 0 {
			requirement["values"] = values
		}
		all = append(all, map[string]any{"jq": requirement})
	}
	if len(s.phases) > 0 {
		require(`.status.phase // "Pending"`, "In", s.phases...)
	}
	if s.deleted != eitherWay {
		require(`.metadata.deletionTimestamp`, string(s.deleted))
	}
	if s.when != "" {
		require(jq(s.when), "In", "true")
	}
	return all
}

func (s stage) objectKind() string {
	if s.kind == "" {
		return "Pod"
	}
	return s.kind
}

// jq is an expression with the functions that it may call before it.
func jq(expression string) string {
	return strings.TrimSpace(questions) + "\n" + expression
}
