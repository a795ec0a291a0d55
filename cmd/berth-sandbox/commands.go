package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/pkg/sandbox"
)

// commands makes the commands; they share the folder and where they write.
type commands struct {
	dir      *string
	out      io.Writer // what was asked for
	progress io.Writer // what is told besides
}

func (c *commands) down() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the sandbox and remove its files",
		Long:  "down stops the sandbox's processes and removes its files, its data and kubeconfig included. It also cleans up after an up that was killed.",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			outcome, err := sandbox.Down(cmd.Context(), *c.dir, c.progress)
			if err != nil {
				return err
			}
			if outcome == sandbox.NothingToDo {
				fmt.Fprintf(c.progress, "No sandbox in %s.\n", *c.dir)
				return nil
			}
			fmt.Fprintf(c.progress, "The sandbox in %s is gone.\n", *c.dir)
			return nil
		},
	}
}

func (c *commands) env() *cobra.Command {
	return &cobra.Command{
		Use:     "env",
		Short:   "Print the lines that point a shell at the sandbox",
		Example: `  eval "$(berth-sandbox env)"`,
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			s, err := sandbox.Open(*c.dir)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.out, "export KUBECONFIG=%s\n", quoted(s.Kubeconfig))
			fmt.Fprintf(c.out, "export PATH=%s:\"$PATH\"\n", quoted(s.Bin))
			return nil
		},
	}
}

// quoted makes one word of a shell out of any path.
func quoted(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }

func (c *commands) logs() *cobra.Command {
	follow := false
	command := &cobra.Command{
		Use:   "logs COMPONENT",
		Short: "Print a component's log",
		Long:  "logs prints the log of a component: " + strings.Join(sandbox.Components(), ", ") + ".",
		Example: `  berth-sandbox logs controller --follow
  berth-sandbox logs kube-scheduler`,
		ValidArgs: sandbox.Components(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(sandbox.Components(), args[0]) {
				return usageError{fmt.Errorf("logs takes one component of %s; got %q", strings.Join(sandbox.Components(), ", "), args)}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := sandbox.Open(*c.dir)
			if err != nil {
				return err
			}
			mode := sandbox.NoFollow
			if follow {
				mode = sandbox.FollowLogs
			}
			return s.Logs(cmd.Context(), args[0], mode, c.out)
		},
	}
	command.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is added")
	return command
}

func (c *commands) controller() *cobra.Command {
	command := &cobra.Command{
		Use:   "controller",
		Short: "Start, stop or kill Berth's controller, to see what a restart does",
		Args: func(cmd *cobra.Command, args []string) error {
			return usageError{fmt.Errorf("%s takes one of start, stop, kill; got %q", cmd.CommandPath(), args)}
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	path, kept := "", journal{}
	start := c.controllerDeed("start", "Start the controller, if it does not run", func(ctx context.Context, s *sandbox.Sandbox) error {
		args, err := kept.args()
		if err != nil {
			return usageError{err}
		}
		return s.UsingController(path, args...).StartController(ctx)
	})
	start.Flags().StringVar(&path, "controller", "", "path of the controller's program (default: berth-controller beside this program)")
	kept.add(start.Flags())
	command.AddCommand(start,
		c.controllerDeed("stop", "End the controller in good order", func(ctx context.Context, s *sandbox.Sandbox) error {
			return s.StopController(ctx)
		}),
		c.controllerDeed("kill", "End the controller with SIGKILL, as a crash does", func(ctx context.Context, s *sandbox.Sandbox) error {
			return s.KillController(ctx)
		}))
	return command
}

func (c *commands) controllerDeed(use, short string, do func(context.Context, *sandbox.Sandbox) error) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short,
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := sandbox.Open(*c.dir)
			if err != nil {
				return err
			}
			return do(cmd.Context(), s)
		},
	}
}
