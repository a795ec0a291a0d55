package batch

import (
	"cmp"
	"strconv"
	"strings"
)

// CompareRank orders waiting workloads of one priority tier: priority, then
// time of first submission, namespace, name, UID. Names that end in numbers
// are ordered by the number, so that a-2 comes before a-10. It is total: only
// a workload and itself compare as equal.
func CompareRank(a, b *Workload) int {
	if c := cmp.Compare(b.Priority, a.Priority); c != 0 {
		return c
	}
	if c := a.QueuedAt.Compare(b.QueuedAt); c != 0 {
		return c
	}
	if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	if c := CompareNames(a.Name, b.Name); c != 0 {
		return c
	}
	if c := strings.Compare(a.UID, b.UID); c != 0 {
		return c
	}
	return strings.Compare(string(a.ID), string(b.ID))
}

// CompareNames orders names by their stem, then by the number at the end.
func CompareNames(a, b string) int {
	stemA, numberA := splitNumber(a)
	stemB, numberB := splitNumber(b)
	if c := strings.Compare(stemA, stemB); c != 0 {
		return c
	}
	// Without leading zeros the longer number is the larger.
	plainA, plainB := strings.TrimLeft(numberA, "0"), strings.TrimLeft(numberB, "0")
	if c := cmp.Compare(len(plainA), len(plainB)); c != 0 {
		return c
	}
	if c := strings.Compare(plainA, plainB); c != 0 {
		return c
	}
	return strings.Compare(numberA, numberB)
}

// Follows says whether a name has the number that comes after another's: sweep-3
// follows sweep-2.
func Follows(name, next string) bool {
	stem, number := splitNumber(name)
	nextStem, nextNumber := splitNumber(next)
	if stem != nextStem || len(number) == 0 || len(number) > numberMax || len(nextNumber) < len(number) {
		return false
	}
	n, err := strconv.ParseUint(number, 10, 64)
	m, errNext := strconv.ParseUint(nextNumber, 10, 64)
	return err == nil && errNext == nil && m == n+1
}

// numberMax is the length of the longest numbers that are counted with.
const numberMax = 18

func splitNumber(name string) (stem, number string) {
	i := len(name)
	for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
		i--
	}
	return name[:i], name[i:]
}
