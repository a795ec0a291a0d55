package batch

import (
	"maps"
	"slices"
)

// Seats says which ranks of a placement are taken and which are open. Places
// on one host are alike, so pods fill the lowest ranks of their host first.
type Seats struct {
	// Charged are the ranks that hold their place: a live pod sits there, or
	// one must still come. Ascending.
	Charged []int
	// Open are the charged ranks without a live pod, ascending: a pod that
	// takes the first of them stays as near to the old ranks as can be.
	Open []int
}

// SeatsOf works out the seats of a placement. Live is the number of live pods
// on each host, those being deleted included; done are the ranks that have
// finished; needed is how many pods must run at the same time, below zero: all
// that have not finished. A place ends early when its rank is done or when
// fewer pods are needed than there are places; empty ones go first, the
// highest ranks before lower ones.
func SeatsOf(p Placement, live map[NodeName]int, done []int, needed int) Seats {
	left := make(map[NodeName]int, len(live))
	maps.Copy(left, live)
	finished := make(map[int]bool, len(done))
	for _, rank := range done {
		finished[rank] = true
	}

	taken := make([]bool, len(p.Hosts))
	sit := func(done bool) {
		for rank, host := range p.Hosts {
			if finished[rank] == done && left[host] > 0 {
				taken[rank] = true
				left[host]--
			}
		}
	}
	// A live pod belongs to a rank that is not done, as long as there is one
	// on its host; else it still sits where a done one sat.
	sit(false)
	sit(true)

	var s Seats
	for rank := range p.Hosts {
		if taken[rank] {
			s.Charged = append(s.Charged, rank)
		}
	}
	room := len(p.Hosts)
	if needed >= 0 {
		room = max(0, needed-len(s.Charged))
	}
	for rank := range p.Hosts {
		if room > 0 && !taken[rank] && !finished[rank] {
			s.Open = append(s.Open, rank)
			room--
		}
	}
	s.Charged = append(s.Charged, s.Open...)
	slices.Sort(s.Charged)
	return s
}
