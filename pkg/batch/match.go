package batch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Matches says whether the labels meet all requirements, as a Kubernetes label
// selector would.
func (s LabelSelector) Matches(labels Labels) bool {
	for _, r := range s.All {
		if !r.matches(labels) {
			return false
		}
	}
	return true
}

// String is the selector as kubectl takes it: "team=a,tier in (1,2),!old".
func (s LabelSelector) String() string {
	parts := make([]string, 0, len(s.All))
	for _, r := range s.All {
		parts = append(parts, r.String())
	}
	return strings.Join(parts, ",")
}

// String is the condition as kubectl takes it.
func (r Requirement) String() string {
	switch values := strings.Join(r.Values, ","); {
	case r.Op == OpIn && len(r.Values) == 1:
		return r.Key + "=" + values
	case r.Op == OpIn:
		return fmt.Sprintf("%s in (%s)", r.Key, values)
	case r.Op == OpNotIn:
		return fmt.Sprintf("%s notin (%s)", r.Key, values)
	case r.Op == OpExists:
		return r.Key
	case r.Op == OpNotExists:
		return "!" + r.Key
	default:
		return fmt.Sprintf("%s %s %s", r.Key, r.Op, values)
	}
}

// Matches says whether a node meets the demand. The rules are
// kube-scheduler's: nodeSelector and affinity must both hold, terms are
// alternatives, and a term without conditions matches nothing.
func (s NodeSelector) Matches(node *Node) bool {
	for key, value := range s.Labels { //order:any a conjunction
		if has, ok := node.Labels[key]; !ok || has != value {
			return false
		}
	}
	if s.AnyOf == nil {
		return true
	}
	return slices.ContainsFunc(s.AnyOf, func(t NodeTerm) bool { return t.matches(node) })
}

func (t NodeTerm) matches(node *Node) bool {
	if len(t.Labels)+len(t.Names) == 0 {
		return false
	}
	for _, r := range t.Labels {
		if !r.matches(node.Labels) {
			return false
		}
	}
	for _, r := range t.Names {
		if !r.matchesName(node.Name) {
			return false
		}
	}
	return true
}

func (r Requirement) matches(labels Labels) bool {
	value, ok := labels[r.Key]
	switch r.Op {
	case OpIn:
		return ok && slices.Contains(r.Values, value)
	case OpNotIn:
		return !ok || !slices.Contains(r.Values, value)
	case OpExists:
		return ok
	case OpNotExists:
		return !ok
	case OpGreater, OpLess:
		return ok && r.compares(value)
	}
	return false
}

// compares answers Gt and Lt, which are about whole numbers: anything else, on
// either side, does not match.
func (r Requirement) compares(value string) bool {
	if len(r.Values) != 1 {
		return false
	}
	has, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return false
	}
	bound, err := strconv.ParseInt(r.Values[0], 10, 64)
	if err != nil {
		return false
	}
	if r.Op == OpGreater {
		return has > bound
	}
	return has < bound
}

func (r Requirement) matchesName(name NodeName) bool {
	if len(r.Values) != 1 {
		return false
	}
	switch r.Op {
	case OpIn:
		return r.Values[0] == string(name)
	case OpNotIn:
		return r.Values[0] != string(name)
	case OpExists, OpNotExists, OpGreater, OpLess:
		return false
	}
	return false
}

// Tolerates says whether pods with these tolerations may go on a node with
// these taints. Only NoSchedule and NoExecute keep a pod off a node;
// PreferNoSchedule is a wish and is ignored.
func Tolerates(tolerations []Toleration, taints []Taint) bool {
	for _, taint := range taints {
		if taint.Effect != "NoSchedule" && taint.Effect != "NoExecute" {
			continue
		}
		if !slices.ContainsFunc(tolerations, func(t Toleration) bool { return t.tolerates(taint) }) {
			return false
		}
	}
	return true
}

func (t Toleration) tolerates(taint Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect {
		return false
	}
	if t.Key != "" && t.Key != taint.Key {
		return false
	}
	switch t.Op {
	case "Exists":
		return true
	case "", "Equal":
		return t.Value == taint.Value
	}
	return false
}
