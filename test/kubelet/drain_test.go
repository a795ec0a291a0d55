//go:build linux

package kubelet

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/test/kubelet/evidence"
	"github.com/berth-dev/berth/test/kubelet/node"
)

const (
	// drainTaint is how an admin asks for a node with grace.
	drainTaint = "berth.dev/drain"
	// interrupted is an exit code that says so.
	interrupted = "75"
)

// gang is a job that runs on two nodes, of which one is about to be emptied.
type gang struct {
	*work
	delivery delivery
	pods     []podLife
}

// split are the pods that a node has of a gang, and the others.
func (g *gang) split(node string) (there, elsewhere []podLife) {
	for _, pod := range g.pods {
		if pod.Spec.NodeName == node {
			there = append(there, pod)
		} else {
			elsewhere = append(elsewhere, pod)
		}
	}
	return there, elsewhere
}

// gangOfEach is a gang for each delivery; all of them have the same nodes.
func (t *team) gangOfEach(traits ...trait) (all []*gang) {
	t.t.Helper()
	for _, d := range deliveries {
		own := t.beside(d.name)
		all = append(all, &gang{work: own.submit(d.job(own, "", traits...)), delivery: d})
	}
	for _, g := range all {
		g.pods = g.mustRun()
	}
	return all
}

// TestCordonedNodeThatIsDrained: a cordon ends nothing. The taint asks for the
// node with grace: however a job hears, its whole gang has its notice, saves, and
// is told to end when it has. It runs again elsewhere, its Job counts nothing,
// and the node is used again when the admin gives it back.
func TestCordonedNodeThatIsDrained(t *testing.T) {
	unhurried(t) // and by itself: it has more than ten pods, which start and end at once
	team, own := newTeamWithOneNode(t)
	const short, brief = "short", 5 * time.Second
	team.giveWay(team.name, queueName, until)
	team.makeQueue(team.name+"-"+short, short, v1alpha1.ClusterQueueSpec{})
	team.giveWay(team.name+"-"+short, short, brief)
	stubbornly := team.beside("stubborn")
	deaf := stubbornly.submit(stubbornly.job("stubborn", through(short), stubborn, grace(time.Second)))
	gangs := team.gangOfEach()
	deafPods := deaf.mustRun()

	team.mustKubectl("cordon", own.Name)
	next := team.submit(team.job("next", pods(1), on(own.Name)))
	next.mustWait("NodesUnavailable", "cordoned")
	for _, g := range gangs {
		if n := g.record().Status.Notice; n != nil {
			t.Errorf("%s has a notice because of a cordon: %+v", g.job.Name, n)
		}
	}

	at := team.taint(own, corev1.Taint{Key: drainTaint, Effect: corev1.TaintEffectNoSchedule})
	why := fmt.Sprintf("node %s has the taint %s", own.Name, drainTaint)
	last := team.mustBeKilled(deafPods, brief)
	team.mustGetSIGTERM(deafPods, at.Add(noticeTime))
	for _, g := range gangs {
		g.mustHear(g.pods, g.delivery, at)
		g.mustSaveAndGo(g.pods, g.delivery, at.Add(until))
		g.mustHaveRun("Requeued", "Drained", why)
		g.mustBe("Pending")
	}
	stubbornly.useSpare()
	if deaf.mustRunAgainWithout(own, deafPods).Before(last) {
		t.Errorf("%s was started again before its last process was dead", deaf.job.Name)
	}
	next.mustHaveNoPods()
	team.mustKubectl("taint", "node", own.Name, drainTaint+"-")
	team.mustKubectl("uncordon", own.Name)
	next.mustRun()
}

// taint gives a node a taint, and says when: kubectl would take a second to
// begin.
func (t *team) taint(n *node.Node, taint corev1.Taint) time.Time {
	t.t.Helper()
	at := time.Now()
	object := &corev1.Node{}
	t.edit(client.ObjectKey{Name: n.Name}, object, func() { object.Spec.Taints = append(object.Spec.Taints, taint) })
	return at
}

// mustRunAgainWithout says that a gang runs again, on other nodes than one, and
// when the first of its pods was made.
func (w *work) mustRunAgainWithout(lost *node.Node, before []podLife) (began time.Time) {
	w.t.Helper()
	for _, pod := range w.mustRun() {
		for _, old := range before {
			if pod.UID == old.UID {
				w.t.Fatalf("%s runs as it did", pod.Name)
			}
		}
		if pod.Spec.NodeName == lost.Name {
			w.t.Errorf("%s is on node %s", pod.Name, lost.Name)
		}
		if began.IsZero() || pod.created.Before(began) {
			began = pod.created
		}
	}
	return began
}

// TestKubectlDrain: it evicts the pods of one node, without Berth. The rest of
// each gang is told to end at once, as its other part was; where the Job ignores
// what others do to its pods, it counts nothing, and the gang waits again, and
// runs elsewhere.
func TestKubectlDrain(t *testing.T) {
	unhurried(t) // and by itself: it has more than ten pods, which start and end at once
	team, own := newTeamWithOneNode(t)
	const patient = 6 * time.Second
	gangs := team.gangOfEach(ignoring, exitsWith(interrupted))
	stubbornly := team.beside("stubborn")
	deaf := &gang{work: stubbornly.submit(stubbornly.job("stubborn", ignoring, stubborn, grace(patient))), delivery: deliveries[0]}
	ends := team.endsOn(own)
	deaf.pods = deaf.mustRun()

	drained := team.beginKubectl("drain", own.Name, "--timeout=60s")
	for _, g := range append(gangs, deaf) {
		there, elsewhere := g.split(own.Name)
		evicted := g.mustBeEvicted(there[0])
		g.mustGetSIGTERM(there, evicted)
		g.mustGetSIGTERMWithin(handOver, elsewhere, evicted)
		g.mustHaveRun("Requeued", "Drained", fmt.Sprintf("pod %s/%s on node %s was evicted through the API, as kubectl drain does", team.name, there[0].Name, own.Name))
		for _, pod := range g.pods {
			told, ok := g.life(pod).First(g.delivery.heard, g.delivery.detail)
			if told.Kind != evidence.Notice && told.Detail != terminated && ok {
				t.Errorf("%s was asked to save, and a drain leaves no time for it: %s", pod.Name, told)
			}
		}
	}
	last := team.mustBeKilled(deaf.pods, patient)
	drained()
	ends.mustBeSo(func(e end) string { return e.evicted })
	stubbornly.useSpare()
	if deaf.mustRunAgainWithout(own, deaf.pods).Before(last) {
		t.Errorf("%s was started again before its last process was dead", deaf.job.Name)
	}
	for _, g := range gangs {
		g.mustBe("Pending")
	}
}

// mustBeEvicted waits until a pod is to end because somebody evicts it, and says
// when that was.
func (t *team) mustBeEvicted(pod podLife) time.Time {
	t.t.Helper()
	var life podLife
	eventually(t.t, patience, pod.Name+" is evicted", func() (string, bool) {
		life = t.history.life(pod.UID)
		return fmt.Sprintf("%+v", life.Status.Conditions), !life.deleted.IsZero()
	})
	return life.deleted
}

// exitsWith is the exit code of the pods.
func exitsWith(code string) trait {
	return func(j *batchv1.Job) {
		c := &j.Spec.Template.Spec.Containers[0]
		c.Args = append(c.Args, "--code", code)
	}
}
