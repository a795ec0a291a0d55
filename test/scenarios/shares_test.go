package scenarios_test

import (
	"strings"
	"testing"

	"github.com/berth-dev/berth/pkg/scenario"
)

// What users and accounts have used ranks nobody yet. A file in which it would
// is refused: where work of an account may start at some time, and the policy of
// that time does not say in so many words that fair share counts for nothing.
func TestAFileInWhichFairShareWouldDecideIsRefused(t *testing.T) {
	t.Parallel()
	const (
		lab    = "kind: Account\nmetadata: {name: lab}\nspec: {users: [{name: ann}]}\n"
		zero   = "kind: SchedulingPolicy\nmetadata: {name: default}\nspec: {priority: {weights: {fairShare: 0}}}\n"
		silent = "kind: SchedulingPolicy\nmetadata: {name: default}\nspec: {priority: {weights: {age: 0}}}\n"
		shut   = "kind: ClusterQueue\nmetadata: {name: default}\nspec: {access: {denyAccounts: [lab]}}\n"
		door   = "kind: LocalQueue\nmetadata: {name: default}\nspec: {clusterQueueNames: [default], accountName: lab}\n"
		other  = "kind: LocalQueue\nmetadata: {name: other}\nspec: {clusterQueueNames: [open]}\n---\nkind: ClusterQueue\nmetadata: {name: open}\nspec: {}\n"
		ann    = "{name: a, user: ann, account: lab, walltime: 1h}"

		openUp     = "{at: 1h, apply: {apiVersion: berth.dev/v1alpha1, kind: ClusterQueue, metadata: {name: default}, spec: {}}}"
		shutLater  = "{at: 1h, apply: {apiVersion: berth.dev/v1alpha1, kind: ClusterQueue, metadata: {name: default}, spec: {access: {denyAccounts: [lab]}}}}"
		makeLab    = "{at: 1h, apply: {apiVersion: berth.dev/v1alpha1, kind: Account, metadata: {name: lab}, spec: {users: [{name: ann}]}}}"
		dropPolicy = "{at: 1h, delete: SchedulingPolicy/default}"
		setPolicy  = "{at: 1h, apply: {apiVersion: berth.dev/v1alpha1, kind: SchedulingPolicy, metadata: {name: default}, spec: {}}}"
		moveA      = "{at: 1h, set: {job: a, queue: other}}"
	)
	for _, test := range []struct {
		name, objects, jobs, events string
		refused                     string // the place that is named; empty: it is played
	}{
		{"work of an account", lab, "{name: x}, " + ann, "", "spec.jobs[1]"},
		{"fair share counts for nothing", lab + "---\n" + zero, ann, "", ""},
		{"a weight that is left out", lab + "---\n" + silent, ann, "", "spec.jobs[0]"},
		{"an account, and nobody's work is charged to it", lab, "{name: a, user: ann}", "", ""},
		{"an account that does not exist", "", ann, "", ""},
		{"another's account", lab, "{name: a, user: bob, account: lab}", "", ""},
		{"an account that is kept out", lab + "---\n" + shut, ann, "", ""},
		{"the account of a LocalQueue", lab + "---\n" + door, "{name: a, user: ann}", "", "spec.jobs[0]"},
		{"the account of a LocalQueue, by a stranger", lab + "---\n" + door, "{name: a, user: bob}", "", ""},
		{"an array", lab, "{name: x, array: {count: 3}}, {name: a, user: ann, account: lab, array: {count: 3}}", "", "spec.jobs[1]"},
		{"a queue that opens later", lab + "---\n" + shut, ann, openUp, "spec.jobs[0]"},
		{"a queue that opens when the work has been cancelled", lab + "---\n" + shut, "{name: a, user: ann, account: lab, cancelAt: 1h}", openUp, ""},
		{"a queue that is shut before the work comes", lab, "{name: a, at: 1h, user: ann, account: lab}", shutLater, ""},
		{"a queue that is shut when the work is there", lab, "{name: a, at: 59m, user: ann, account: lab}", shutLater, "spec.jobs[0]"},
		{"an account that is made later", "", ann, makeLab, "spec.jobs[0]"},
		{"a policy that is deleted", lab + "---\n" + zero, ann, dropPolicy, "spec.jobs[0]"},
		{"a policy that says it no more", lab + "---\n" + zero, ann, setPolicy, "spec.jobs[0]"},
		{"work that goes to an open queue later", lab + "---\n" + shut + "---\n" + other + "---\n" + strings.Replace(door, ", accountName: lab", "", 1), ann, moveA, "spec.jobs[0]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			text := ""
			for object := range strings.SplitSeq(test.objects, "---\n") {
				if object != "" {
					text += "apiVersion: berth.dev/v1alpha1\n" + object + "---\n"
				}
			}
			text += "apiVersion: sim.berth.dev/v1alpha1\nkind: Scenario\nmetadata: {name: x}\nspec:\n  nodes: [{prefix: n, count: 1}]\n" +
				"  jobs: [" + test.jobs + "]\n  events: [" + test.events + "]\n"
			_, err := scenario.Load("x.yaml", []byte(text), scenario.Options{Admitter: server(t)})
			switch {
			case test.refused == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused+": this version does not have fair share yet")):
				t.Errorf("got %v, want it refused for %s", err, test.refused)
			}
		})
	}
}

func TestALogThatIsChargedToAnAccountIsRefused(t *testing.T) {
	t.Parallel()
	const text = `apiVersion: berth.dev/v1alpha1
kind: Account
metadata: {name: lab}
spec: {users: [{name: "7"}]}
---
apiVersion: berth.dev/v1alpha1
kind: LocalQueue
metadata: {name: default}
spec: {clusterQueueNames: [default], accountName: lab}
---
apiVersion: sim.berth.dev/v1alpha1
kind: Scenario
metadata: {name: x}
spec:
  nodes: [{prefix: n, count: 1}]
  trace: {file: x.swf, format: swf}
`
	_, err := scenario.Load("x.yaml", []byte(text), scenario.Options{Admitter: server(t)})
	if err == nil || !strings.Contains(err.Error(), "spec.trace: this version does not have fair share yet") {
		t.Errorf("got %v", err)
	}
	if _, err := scenario.Load("x.yaml", []byte(strings.Replace(text, "accountName: lab", "hold: None", 1)), scenario.Options{Admitter: server(t)}); err != nil {
		t.Errorf("a log that is charged to nobody is refused: %v", err)
	}
}
