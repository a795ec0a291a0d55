package scenarios_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-dev/berth/pkg/admission"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/scenario"
	"github.com/berth-dev/berth/pkg/sim"
)

// A load of 30 days, and then a standstill: nothing comes, ends or is changed,
// for what is left never ends by itself. All that follows from the last event
// follows within an hour: graces, exemptions and delays are minutes.
const (
	loadDays   = 30
	untilDays  = 100
	cascadeMax = time.Hour
)

// story is a scenario in pieces, so that pieces can be left out.
type story struct {
	objects []string // a line of YAML each
	nodes   int
	jobs    []string
}

func (s *story) text() string {
	var b strings.Builder
	for _, o := range s.objects {
		b.WriteString(o + "\n---\n")
	}
	fmt.Fprintf(&b, "{apiVersion: sim.berth.dev/v1alpha1, kind: Scenario, metadata: {name: restless}, spec: {about: Drawn by chance., until: %dd,\n", untilDays)
	fmt.Fprintf(&b, "nodes: [{prefix: n, count: %d, resources: {nvidia.com/gpu: \"8\", cpu: \"64\"}}],\njobs: [\n", s.nodes)
	for _, j := range s.jobs {
		b.WriteString("  {" + j + "},\n")
	}
	b.WriteString("], expect: [{metric: makespan, min: 0}]}}\n")
	return b.String()
}

// drawStory draws a cluster whose queues give way to each other in every manner,
// and its load.
func drawStory(chance *rand.Rand) *story {
	pick := func(from ...string) string { return from[chance.IntN(len(from))] }
	s := &story{nodes: 2 + chance.IntN(4)}
	s.objects = append(s.objects,
		fmt.Sprintf("{apiVersion: berth.dev/v1alpha1, kind: SchedulingPolicy, metadata: {name: default}, spec: {backfill: {mode: %s}, preemption: {victims: %s}, requeueDelay: %s}}",
			pick("Conservative", "Conservative", "Conservative", "EASY", "Strict", "None"), pick("LeastLost", "LeastLost", "Youngest", "SmallestFirst"), pick("0s", "0s", "10m")),
		"{apiVersion: berth.dev/v1alpha1, kind: ResourceFlavor, metadata: {name: f}, spec: {}}",
		"{apiVersion: berth.dev/v1alpha1, kind: Cohort, metadata: {name: top}, spec: {}}",
		"{apiVersion: berth.dev/v1alpha1, kind: Cohort, metadata: {name: team}, spec: {parentName: top}}")
	quotas := chance.IntN(4) > 0
	for i, name := range wildQueues {
		quota, tier := "", i+1
		if quotas {
			quota = fmt.Sprintf(", cohortName: %s, flavors: [{name: f, resources: [{name: nvidia.com/gpu, nominalQuota: \"%d\"%s}]}]",
				pick("team", "top"), 4*chance.IntN(2*s.nodes), pick("", "", ", borrowingLimit: \"8\"", ", lendingLimit: \"4\""))
			tier = pick2(chance, tier, 1)
		}
		s.objects = append(s.objects, fmt.Sprintf("{apiVersion: berth.dev/v1alpha1, kind: ClusterQueue, metadata: {name: %s}, spec: {priorityTier: %d%s, "+
			"preemption: {mode: %s, grace: %s, exempt: %s, withinQueue: %s, reclaimWithinCohort: %s, borrowWithinCohort: %s}}}",
			name, tier, quota, pick("Requeue", "Requeue", "Requeue", "Cancel", "Never"), pick("0s", "1m", "5m"), pick("0s", "0s", "10m"),
			pick("Never", "LowerPriority"), pick("Never", "LowerPriority", "Any", "Any"), pick("Never", "LowerPriority")))
	}
	s.drawLoad(chance)
	return s
}

func pick2[T any](chance *rand.Rand, a, b T) T {
	if chance.IntN(2) == 0 {
		return a
	}
	return b
}

