package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/explain"
	"github.com/berth-dev/berth/pkg/live"
	"github.com/berth-dev/berth/pkg/whatif"
)

func explainCommand() *cobra.Command {
	cluster := newClusterFlags()
	cmd := &cobra.Command{
		Use:   "explain JOB",
		Short: "Say why a job waits, for whom and until when, and what would let it start sooner",
		Long: `Say why a job waits, for whom and until when, and what would let it start sooner:
a shorter walltime, fewer pods, another queue. The answers are found by planning
on a copy of the cluster as it is now, with the controller's own planner.

JOB is the name of a Job, of a bare Pod, of an array or one of its members
(sweep, sweep-7), or of a QueuedWorkload. job/NAME, pod/NAME
and qw/NAME do as well.

It needs the right to list, in the whole cluster, what a plan is made from:
nodes, namespaces, pods, jobs and Berth's objects (ClusterRole
` + explainerRole + `). Without it you read what Berth last wrote of the job.`,
		Example: "  kubectl berth explain train -n team-a",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			reader, namespace, err := cluster.reader()
			if err != nil {
				return err
			}
			return explainJob(cmd.Context(), explainInput{
				reader: reader, clock: clock.RealClock{}, namespace: namespace, name: nameOf(args[0]), out: cmd.OutOrStdout(),
			})
		},
	}
	cluster.add(cmd.Flags())
	return cmd
}

// explainInput is what explain needs of its surroundings.
type explainInput struct {
	reader          client.Reader
	clock           clock.PassiveClock
	namespace, name string
	out             io.Writer
}

func explainJob(ctx context.Context, in explainInput) error {
	if array, err := explainArray(ctx, in); err != nil || array {
		return err
	}
	workload, err := findWorkload(ctx, in)
	if err != nil {
		return err
	}
	if done := told(workload, in); done {
		printRuns(in.out, workload)
		return nil
	}
	world := whatif.New(in.clock.Now())
	if err := live.Lists(ctx, in.reader, in.clock, world.Observe); err != nil {
		printOwnWords(in.out, workload, in.clock.Now())
		printRuns(in.out, workload)
		return whyNoPlan(err)
	}
	answer, waits := world.Ask(convert.WorkloadID(workload.Namespace, workload.Name))
	if !waits {
		fmt.Fprintf(in.out, "%s/%s is not waiting any more\n", in.namespace, in.name)
		return nil
	}
	printAnswer(in.out, answer)
	if answer.StartsNow {
		printLastWords(in.out, workload)
	}
	printRuns(in.out, workload)
	return nil
}

// whyNoPlan says why nothing could be planned, and what would help.
func whyNoPlan(err error) error {
	const above = "what stands above is what Berth last wrote of the job"
	if forbidden := (*live.MayNotListError)(nil); errors.As(err, &forbidden) {
		return fmt.Errorf("%w\nexplain plans on a copy of the cluster; without these rights it can't, and %s.\n"+
			"An admin grants them: kubectl create clusterrolebinding NAME --clusterrole=%s --user=YOU", err, above, explainerRole)
	}
	return fmt.Errorf("%w\nexplain plans on a copy of the cluster, which could not be read; %s", err, above)
}

// explainerRole is the ClusterRole of config/rbac with the rights that a plan
// is made with.
const explainerRole = "berth-explainer"

// findWorkload finds the newest QueuedWorkload of a name or of its owner's.
func findWorkload(ctx context.Context, in explainInput) (*v1alpha1.QueuedWorkload, error) {
	var list v1alpha1.QueuedWorkloadList
	if err := in.reader.List(ctx, &list, client.InNamespace(in.namespace)); err != nil {
		return nil, fmt.Errorf("list queuedworkloads: %w", err)
	}
	var found *v1alpha1.QueuedWorkload
	for i := range list.Items {
		qw := &list.Items[i]
		if qw.Name != in.name && convert.Workload(qw).Name != in.name {
			continue
		}
		if found == nil || found.CreationTimestamp.Before(&qw.CreationTimestamp) {
			found = qw
		}
	}
	if found == nil {
		return nil, fmt.Errorf("nothing of the name %q is queued in namespace %s; what is: kubectl get qw -n %s", in.name, in.namespace, in.namespace)
	}
	return found, nil
}

// told says whether there is nothing to plan: the workload runs, or has ended.
func told(qw *v1alpha1.QueuedWorkload, in explainInput) bool {
	workload := convert.Workload(qw)
	switch {
	case workload.Finished != nil:
		fmt.Fprintf(in.out, "%s/%s has ended: %s at %s\n", in.namespace, workload.Name, workload.Finished.State,
			instantText(workload.Finished.Time))
		if why := workload.Finished.Message; why != convert.HasEnded {
			fmt.Fprintln(in.out, why)
		}
	case workload.Allocation != nil:
		a := workload.Allocation
		fmt.Fprintf(in.out, "%s/%s has been started at %s in ClusterQueue %s, on %s; it may run until %s\n", in.namespace, workload.Name,
			instantText(a.Start), a.Queue, nodesText(whatif.Nodes(a)), orNever(instantText(a.Deadline)))
		if e := workload.Eviction; e != nil {
			fmt.Fprintf(in.out, "It is being stopped: %s\n", explain.Eviction(*e))
		} else if c := meta.FindStatusCondition(qw.Status.Conditions, v1alpha1.ConditionPodsReady); c != nil && c.Status == metav1.ConditionFalse {
			fmt.Fprintf(in.out, "Not all its pods are ready: %s\n", c.Message)
		}
	default:
		return false
	}
	return true
}

func nodesText(names []batch.NodeName) string {
	const most = 8
	var parts []string
	for i, name := range names {
		if i == most {
			parts = append(parts, fmt.Sprintf("%d more", len(names)-most))
			break
		}
		parts = append(parts, string(name))
	}
	return strings.Join(parts, ", ")
}

// nameOf takes what kubectl takes: NAME, or KIND/NAME.
func nameOf(argument string) string {
	_, name, typed := strings.Cut(argument, "/")
	if typed {
		return name
	}
	return argument
}
