package sandbox

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/berth-dev/berth/pkg/sandbox/simulate"
)

// DefaultDir is the folder of a sandbox that was given none.
const DefaultDir = ".berth"

// The nodes of a sandbox that was told of none: two blocks of two racks of
// four nodes of eight GPUs.
const (
	DefaultNodes  = 16
	DefaultGPUs   = 8
	DefaultRacks  = 4
	DefaultBlocks = 2
)

// NodeGroup is a number of like simulated nodes.
type NodeGroup = simulate.NodeGroup

// Options say what a sandbox shall be. The zero value is the default.
type Options struct {
	// Dir is where the sandbox keeps its files. Empty: DefaultDir.
	Dir string
	// NodeGroups are the simulated nodes. Nil: DefaultNodeGroup; empty, not
	// nil: none.
	NodeGroups []NodeGroup
	// Queues says whether a ClusterQueue and a LocalQueue `default` are made in
	// the namespace `default`.
	Queues Queues
	// Berth says how much of Berth is set up.
	Berth Berth
	// Exec says whether Berth may run commands in the pods of queued work.
	Exec Exec
	// NodeTimeout is how long a node may give no sign of life until it is taken
	// for lost. Zero: a day, because simulated nodes give none. Shorter is for
	// a sandbox whose nodes are all real.
	NodeTimeout time.Duration
	// ControllerPath is the controller's program. Empty: berth-controller
	// beside this program, or in bin/ of the checkout around the working
	// directory.
	ControllerPath string
	// ControllerArgs are added to the controller's flags.
	ControllerArgs []string
	// Log gets the progress. Nil: nobody.
	Log io.Writer
}

// Queues says which queues a new sandbox has.
type Queues string

// The values of Queues.
const (
	DefaultQueues Queues = ""     // a ClusterQueue and a LocalQueue `default`
	NoQueues      Queues = "None" // none
)

// Berth says how much of Berth a new sandbox has.
type Berth string

// The values of Berth.
const (
	WithController    Berth = ""             // all of it, the controller runs
	WithoutController Berth = "NoController" // CRDs, rights and policies; somebody else runs the controller
	WithoutBerth      Berth = "None"         // plain Kubernetes with simulated nodes
)

// Exec says whether Berth may run commands in pods, which the checkpoint
// deliveries signal and exec need.
type Exec string

// The values of Exec.
const (
	WithoutExec Exec = ""     // as config/default installs it
	WithExec    Exec = "Exec" // as config/with-exec does
)

// noNodeTimeout is a NodeTimeout that no sandbox lives to see.
const noNodeTimeout = 24 * time.Hour

// DefaultNodeGroup is n nodes with g GPUs each in the default topology.
func DefaultNodeGroup(n, g int) NodeGroup {
	racks := min(DefaultRacks, n)
	return NodeGroup{
		Prefix:    "node",
		Count:     n,
		Resources: map[string]simulate.Amount{simulate.GPUResource: simulate.Amount(fmt.Sprint(g))},
		Racks:     racks,
		Blocks:    min(DefaultBlocks, racks),
	}
}

// filled are the options with defaults in place of zeros.
func (o Options) filled() Options {
	if o.Dir == "" {
		o.Dir = DefaultDir
	}
	if o.NodeGroups == nil {
		o.NodeGroups = []NodeGroup{DefaultNodeGroup(DefaultNodes, DefaultGPUs)}
	}
	if o.NodeTimeout == 0 {
		o.NodeTimeout = noNodeTimeout
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	return o
}

// check refuses what could only fail later.
func (o Options) check() error {
	for i, g := range o.NodeGroups {
		if problems := g.Problems(fmt.Sprintf("node group %d", i)); len(problems) > 0 {
			return usageErrorf("%s", problems[0])
		}
	}
	if len(filepath.Clean(o.Dir)) > 1000 {
		return usageErrorf("the folder's name has %d characters; give --dir a shorter one", len(o.Dir))
	}
	return nil
}

// UsageError is a mistake of the caller's, not of the machine's.
type UsageError struct{ err error }

func (e UsageError) Error() string { return e.err.Error() }
func (e UsageError) Unwrap() error { return e.err }

func usageErrorf(format string, args ...any) error {
	return UsageError{err: fmt.Errorf(format, args...)}
}

// IsUsage says whether an error is a mistake of the caller's.
func IsUsage(err error) bool {
	var usage UsageError
	return errors.As(err, &usage)
}