// drawLoad draws work for 80 to 130 % of the cluster, and at the end work that
// never ends, for three times what there is.
func (s *story) drawLoad(chance *rand.Rand) {
	add := func(at time.Duration, walltime, runtime string) (gpus int) {
		pods := 1 + chance.IntN(min(3, s.nodes))
		each := []int{1, 2, 4, 8, 8}[chance.IntN(5)]
		more := []string{"", "", "", ", onNotice: ignore", ", onNotice: {exitsAfter: 20s}", ", checkpoint: {every: 30m, save: 30s, resume: 1m}", ", requeue: false"}[chance.IntN(7)]
		if pods > 1 && chance.IntN(4) == 0 {
			more += ", minPods: 1"
		}
		s.jobs = append(s.jobs, fmt.Sprintf("name: j%d, at: %s, queue: %s, pods: %d, requests: {nvidia.com/gpu: %d}%s, runtime: %s, priority: %d%s",
			len(s.jobs), at, wildQueues[chance.IntN(len(wildQueues))], pods, each, walltime, runtime, chance.IntN(3), more))
		return pods * each
	}
	load := 0.8 + chance.Float64()/2
	var at time.Duration
	for at < loadDays*24*time.Hour {
		hours := 1 + chance.IntN(24)
		runtime := 1 + chance.IntN(hours*60+30)
		gpus := add(at, fmt.Sprintf(", walltime: %dh", hours), fmt.Sprintf("%dm", runtime))
		busy := float64(gpus*min(runtime, hours*60)) / float64(8*s.nodes) / load // minutes of the whole cluster
		at += (time.Duration(busy*chance.ExpFloat64()*60) * time.Second).Truncate(time.Second)
	}
	for left := 3 * 8 * s.nodes; left > 0; {
		left -= add(at.Truncate(time.Second), "", "never")
		at += time.Duration(chance.IntN(300)) * time.Second
	}
}

// course is what is kept of a run of a scenario.
type course struct {
	exempt  map[batch.QueueName]time.Duration
	delay   time.Duration   // of those that wait again
	happens []time.Duration // when something came or ended
	left    []time.Duration // when an evicted run was gone, and when it might start again
	started map[batch.WorkloadID]start
	running map[batch.WorkloadID]start

	chosen map[batch.WorkloadID]time.Duration // when others were told to go for it
	back   map[batch.WorkloadID]time.Duration // it was evicted, and waits again since then

	lastEvent, lastEviction time.Duration
	evictions, turns, vain  int
	first                   string                                // of those in vain
	taken                   map[[2]batch.WorkloadID]time.Duration // who was evicted for whom, and when
	wrong                   string
}

type start struct {
	at      time.Duration
	decided time.Duration // when it was given its place
	safe    time.Duration // its exemption ends then
}

func (c *course) see(e sim.Entry) {
	switch d := e.Detail.(type) {
	case sim.StartDetail:
		is := start{at: e.At, decided: e.At, safe: e.At + c.exempt[d.Queue]}
		if chosen, was := c.chosen[e.Job]; was && d.Via == batch.ViaPreemption {
			is.decided = chosen // its place was kept for it since then, whoever came
		}
		c.started[e.Job], c.running[e.Job] = is, is
	case sim.NoticeDetail:
		c.judge(e, batch.WorkloadID(d.By))
		c.chosen[batch.WorkloadID(d.By)] = e.At
	case sim.EvictDetail, sim.EndDetail:
		delete(c.running, e.Job)
		if e.Event == sim.EventEvict {
			c.back[e.Job] = e.At + c.delay
		} else {
			c.lastEvent = e.At
		}
		c.happens = append(c.happens, e.At, e.At+c.delay)
	default:
		if e.Event == sim.EventSubmit {
			c.happens, c.lastEvent = append(c.happens, e.At), e.At
		}
	}
}

