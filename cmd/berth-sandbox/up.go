package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-dev/berth/pkg/sandbox"
	"github.com/berth-dev/berth/pkg/sandbox/simulate"
)

// upFlags are the flags of up.
type upFlags struct {
	nodes, gpus, racks, blocks int
	profile                    string
	bare                       bool
	noController               bool
	controller                 string
	withExec                   bool
	journal                    journal
}

const upHelp = `up starts a sandbox and returns when a Job can be submitted; the cluster goes on
running until down. If one runs in the folder already, it is left as it is.

A profile describes nodes of several kinds:

  nodeGroups:
  - prefix: h100                  # node names: h100-00, h100-01, …
    count: 32
    resources: {nvidia.com/gpu: 8, cpu: 192, memory: 2Ti}
    labels: {berth.dev/example: fast}
    racks: 8                      # nodes are spread evenly over racks,
    blocks: 2                     # racks over blocks, in order
  - prefix: cpu
    count: 4
    taints: [{key: dedicated, value: cpu, effect: NoSchedule}]

Left out, cpu is 96, memory 1Ti, ephemeral-storage 2Ti and pods 110.`

func (c *commands) up() *cobra.Command {
	f := &upFlags{}
	command := &cobra.Command{
		Use:   "up",
		Short: "Start a sandbox",
		Long:  upHelp,
		Example: `  berth-sandbox up
  berth-sandbox up --nodes 64 --gpus 4 --racks 8 --blocks 2
  berth-sandbox up --profile cluster.yaml --dir /tmp/other`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.runUp(cmd, f) },
	}
	flags := command.Flags()
	flags.IntVar(&f.nodes, "nodes", sandbox.DefaultNodes, "number of simulated nodes")
	flags.IntVar(&f.gpus, "gpus", sandbox.DefaultGPUs, "GPUs ("+simulate.GPUResource+") of each node")
	flags.IntVar(&f.racks, "racks", sandbox.DefaultRacks, "racks over which the nodes are spread; 0: none")
	flags.IntVar(&f.blocks, "blocks", sandbox.DefaultBlocks, "blocks over which the racks are spread; 0: none")
	flags.StringVar(&f.profile, "profile", "", "file that describes the nodes, instead of --nodes, --gpus, --racks and --blocks")
	flags.BoolVar(&f.bare, "bare", false, "make no queues; otherwise a ClusterQueue and a LocalQueue named default are made in namespace default")
	flags.BoolVar(&f.noController, "no-controller", false, "install Berth, but leave running its controller to somebody else")
	flags.StringVar(&f.controller, "controller", "", "path of the controller's program (default: berth-controller beside this program)")
	flags.BoolVar(&f.withExec, "with-exec", false, "let Berth run commands in pods, which signal and exec in berth.dev/checkpoint need (config/with-exec)")
	f.journal.add(flags)
	return command
}

// journal is the folder in which the controller keeps its journal.
type journal struct{ folder string }

func (j *journal) add(flags *pflag.FlagSet) {
	flags.StringVar(&j.folder, "journal-dir", "", "folder for the controller's journal, to be played again with \"kubectl berth replay\"; left out: none is kept")
}

// args are the flags of the controller.
func (j *journal) args() ([]string, error) {
	if j.folder == "" {
		return nil, nil
	}
	folder, err := filepath.Abs(j.folder) // the controller runs in another folder
	if err != nil {
		return nil, fmt.Errorf("--journal-dir: %w", err)
	}
	return []string{"--journal-dir=" + folder}, nil
}

func (c *commands) runUp(cmd *cobra.Command, f *upFlags) error {
	groups, err := f.nodeGroups(cmd)
	if err != nil {
		return usageError{err}
	}
	args, err := f.journal.args()
	if err != nil {
		return usageError{err}
	}
	options := sandbox.Options{Dir: *c.dir, NodeGroups: groups, ControllerPath: f.controller, ControllerArgs: args, Log: c.progress}
	if f.withExec {
		options.Exec = sandbox.WithExec
	}
	if f.bare {
		options.Queues = sandbox.NoQueues
	}
	if f.noController {
		options.Berth = sandbox.WithoutController
	}
	begin := time.Now()
	s, err := sandbox.Up(cmd.Context(), options)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.progress, "The sandbox is ready (%s). Point your shell at it with:\n  eval \"$(%s)\"\n",
		time.Since(begin).Round(100*time.Millisecond), c.envCommand(s))
	return nil
}

// envCommand is the command to type for this sandbox.
func (c *commands) envCommand(s *sandbox.Sandbox) string {
	command := os.Args[0] + " env"
	if *c.dir != sandbox.DefaultDir {
		command += " --dir " + quoted(s.Dir)
	}
	return command
}

// nodeGroups are those of the profile, or those that the flags describe.
func (f *upFlags) nodeGroups(cmd *cobra.Command) ([]simulate.NodeGroup, error) {
	if f.profile == "" {
		return f.groupOfFlags(cmd)
	}
	for _, name := range []string{"nodes", "gpus", "racks", "blocks"} {
		if cmd.Flags().Changed(name) {
			return nil, fmt.Errorf("--%s and --profile exclude each other: write it into the profile", name)
		}
	}
	raw, err := os.ReadFile(f.profile)
	if err != nil {
		return nil, fmt.Errorf("--profile: %w", err)
	}
	profile, err := simulate.ParseProfile(raw)
	if err != nil {
		return nil, fmt.Errorf("--profile %s: %w", f.profile, err)
	}
	return profile.NodeGroups, nil
}

// groupOfFlags is the one group of the flags. Racks and blocks that nobody
// asked for shrink with the nodes.
func (f *upFlags) groupOfFlags(cmd *cobra.Command) ([]simulate.NodeGroup, error) {
	if f.nodes == 0 {
		return []simulate.NodeGroup{}, nil
	}
	if f.gpus < 0 {
		return nil, fmt.Errorf("--gpus: %d must not be negative", f.gpus)
	}
	group := sandbox.DefaultNodeGroup(max(f.nodes, 0), f.gpus)
	group.Count = f.nodes
	if cmd.Flags().Changed("racks") {
		group.Racks = f.racks
		group.Blocks = min(group.Blocks, max(f.racks, 0))
	}
	if cmd.Flags().Changed("blocks") {
		group.Blocks = f.blocks
	}
	return []simulate.NodeGroup{group}, f.check(group)
}

// check puts a group's problems in the words of the flags.
func (f *upFlags) check(group simulate.NodeGroup) error {
	flags := map[string]string{"count": "--nodes", "racks": "--racks", "blocks": "--blocks"}
	return simulate.FirstProblem(group, flags)
}
