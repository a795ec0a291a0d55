package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-dev/berth/pkg/sandbox"
)

func (c *commands) status() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show how the sandbox does",
		Long:  "status shows the sandbox's programs, nodes and queues. Its exit code is 0 if all is well, and 1 if something is not, or if no sandbox runs.",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := sandbox.Open(*c.dir)
			if err != nil {
				return err
			}
			status, err := s.Status(cmd.Context())
			if err != nil {
				return err
			}
			c.printStatus(status)
			if !status.Healthy() {
				return errSilent
			}
			return nil
		},
	}
}

func (c *commands) printStatus(s *sandbox.Status) {
	versions := make([]string, 0, len(s.Versions))
	for _, name := range slices.Sorted(maps.Keys(s.Versions)) {
		versions = append(versions, name+" "+s.Versions[name])
	}
	fmt.Fprintf(c.out, "Sandbox in %s, up for %s: %s\n\n", s.Dir, s.Age.Round(time.Second), strings.Join(versions, ", "))
	table := tabwriter.NewWriter(c.out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "COMPONENT\tPID\tPORT\tMEMORY\tSTATE")
	var memory int64
	for _, component := range s.Components {
		memory += component.Memory
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\n", component.Name, component.PID, component.Port, mebibytes(component.Memory), component.State)
	}
	fmt.Fprintf(table, "together\t\t\t%s\t\n", mebibytes(memory))
	table.Flush()
	if s.Problem != nil {
		fmt.Fprintf(c.out, "\nNodes and queues can't be read: %v\n", s.Problem)
		return
	}
	fmt.Fprintf(c.out, "\nNodes: %d of %d are ready\n", s.NodesReady, s.Nodes)
	if len(s.Queues) == 0 {
		return
	}
	fmt.Fprintln(c.out)
	table = tabwriter.NewWriter(c.out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "LOCALQUEUE\tCLUSTERQUEUE\tPENDING\tRUNNING")
	for _, q := range s.Queues {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\n", q.Name, strings.Join(q.ClusterQueues, ","), q.Pending, q.Running)
	}
	table.Flush()
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }
