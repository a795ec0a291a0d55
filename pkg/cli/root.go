// Package cli holds the commands of the kubectl plugin.
package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// Root is `kubectl berth`.
func Root(version string) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-berth",
		Short: "Look at and work with the queues of Berth",
		Long: `Look at and work with the queues of Berth.

Put this program on your PATH as kubectl-berth and call it as "kubectl berth".
To see your work: kubectl get qw`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl berth"},
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(explainCommand(), replayCommand(), simulateCommand(), versionCommand(version))
	return root
}

func versionCommand(version string) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version)
			return err
		},
	}
}
