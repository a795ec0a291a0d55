//go:build linux

// Package pace measures how slow a machine is that has other things to do: how
// many times as long as by itself a short piece of work takes, all the time. So a
// test can tell, of any moment, a program that was late from a machine that was.
package pace

import (
	"crypto/sha256"
	"runtime"
	"sync"
	"syscall"
	"time"
)

const (
	// burst is how much processor time a sample takes: as a program that is woken
	// and has little to do, but more than a turn that it is given at once.
	burst = 10 * time.Millisecond
	// every is when the next sample is taken; all of them cost a twentieth of one
	// processor.
	every = 200 * time.Millisecond
	// block is what is hashed between two looks at the clock.
	block = 1 << 14
)

// Meter has measured since it was started. The zero value has measured nothing.
type Meter struct {
	mu      sync.Mutex
	samples []sample
}

type sample struct {
	begin, end time.Time
	slowness   float64 // wall time by processor time
}

// Start measures from now on, for as long as the process lives.
func Start() *Meter {
	m := &Meter{}
	go func() {
		runtime.LockOSThread() // whose processor time it is
		for {
			m.add(measure())
			time.Sleep(every)
		}
	}()
	return m
}

// Slowness is how many times as long as by itself a thing took that was done
// between two moments: 1 on a machine that has nothing else to do.
func (m *Meter) Slowness(from, till time.Time) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	var sum, n float64
	for i := len(m.samples) - 1; i >= 0 && m.samples[i].end.After(from); i-- {
		if m.samples[i].begin.Before(till) {
			sum += m.samples[i].slowness
			n++
		}
	}
	if n == 0 {
		return 1
	}
	return max(1, sum/n)
}

func (m *Meter) add(s sample) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.samples = append(m.samples, s)
}

func measure() sample {
	var data [block]byte
	begin, before := time.Now(), processorTime()
	var used time.Duration
	for used < burst {
		sha256.Sum256(data[:])
		used = processorTime() - before
	}
	end := time.Now()
	return sample{begin: begin, end: end, slowness: float64(end.Sub(begin)) / float64(used)}
}

// ofThread asks getrusage for the thread alone.
const ofThread = 1

// processorTime is what this thread has had until now.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(ofThread, &usage); err != nil {
		panic(err) // there is such a question, and the place for its answer
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
