package batch

import "time"

// WorkloadID identifies a workload: "namespace/name" of its QueuedWorkload.
// The name contains a hash of its owner's UID, so that a Job deleted and made
// again under the same name is another workload.
type WorkloadID string

// QueueName is the name of a ClusterQueue.
type QueueName string

// CohortName is the name of a Cohort.
type CohortName string

// AccountName is the name of an Account.
type AccountName string

// LocalQueueName identifies a LocalQueue: "namespace/name".
type LocalQueueName string

// FlavorName is the name of a ResourceFlavor; empty where a queue has none.
type FlavorName string

// TopologyName is the name of a Topology.
type TopologyName string

// NodeName is the name of a node.
type NodeName string

// PodUID is the UID of a pod.
type PodUID string

// ResourceName is the name of a resource, such as "cpu" or "nvidia.com/gpu".
type ResourceName string

// The resources that the planner knows by name.
const (
	ResourceCPU  ResourceName = "cpu"
	ResourcePods ResourceName = "pods"
	ResourceGPU  ResourceName = "nvidia.com/gpu"
)

// Amount is a quantity of a resource: thousandths of a core for cpu, bytes for
// memory and storage, whole units for everything else.
type Amount int64

// Resources is an amount for each resource. A missing name is 0.
type Resources map[ResourceName]Amount

// Walltime is a promised run time. The zero value means that none was declared.
type Walltime time.Duration

// Unlimited is the walltime without an end. It is a value of its own, never a
// big number to calculate with.
const Unlimited Walltime = -1

// Labels are the labels of a node, a namespace or a pod.
type Labels map[string]string
