//go:build linux

// Package pace measures how slow a machine is that has other things to do: how
// many times as long as by itself a short piece of work takes, all the time. So a
// test can tell, of any moment, a program that was late from a machine that was.
package pace

import (
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// every is when the next sample is taken; all of them cost a twentieth of one
	// processor.
	every = 200 * time.Millisecond
	// work is how many blocks a sample hashes: some ten milliseconds by itself, as a
	// program that is woken and has little to do, but more than a turn that it is
	// given at once.
	work = 1 << 10
	// block is what is hashed at a time.
	block = 1 << 14
)

// Meter has measured since it was started. The zero value has measured nothing.
type Meter struct {
	mu      sync.Mutex
	samples []sample
	best    time.Duration // the shortest sample: by itself
}

type sample struct{ begin, end time.Time }

// Start measures from now on, for as long as the process lives.
func Start() *Meter {
	m := &Meter{}
	go func() {
		for {
			m.add(measure())
			time.Sleep(every)
		}
	}()
	return m
}

// Slowness is how many times as long as by itself a thing took that was done
// between two moments: 1 on a machine that has nothing else to do. By itself is the
// quickest that was ever seen: what a thread was given of a processor is not asked,
// since a virtual machine counts as given what its host has taken away.
func (m *Meter) Slowness(from, till time.Time) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	var sum time.Duration
	n := 0
	for i := len(m.samples) - 1; i >= 0 && m.samples[i].end.After(from); i-- {
		if s := m.samples[i]; s.begin.Before(till) {
			sum += s.end.Sub(s.begin)
			n++
		}
	}
	if n == 0 {
		return 1
	}
	return float64(sum) / float64(n) / float64(m.best)
}

func (m *Meter) add(s sample) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.samples = append(m.samples, s)
	if took := s.end.Sub(s.begin); m.best == 0 || took < m.best {
		m.best = took
	}
}

func measure() sample {
	var data [block]byte
	begin := time.Now()
	for range work {
		sha256.Sum256(data[:])
	}
	return sample{begin, time.Now()}
}
