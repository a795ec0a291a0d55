//go:build linux

package kubelet

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/test/kubelet/evidence"
)

const (
	// usr1 is SIGUSR1.
	usr1 = "user defined signal 1"
	// noticeTime is within what every pod has its notice, after its cause and
	// after the others.
	noticeTime = time.Second
	// saving is how long the pods of these tests take to save.
	saving = 2 * time.Second
	// releaseTime is what it may take from the last acknowledgement to SIGTERM.
	releaseTime = 4 * time.Second
	// until is the grace that nobody here needs who saves.
	until = 50 * time.Second
)

// delivery is a way in which a job hears that it will be ended, and what its
// pods write down when they do.
type delivery struct {
	name       string
	checkpoint string
	args       []string
	heard      evidence.Kind
	detail     string
}

// term is the delivery of who chooses none: its end is its notice.
const term = "term"

var deliveries = []delivery{
	{term, "term", []string{"--on", "terminated=leave"}, evidence.Signal, terminated},
	{"signal", "signal=USR1", []string{"--on", usr1 + "=save", "--acknowledge", "--on", "terminated=exit"}, evidence.Signal, usr1},
	{"exec", fmt.Sprintf("exec=/bin/trap save --save %s", saving), []string{"--on", "terminated=exit"}, evidence.Command, ""},
	{"http", "http=:8080/checkpoint", []string{"--http", ":8080", "--on", "terminated=exit"}, evidence.Request, ""},
	{"annotation", "annotation", []string{"--on", "notice=save", "--acknowledge", "--on", "terminated=exit"}, evidence.Notice, ""},
}

// job is a Job that hears in this way and saves.
func (d delivery) job(t *team, options string, traits ...trait) *batchv1.Job {
	all := []trait{args(append([]string{"--save", saving.String()}, d.args...)...), annotated(v1alpha1.CheckpointAnnotation, d.checkpoint+options)}
	return t.job("saves-"+d.name, append(all, traits...)...)
}

// causes are why a job is ended; each strikes one that hears in some way.
var causes = []struct {
	name   string
	strike func(*team, delivery)
}{
	{"preempted", preempt},
	{"cancelled", cancel},
	{"deadline", outlast},
}

// TestEveryDeliveryOnEveryPath: whatever ends a job and however it hears, all
// its pods have their notice within a second, save, and are told to end when
// they have, long before their grace is over.
func TestEveryDeliveryOnEveryPath(t *testing.T) {
	t.Parallel()
	for _, cause := range causes {
		for _, d := range deliveries {
			t.Run(cause.name+"/"+d.name, func(t *testing.T) {
				t.Parallel()
				cause.strike(newPreemptible(t, until), d)
			})
		}
	}
}

// preempt takes a job's place by one of a higher queue, which gets it when all
// processes are dead; and the job waits again.
func preempt(t *team, d delivery) {
	victim := t.submit(d.job(t, ""))
	pods := victim.mustRun()
	at := time.Now()
	urgent := t.submit(t.job("urgent", through(urgentName)))
	t.mustHear(pods, d, at)
	t.mustSaveAndGo(pods, d, at.Add(until))
	urgent.mustFollow(t.mustDie(pods))
	victim.mustBe("Pending")
	victim.mustHaveRun("Requeued", "Preempted", t.name+"/"+urgent.job.Name)
}

// cancel cancels a job as its user does who wants it to save.
func cancel(t *team, d delivery) {
	work := t.submit(d.job(t, ""))
	pods := work.mustRun()
	at := work.annotate(v1alpha1.CancelAnnotation, until.String())
	t.mustHear(pods, d, at)
	t.mustSaveAndGo(pods, d, at.Add(until))
	work.mustBe("Cancelled")
	work.mustBeGone(patience)
}

// outlast lets a job come to its deadline, of which it hears before, unless
// its end is all it hears.
func outlast(t *team, d delivery) {
	const promised, lead = 45 * time.Second, 20 * time.Second // a slow kubelet takes ten to show an annotation
	options := ",lead=" + lead.String()
	if d.name == term {
		options = ""
	}
	work := t.submit(d.job(t, options, walltime(promised.String())))
	pods := work.mustRun()
	deadline := work.record().Status.Allocation.StartTime.Add(promised)
	if d.name == term {
		t.mustGetSIGTERM(pods, deadline)
		t.mustSave(pods)
	} else {
		t.mustHear(pods, d, deadline.Add(-lead))
		t.mustSave(pods)
		for _, told := range t.mustGetSIGTERM(pods, deadline) {
			if told.Before(deadline.Add(-time.Second)) { // the API's times have whole seconds
				t.t.Errorf("SIGTERM came at %s, before the deadline %s", told.Format(clock), deadline.Format(clock))
			}
		}
	}
	work.mustBe("Timeout")
	work.mustBeGone(patience)
}

