package journal

import (
	"errors"
	"io"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/core"
)

// Options say how a journal is played.
type Options struct {
	// Replace changes an event before it is folded in, for a what-if; nil:
	// none is changed.
	Replace func(batch.Event) batch.Event
	// Visit is called for each plan.
	Visit func(Step)
}

// Step is a plan that was made, and what is made of it now.
type Step struct {
	At       time.Time
	Same     bool // to the digest
	Recorded batch.Plan
	Now      batch.Plan
}

// Summary counts what was played.
type Summary struct {
	Segments, Events, Plans int
	Differ                  int // plans with another digest
	Lost                    int // passes that could not be recorded
	Cut                     bool
}

// Replay plays one segment and adds to a summary. History goes on as it was
// recorded, also where the plan made now is another.
func Replay(in io.Reader, options Options, sum *Summary) error {
	p := player{options: options, sum: sum, core: core.New()}
	reader := NewReader(in)
	for {
		entry, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			p.tell()
			return nil
		case errors.Is(err, ErrCut):
			p.tell()
			sum.Cut = true
			return nil
		case err != nil:
			return err
		}
		if err := p.take(entry); err != nil {
			return err
		}
	}
}

// player is a replay on its way.
type player struct {
	options Options
	sum     *Summary
	core    *core.Core
	step    *Step // made, and not told of yet: what was carried out follows it
	issued  bool
}

func (p *player) take(e Entry) error {
	switch {
	case e.Header != nil:
		p.sum.Segments++
		p.sum.Lost += e.Header.Lost
	case e.Image != nil:
		p.core = core.Restore(p.replaceIn(*e.Image))
	case e.Mark != nil:
		return p.plan(e.Mark)
	default:
		p.event(e.Event)
	}
	return nil
}

func (p *player) plan(mark *Mark) error {
	p.tell()
	p.sum.Plans++
	now := p.core.Plan(mark.At)
	digest, err := Digest(now)
	if err != nil {
		return err
	}
	p.step = &Step{At: mark.At, Same: digest == mark.Digest, Now: now, Recorded: batch.Plan{At: mark.At}}
	if !p.step.Same {
		p.sum.Differ++
	}
	p.issued = mark.Issued
	return nil
}

func (p *player) event(e batch.Event) {
	if issued, ok := e.(batch.PlanIssued); ok && p.step != nil && p.issued {
		p.step.Recorded = issued.Plan
		issued.Plan.Holds = p.step.Now.Holds
		if p.step.Same {
			issued.Plan.Carried = p.step.Now.Carried // saves work, and decides nothing
		}
		p.tell()
		p.core.Step(issued)
		return
	}
	p.tell()
	p.sum.Events++
	if p.options.Replace != nil {
		e = p.options.Replace(e)
	}
	p.core.Step(e)
}

func (p *player) tell() {
	if p.step != nil && p.options.Visit != nil {
		p.options.Visit(*p.step)
	}
	p.step, p.issued = nil, false
}

// replaceIn changes what an image holds of configuration, as if it had been
// seen again.
func (p *player) replaceIn(image core.Image) core.Image {
	if p.options.Replace == nil {
		return image
	}
	if e, ok := p.options.Replace(batch.PolicyObserved{Policy: image.Policy}).(batch.PolicyObserved); ok {
		image.Policy = e.Policy
	}
	for i, q := range image.Queues {
		if e, ok := p.options.Replace(batch.QueueObserved{Queue: q}).(batch.QueueObserved); ok {
			image.Queues[i] = e.Queue
		}
	}
	for i, c := range image.Cohorts {
		if e, ok := p.options.Replace(batch.CohortObserved{Cohort: c}).(batch.CohortObserved); ok {
			image.Cohorts[i] = e.Cohort
		}
	}
	for i, a := range image.Accounts {
		if e, ok := p.options.Replace(batch.AccountObserved{Account: a}).(batch.AccountObserved); ok {
			image.Accounts[i] = e.Account
		}
	}
	for i, q := range image.LocalQueues {
		if e, ok := p.options.Replace(batch.LocalQueueObserved{LocalQueue: q}).(batch.LocalQueueObserved); ok {
			image.LocalQueues[i] = e.LocalQueue
		}
	}
	for i, t := range image.Topologies {
		if e, ok := p.options.Replace(batch.TopologyObserved{Topology: t}).(batch.TopologyObserved); ok {
			image.Topologies[i] = e.Topology
		}
	}
	for i, f := range image.Flavors {
		if e, ok := p.options.Replace(batch.FlavorObserved{Flavor: f}).(batch.FlavorObserved); ok {
			image.Flavors[i] = e.Flavor
		}
	}
	return image
}