// judge holds an eviction to what makes it needed: since its victim was given its
// place, something happened that its preemptor had to wait for. Work came or came
// back, a run has ended, or one that was exempt before is so no more. If nothing
// did, the victim was started only to be evicted: whoever takes its place could
// have had it then.
func (c *course) judge(e sim.Entry, by batch.WorkloadID) {
	c.evictions++
	c.lastEviction = e.At
	before, turned := c.taken[[2]batch.WorkloadID{by, e.Job}]
	if turned {
		c.turns++
	}
	if turned && !c.happened(before, e.At) && c.wrong == "" {
		c.wrong = fmt.Sprintf("%s is evicted for %s at %s and for it at %s, and nothing has happened in between", by, e.Job, before, e.At)
	}
	c.taken[[2]batch.WorkloadID{e.Job, by}] = e.At
	if since := c.started[e.Job].decided; !c.needed(e, by, since) {
		c.vain++
		c.first = cmp.Or(c.first, fmt.Sprintf("%s starts at %s and is evicted for %s at %s", e.Job, since, by, e.At))
	}
}

// happened says whether work came or ended after one time and up to another.
func (c *course) happened(since, till time.Duration) bool {
	return slices.ContainsFunc(c.happens, func(at time.Duration) bool { return at > since && at <= till })
}

func (c *course) needed(e sim.Entry, by batch.WorkloadID, since time.Duration) bool {
	if back, was := c.back[by]; was && back >= since {
		return true // it was evicted itself, and came back with its old rank
	}
	if c.happened(since, e.At) {
		return true
	}
	// A run that the plan evicts which starts the victim is gone after that.
	if slices.ContainsFunc(c.left, func(at time.Duration) bool { return at >= since && at <= e.At }) {
		return true
	}
	for id, other := range c.running { //order:any one is enough
		if id != e.Job && other.at < since && other.safe > since && other.safe <= e.At {
			return true
		}
	}
	return false
}

// follow plays a story; wrong is what is not as it should be.
func follow(s *story, admitter *admission.Server) (c *course, wrong string) {
	c = &course{
		exempt: map[batch.QueueName]time.Duration{}, started: map[batch.WorkloadID]start{}, running: map[batch.WorkloadID]start{},
		taken: map[[2]batch.WorkloadID]time.Duration{}, back: map[batch.WorkloadID]time.Duration{}, chosen: map[batch.WorkloadID]time.Duration{},
	}
	file, err := scenario.Load("restless.yaml", []byte(s.text()), scenario.Options{Admitter: admitter})
	if err != nil {
		if len(s.jobs) > 0 {
			wrong = fmt.Sprintf("it is refused: %v", err)
		}
		return c, wrong
	}
	for _, o := range file.Objects {
		if q, ok := o.Seen.(batch.QueueObserved); ok {
			c.exempt[q.Queue.Name] = q.Queue.Preemption.Exempt
		}
		if p, ok := o.Seen.(batch.PolicyObserved); ok {
			c.delay = p.Policy.RequeueDelay
		}
	}
	result, err := sim.Run(file, sim.Options{Log: c.see})
	switch {
	case err != nil:
		return c, err.Error()
	case result.Breach != nil:
		return c, "an invariant is breached: " + result.Breach.String()
	case c.wrong != "":
		return c, c.wrong
	case c.lastEviction > c.lastEvent+cascadeMax:
		return c, fmt.Sprintf("the last eviction is at %s, and nothing has come or ended since %s", c.lastEviction, c.lastEvent)
	case c.lastEvent+cascadeMax > untilDays*24*time.Hour-24*time.Hour && len(s.jobs) > 100:
		return c, fmt.Sprintf("there is no standstill to look at: something happens at %s", c.lastEvent)
	}
	return c, ""
}

