package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// b24 is a cause that keeps work waiting, how it is told, and its remedy.
type b24 struct {
	cause  string
	job    *batchv1.Job
	reason string
	parts  []string
	fix    func(w *work)
}

// TestB24EveryCauseHasItsReason: different causes are told apart, with numbers
// and within seconds, and a cause that is removed is enough: nothing has to be
// submitted again.
func TestB24EveryCauseHasItsReason(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	queue := func(name string, edit func(*v1alpha1.ClusterQueueSpec)) *v1alpha1.ClusterQueue {
		team.makeDoor(name, team.name+"-"+name)
		return team.makeQueue(team.name+"-"+name, edit)
	}
	down := queue("down", func(s *v1alpha1.ClusterQueueSpec) { s.State = v1alpha1.QueueDown })
	queue("closed", func(s *v1alpha1.ClusterQueueSpec) {
		s.Access = &v1alpha1.QueueAccess{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"e2e/paid": "yes"}}}
	})
	queue("short", func(s *v1alpha1.ClusterQueueSpec) { s.Walltime = &v1alpha1.QueueWalltime{Max: "1h"} })
	fpga := func(j *batchv1.Job) {
		requests("example.com/fpga", "2")(j)
		c := &j.Spec.Template.Spec.Containers[0]
		c.Resources.Limits["example.com/fpga"] = c.Resources.Requests["example.com/fpga"]
	}
	causes := []b24{
		{
			"the queue does not exist", job("a", gpus(1), through("missing")), "QueueNotFound",
			[]string{"LocalQueue missing", team.name},
			func(*work) { team.makeDoor("missing", team.name) },
		},
		{
			"the queue is stopped", job("b", gpus(1), through("down")), "QueueStopped",
			[]string{team.name + "-down", "Down"},
			func(*work) { team.edit(down, func() { down.Spec.State = v1alpha1.QueueUp }) },
		},
		{
			"the namespace is not allowed", job("c", gpus(1), through("closed")), "AccessDenied",
			[]string{team.name, team.name + "-closed"},
			func(*work) {
				namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team.name}}
				team.edit(namespace, func() { namespace.Labels["e2e/paid"] = "yes" })
			},
		},
		{
			"no node has the resource", job("d", fpga), "NeverFits",
			[]string{"2 example.com/fpga", "no node has"},
			func(*work) { team.addNodes(nodeGroup(1, map[string]string{"example.com/fpga": "2"})) },
		},
		{
			"more than any node has", job("e", gpus(9)), "NeverFits",
			[]string{"9 nvidia.com/gpu", "has 8"},
			func(*work) { team.addNodes(nodeGroup(1, map[string]string{gpu: "9"})) },
		},
		{
			"a longer walltime than the queue allows", job("f", gpus(1), through("short"), walltime("2h")), "WalltimeLimit",
			[]string{"2h", "1h at most"},
			func(w *work) { w.change(func(j *batchv1.Job) { j.Annotations[v1alpha1.WalltimeAnnotation] = "30m" }) },
		},
		{
			"held by its author", job("g", gpus(1), held), "Held",
			[]string{"held by its author"},
			func(w *work) { w.change(func(j *batchv1.Job) { j.Annotations[v1alpha1.HoldAnnotation] = "false" }) },
		},
	}
	said := map[string]string{}
	works := make([]*work, len(causes))
	for i, c := range causes {
		works[i] = team.submit(c.job)
	}
	for i, c := range causes {
		message := pendingMessage(works[i].mustWait(c.reason, c.parts...))
		if other, known := said[message]; known {
			t.Errorf("%q and %q are told in the same words: %s", c.cause, other, message)
		}
		said[message] = c.cause
		t.Logf("%s: %s: %s", c.cause, c.reason, message)
	}
	for i, c := range causes {
		works[i].mustHaveNoPods()
		c.fix(works[i])
		works[i].mustRun()
	}
}

func pendingMessage(qw *v1alpha1.QueuedWorkload) string {
	if c := meta.FindStatusCondition(qw.Status.Conditions, v1alpha1.ConditionPending); c != nil {
		return c.Message
	}
	return ""
}

