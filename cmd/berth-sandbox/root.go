package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/pkg/sandbox"
)

const longHelp = `berth-sandbox runs a whole Kubernetes cluster on this machine, to try Berth and
policies on before anybody's work depends on them.

The control plane is real: etcd, API server, controller manager and scheduler,
built from source on first use (about 8 minutes on 2 cores, once per machine).
The nodes are simulated: each has GPUs, a rack and a block, and its pods are
played, so that a thousand nodes fit on a laptop. Berth is installed as on any
cluster. Docker and root rights are not needed.

A pod runs until it is stopped, or as its annotations say:

  sandbox.berth.dev/runtime      how long it runs: 90s, 1h30m
  sandbox.berth.dev/exit-code    the code it exits with: 0 (default) to 255
  sandbox.berth.dev/ready-after  how long it takes to become ready
  sandbox.berth.dev/exits-after  how long after SIGTERM it exits; without it, it
                                 is killed at the end of its grace period`

const examples = `  # Start 16 nodes with 8 GPUs each, and point kubectl at them.
  berth-sandbox up
  eval "$(berth-sandbox env)"
  kubectl get nodes -L topology.berth.dev/block,topology.berth.dev/rack

  # Queue a job and watch it.
  kubectl create -f config/samples/ && kubectl get queuedworkloads --watch

  # Try a policy on a cluster of another shape, beside the first.
  berth-sandbox up --dir /tmp/big --nodes 1000 --racks 100 --blocks 10

  # See what happens when the controller crashes.
  berth-sandbox controller kill && berth-sandbox controller start

  # Remove everything.
  berth-sandbox down`

func newRoot(out, progress io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           "berth-sandbox",
		Short:         "A Kubernetes cluster with simulated GPU nodes, to try Berth on",
		Long:          longHelp,
		Example:       examples,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("there is no command %q; see berth-sandbox --help", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
	})
	dir := root.PersistentFlags().String("dir", sandbox.DefaultDir, "folder of the sandbox; each folder is a sandbox of its own")
	c := &commands{dir: dir, out: out, progress: progress}
	root.AddCommand(c.up(), c.down(), c.status(), c.env(), c.logs(), c.controller(), c.demo())
	return root
}