// mustHear says that all pods have their notice within a second of its cause and
// of each other, and that it reaches their programs.
func (t *team) mustHear(pods []podLife, d delivery, cause time.Time) {
	t.t.Helper()
	var first, last time.Time
	for _, pod := range pods {
		var noticed time.Time
		eventually(t.t, patience, pod.Name+" has its notice", func() (string, bool) {
			noticed = t.history.life(pod.UID).noticed
			return "", !noticed.IsZero()
		})
		if first.IsZero() || noticed.Before(first) {
			first = noticed
		}
		if noticed.After(last) {
			last = noticed
		}
	}
	t.mustBeSoon("the notice of the last pod after its cause", cause, last, noticeTime)
	t.mustBeSoon("the notice of the last pod after that of the first", first, last, noticeTime)
	for _, pod := range pods {
		told := t.mustHappen(pod, patience, d.heard, d.detail)
		t.mustBeSoon(fmt.Sprintf("%s hears of its notice (%s)", pod.Name, d.name), cause, told.At, noticeTime+kubeletTime)
	}
}

// mustSave says that all pods have saved.
func (t *team) mustSave(pods []podLife) (last time.Time) {
	t.t.Helper()
	for _, pod := range pods {
		if saved := t.mustHappen(pod, patience, evidence.Saved, "").At; saved.After(last) {
			last = saved
		}
		if failed, ok := t.life(pod).First(evidence.Failed, ""); ok {
			t.t.Errorf("%s: %s", pod.Name, failed)
		}
	}
	return last
}

// mustSaveAndGo says that all pods save, that they are told to end soon after
// the last has, though their grace is not over, and that nobody is killed.
func (t *team) mustSaveAndGo(pods []podLife, d delivery, graceEnds time.Time) {
	t.t.Helper()
	saved := t.mustSave(pods)
	if d.name != term { // there they were told to end before
		for _, told := range t.mustGetSIGTERMWithin(releaseTime, pods, saved) {
			if !told.Before(graceEnds.Add(-kubeletTime)) {
				t.t.Errorf("SIGTERM came at %s, when the grace was over (%s); the last pod had saved at %s", told.Format(clock), graceEnds.Format(clock), saved.Format(clock))
			}
			if told.Before(saved) {
				t.t.Errorf("SIGTERM came at %s, before the last pod had saved (%s)", told.Format(clock), saved.Format(clock))
			}
		}
	}
	for _, pod := range pods {
		t.mustHappen(pod, patience, evidence.Leaving, "0")
	}
}

// urgentName is the LocalQueue of work that may take the place of a team's
// other work.
const urgentName = "urgent"

// newPreemptible makes a team whose work gives way to a higher queue, with some
// grace.
func newPreemptible(t *testing.T, grace time.Duration) *team {
	t.Helper()
	team := newTeam(t)
	team.giveWay(team.name, queueName, grace)
	team.makeQueue(team.name+"-urgent", urgentName, v1alpha1.ClusterQueueSpec{PriorityTier: new(int32(20))})
	return team
}

// giveWay makes the work of a queue give way, with some grace, and waits until
// what comes through its door has that.
func (t *team) giveWay(name, door string, grace time.Duration) {
	t.t.Helper()
	queue := &v1alpha1.ClusterQueue{}
	t.edit(client.ObjectKey{Name: name}, queue, func() {
		queue.Spec.Preemption = &v1alpha1.QueuePreemption{Mode: v1alpha1.PreemptRequeue, Grace: v1alpha1.Duration(grace.String())}
	})
	// It is written into the door, and the API server reads that from a cache of
	// its own: what counts is that a new Job gets the grace.
	eventually(t.t, patience, "a new Job gets the queue's grace", func() (string, bool) {
		probe := t.job("probe", through(door), func(j *batchv1.Job) { j.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(1)) })
		if err := t.client.Create(t.t.Context(), probe, client.DryRunAll); err != nil {
			return err.Error(), false
		}
		got := *probe.Spec.Template.Spec.TerminationGracePeriodSeconds
		return fmt.Sprint(got), got == max(1, int64(grace.Seconds()))
	})
}

// TestPodThatEndsBeforeItIsToldToEnd counts as it ends: a notice is no end, so
// exit code 0 after it is the success of that pod's index, and the Job is done.
func TestPodThatEndsBeforeItIsToldToEnd(t *testing.T) {
	t.Parallel()
	team := newPreemptible(t, until)
	work := team.submit(team.job("done", args("--on", usr1+"=leave", "--on", "terminated=ignore"), annotated(v1alpha1.CheckpointAnnotation, "signal=USR1")))
	work.mustRun()
	urgent := team.submit(team.job("urgent", through(urgentName)))
	work.mustBe("Completed")
	urgent.mustRun()
}