// TestB24EveryShortageHasItsReason: not enough free, enough but not on one
// node, free but promised to somebody else.
func TestB24EveryShortageHasItsReason(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(2, 4))
	fills := make([]*work, 2)
	for i, node := range team.nodes {
		fills[i] = team.submit(job(fmt.Sprint("fill-", i), gpus(3), walltime("10m"), on(node)))
		fills[i].mustRun()
	}
	scattered := team.submit(job("a-pair", gpus(2), walltime("10m")))
	scattered.mustWait("Topology", "asks 1 × 2 nvidia.com/gpu", "not on single nodes")
	scarce := team.submit(job("b-gang", pods(2), gpus(4), walltime("10m")))
	scarce.mustWait("Resources", "asks 2 × 4 nvidia.com/gpu", "2 of 8 nvidia.com/gpu free")
	promised := team.submit(job("c-one", gpus(1), walltime("1h")))
	promised.mustWait("Priority", "asks 1 × 1 nvidia.com/gpu", "would fit now", team.name+"/a-pair")
	for _, w := range []*work{scattered, scarce, promised} {
		w.mustHaveNoPods()
		if w.record().Status.PlannedStartTime == nil {
			t.Errorf("%s has no planned start", w.what())
		}
	}
	scarce.mustBeDeleted()
	scattered.mustBeDeleted()
	promised.mustRun()
	again := team.submit(job("d-pair", gpus(2), walltime("10m")))
	again.mustWait("Resources", "nvidia.com/gpu free")
	fills[1].mustBeDeleted()
	again.mustRun()
}

// TestKubectlAnswersWhereWhyAndWhen: the columns of `kubectl get qw`, and the
// Events on the Job.
func TestKubectlAnswersWhereWhyAndWhen(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 8))
	running := team.submit(job("running", gpus(8), walltime("10m"), class(team.priorityClass("seven", 7))))
	deadline := running.mustRun().Status.Allocation.Deadline.UTC().Format("2006-01-02T15:04:05Z")
	waiting := team.submit(job("waiting", gpus(8), walltime("10m")))
	waiting.mustWait("Resources")

	rows := team.kubectl("get", "qw", "-o", "wide")
	mustHave(t, rows[0], "NAME", "QUEUE", "PRIORITY", "STATE", "REASON", "START", "UNTIL", "GPUS", "NODES", "AGE", "MESSAGE")
	team.mustShow([]string{"get", "qw", "-o", "wide"}, "job-running-", queueName, "7", "Running", "Started", deadline, "8", "1")
	team.mustShow([]string{"get", "qw", "-o", "wide"}, "job-waiting-", queueName, "Pending", "Resources", "~"+deadline, "8", "0 of 8 nvidia.com/gpu free")

	eventually(t, soon, "the Events tell the story", func() (string, bool) {
		events := strings.Join(team.kubectl("events", "--for=job/running"), "\n") + strings.Join(team.kubectl("events", "--for=job/waiting"), "\n")
		return events, containsAll(events, []string{"Queued", "Started", "Planned"})
	})
	// A queue's numbers are written up to half a second after those of its work.
	team.mustShow([]string{"get", "cq", team.name}, team.name, "Up", "True", "1", "1", deadline)
}

// mustShow waits until a line that kubectl prints has all the parts in this order.
func (t *team) mustShow(args []string, parts ...string) {
	t.t.Helper()
	eventually(t.t, soon, fmt.Sprintf("kubectl %q shows a line with %q, in this order", args, parts), func() (string, bool) {
		lines := t.kubectl(args...)
		return strings.Join(lines, "\n"), slices.ContainsFunc(lines, func(line string) bool { return missing(line, parts) == "" })
	})
}

func mustHave(t *testing.T, line string, parts ...string) {
	t.Helper()
	if part := missing(line, parts); part != "" {
		t.Errorf("%q: want in it, in this order, %q; %q is missing", line, parts, part)
	}
}

// missing is the first of the parts that a line does not have after those
// before it; empty: it has all.
func missing(line string, parts []string) string {
	rest := line
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return part
		}
		rest = after
	}
	return ""
}

// kubectl runs kubectl in the team's namespace and returns the lines it prints.
func (t *team) kubectl(args ...string) []string {
	t.t.Helper()
	all := append([]string{"--kubeconfig", t.sandbox.Kubeconfig, "--namespace", t.name}, args...)
	command := exec.CommandContext(t.t.Context(), filepath.Join(t.sandbox.Bin, "kubectl"), all...)
	out, err := command.CombinedOutput()
	if err != nil {
		t.t.Fatalf("kubectl %q: %v\n%s", args, err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
