package batch

// Operator compares a node's label with values, as kube-scheduler does.
type Operator string

// The operators.
const (
	OpIn        Operator = "In"
	OpNotIn     Operator = "NotIn"
	OpExists    Operator = "Exists"
	OpNotExists Operator = "DoesNotExist"
	OpGreater   Operator = "Gt"
	OpLess      Operator = "Lt"
)

// Requirement is one condition on a label.
type Requirement struct {
	Key    string
	Op     Operator
	Values []string
}

// LabelSelector matches labels that meet all requirements; empty: all.
type LabelSelector struct{ All []Requirement }

// NodeSelector is what a pod demands of its node: its nodeSelector and its
// required node affinity.
type NodeSelector struct {
	// Labels must all be there with these values (spec.nodeSelector).
	Labels Labels
	// AnyOf: at least one term must match; nil: no demand. A term without
	// conditions matches nothing, as in Kubernetes.
	AnyOf []NodeTerm
}

// NodeTerm is a term of required node affinity: all of it must match.
type NodeTerm struct {
	Labels []Requirement
	Names  []Requirement // on the node's name; In and NotIn with one value
}

// Taint keeps pods off a node that do not tolerate it. Effects other than
// NoSchedule and NoExecute do not concern the planner.
type Taint struct{ Key, Value, Effect string }

// DrainTaint is the key of a taint that, with whatever value and effect, asks
// Berth to take back what runs on a node, with the grace that each has.
const DrainTaint = "berth.dev/drain"

// Toleration lets a pod onto a tainted node. Op is "Exists" or "Equal" (also
// the empty one). Empty Key with Exists tolerates all; empty Effect, all effects.
type Toleration struct{ Key, Op, Value, Effect string }
