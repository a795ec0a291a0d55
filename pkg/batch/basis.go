package batch

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

// Basis is what an answer to a waiting workload rests on: what was asked, and what
// ranks it. It stands with the answer in the API server, so that an edit made while
// nobody looks is found out afterwards.
//
// It is a word for the format, one for what was asked, and one for each queue, as far
// as that exists: "2 9ae16a3b2f90404f short=10 long=".
type Basis string

// basisFormat is the first word: with another one nothing is known.
const basisFormat = "2"

// Asked is what a person asked for, as far as that decides a place in the plan. Two
// are compared by ==.
type Asked struct {
	shape               string
	priority            int32
	walltime, timeMin   Walltime
	door                LocalQueueName
	exclusive           Exclusive
	queuedAt, endBefore int64
}

// AskedBy is what a workload of a shape asks for.
func AskedBy(w *Workload, shape string) Asked {
	return Asked{
		shape: shape, priority: w.Priority, walltime: w.Walltime, timeMin: w.TimeMin, door: w.LocalQueue,
		exclusive: w.Exclusive, queuedAt: w.QueuedAt.UnixMilli(), endBefore: w.EndBefore.UnixMilli(),
	}
}

// Basis is what an answer to this rests on, behind a door; nil: there is none. Of the
// queues it takes the tier, and the walltimes where they count.
func (a Asked) Basis(door *LocalQueue, queues map[QueueName]*Queue) Basis {
	text := make([]byte, 0, 64)
	text = append(text, basisFormat+" "...)
	text = strconv.AppendUint(text, a.digest(), 16)
	if door == nil {
		return Basis(text)
	}
	for _, name := range door.Queues {
		text = append(text, ' ')
		text = append(text, name...)
		text = append(text, '=')
		q := queues[name]
		if q == nil {
			continue
		}
		text = strconv.AppendInt(text, int64(q.Tier), 10)
		if a.walltime == 0 {
			text = strconv.AppendInt(append(text, '/'), int64(q.WalltimeDefault), 10)
			text = strconv.AppendInt(append(text, '/'), int64(q.WalltimeMax), 10)
		}
	}
	return Basis(text)
}

func (a Asked) digest() uint64 {
	var text [24]byte
	h := fnv.New64a()
	write := func(b []byte) { _, _ = h.Write(b) } // never fails
	for _, n := range [...]int64{int64(a.priority), int64(a.walltime), int64(a.timeMin), a.queuedAt, a.endBefore} {
		write(strconv.AppendInt(append(text[:0], ' '), n, 10))
	}
	for _, s := range [...]string{string(a.door), string(a.exclusive), a.shape} {
		write(append(strconv.AppendInt(append(text[:0], ' '), int64(len(s)), 10), ':')) // so that none can be taken for part of another
		write([]byte(s))
	}
	return h.Sum64()
}

// EditedTo names what was edited between an answer and now; false: nothing that
// counts. The name is empty for the workload itself. A queue that came or went counts
// for nothing: who is planned in another keeps his place.
func (b Basis) EditedTo(now Basis, door LocalQueueName) (what string, edited bool) {
	was, is := strings.Fields(string(b)), strings.Fields(string(now))
	if len(was) < 2 || len(is) < 2 || was[0] != is[0] {
		return "", false
	}
	if was[1] != is[1] {
		return "", true
	}
	name := func(word string) string { before, _, _ := strings.Cut(word, "="); return before }
	if !slices.EqualFunc(was[2:], is[2:], func(a, b string) bool { return name(a) == name(b) }) {
		if len(was) == 2 || len(is) == 2 { // there was no such door, or is none
			return "", false
		}
		return "LocalQueue " + string(door), true
	}
	for i := range was {
		queue := name(is[i])
		if was[i] != is[i] && was[i] != queue+"=" && is[i] != queue+"=" {
			return "ClusterQueue " + queue, true
		}
	}
	return "", false
}