// shrink leaves out jobs as long as it is still wrong: halves first, then smaller
// pieces.
func shrink(s *story, wrong func(*story) string) (*story, string) {
	why := wrong(s)
	end := time.Now().Add(time.Minute)
	for size := len(s.jobs) / 2; size > 0; size /= 2 {
		for from := 0; from < len(s.jobs) && time.Now().Before(end); {
			less := *s
			less.jobs = slices.Delete(slices.Clone(s.jobs), from, min(from+size, len(s.jobs)))
			if still := wrong(&less); still != "" {
				*s, why = less, still
			} else {
				from += size
			}
		}
	}
	return s, why
}

// vainMax is one in how many evictions may be one of a run that was started only
// to be evicted. They are rare, and not gone: a preemptor that takes its place by
// borrowing may push back a planned start that kept a lender from starting, and
// then the lender takes the place.
const vainMax = 200

// Thirty days of random load on a cluster whose queues give way to each other in
// every manner, and then a standstill. Nobody is evicted while nothing happens,
// no two evict each other in turn, and hardly anybody is started only to be
// evicted. A seed that fails is printed, and the smallest scenario that shows it
// is left behind. BERTH_SEED=7 plays one of them, BERTH_SEED=7-199 those.
func TestNobodyIsEvictedToAndFro(t *testing.T) {
	t.Parallel()
	admitter := server(t)
	first, last := seedsAsked(t)
	draw := func(seed uint64) *story { return drawStory(rand.New(rand.NewPCG(seed, 0))) } //nolint:gosec // not for secrets
	jobs, sum, worst, most := 0, course{}, first, 0
	for seed := first; seed <= last; seed++ {
		s := draw(seed)
		begin := time.Now()
		c, wrong := follow(s, admitter)
		if wrong != "" {
			leave(t, seed, s, func(s *story) string { _, wrong := follow(s, admitter); return wrong })
		}
		t.Logf("seed %d: %d jobs, %d nodes, %d evictions, %d in vain, %v %s", seed, len(s.jobs), s.nodes, c.evictions, c.vain, time.Since(begin).Round(time.Millisecond), c.first)
		if c.vain > most {
			worst, most = seed, c.vain
		}
		jobs, sum.evictions, sum.turns, sum.vain = jobs+len(s.jobs), sum.evictions+c.evictions, sum.turns+c.turns, sum.vain+c.vain
	}
	t.Logf("%d seeds of %d days: %d jobs, %d evictions; %d of them the other way round than one before, %d of a run that was started only for that",
		last-first+1, loadDays, jobs, sum.evictions, sum.turns, sum.vain)
	if last > first && sum.vain*vainMax > sum.evictions {
		leave(t, worst, draw(worst), func(s *story) string { c, _ := follow(s, admitter); return c.first })
	}
}

// seedsAsked are the first and the last seed to play.
func seedsAsked(t *testing.T) (first, last uint64) {
	t.Helper()
	last = 19
	if os.Getenv("BERTH_LONG") != "" {
		last = 199
	}
	if text := os.Getenv("BERTH_SEED"); text != "" {
		from, to, several := strings.Cut(text, "-")
		if _, err := fmt.Sscan(from, &first); err != nil {
			t.Fatalf("BERTH_SEED=%s: %v", text, err)
		}
		if last = first; several {
			if _, err := fmt.Sscan(to, &last); err != nil {
				t.Fatalf("BERTH_SEED=%s: %v", text, err)
			}
		}
	}
	return first, last
}

// leave fails, and leaves the smallest scenario behind that shows why.
func leave(t *testing.T, seed uint64, s *story, wrong func(*story) string) {
	t.Helper()
	t.Errorf("seed %d (BERTH_SEED=%d repeats it): %s", seed, seed, wrong(s))
	left := filepath.Join(os.TempDir(), fmt.Sprintf("berth-to-and-fro-%d.yaml", seed))
	small, why := shrink(s, wrong)
	if err := os.WriteFile(left, []byte(small.text()), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Fatalf("smaller, in %s: %s\n%s", left, why, small.text())
}
