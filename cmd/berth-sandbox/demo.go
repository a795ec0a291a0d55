package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/berth-dev/berth/pkg/demo"
	"github.com/berth-dev/berth/pkg/sandbox"
)

// demoDir is the folder of the demo's own sandbox, so that it does not mix
// with one that somebody works in.
const demoDir = ".berth-demo"

const demoHelp = `demo starts a sandbox of 16 nodes with 8 GPUs each in a folder of its own
(.berth-demo, unless --dir says otherwise), submits the manifests of
config/samples, prints the queue as it changes until all jobs have ended
(about three minutes), and sums up: waited, started, planned against real start.`

func (c *commands) demo() *cobra.Command {
	keep := false
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the main job: a mix of jobs through two queues, and what came of it",
		Long:  demoHelp,
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("dir") {
				*c.dir = demoDir
			}
			return c.runDemo(cmd, keep)
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the sandbox running at the end, to look around in it")
	return cmd
}

func (c *commands) runDemo(cmd *cobra.Command, keep bool) (err error) {
	ctx := cmd.Context()
	// What an earlier demo left would mix its jobs with ours.
	if _, err := sandbox.Down(ctx, *c.dir, c.progress); err != nil && !errors.Is(err, sandbox.ErrNotRunning) {
		return err
	}
	s, err := sandbox.Up(ctx, sandbox.Options{Dir: *c.dir, Queues: sandbox.NoQueues, Log: c.progress})
	if err != nil {
		return err
	}
	if !keep {
		defer func() { err = errors.Join(err, s.Down(context.WithoutCancel(ctx))) }()
	}
	if err := (demo.Demo{Config: s.RESTConfig(), Clock: clock.RealClock{}, Out: c.out}).Run(ctx); err != nil {
		return err
	}
	if keep {
		fmt.Fprintf(c.out, "\n  The sandbox goes on. Look around in it with:\n    eval \"$(bin/berth-sandbox env --dir %s)\"\n  and remove it with:\n    bin/berth-sandbox down --dir %s\n", *c.dir, *c.dir)
	}
	return nil
}
