package batch

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Names returns the names of the resources in order.
func (r Resources) Names() []ResourceName { return slices.Sorted(maps.Keys(r)) }

// Plus returns r and other together; neither is changed.
func (r Resources) Plus(other Resources) Resources {
	sum := make(Resources, max(len(r), len(other)))
	maps.Copy(sum, r)
	for _, name := range other.Names() {
		sum[name] = addSafe(sum[name], other[name])
	}
	return sum
}

// Times returns n times the amounts; r is not changed.
func (r Resources) Times(n int) Resources {
	out := make(Resources, len(r))
	for name, amount := range r { //order:any each by itself
		out[name] = mulSafe(amount, Amount(n))
	}
	return out
}

// Max returns the larger amount of each resource; neither is changed.
func (r Resources) Max(other Resources) Resources {
	most := make(Resources, max(len(r), len(other)))
	maps.Copy(most, r)
	for _, name := range other.Names() {
		most[name] = max(most[name], other[name])
	}
	return most
}

// Equal says whether both hold the same amounts; a missing name is 0. What lies in
// the same memory is equal at a glance.
func (r Resources) Equal(other Resources) bool {
	return reflect.ValueOf(r).UnsafePointer() == reflect.ValueOf(other).UnsafePointer() || r.within(other) && other.within(r)
}

// Covers says whether r has at least as much of everything as other.
func (r Resources) Covers(other Resources) bool {
	for name, amount := range other { //order:any a conjunction
		if r[name] < amount {
			return false
		}
	}
	return true
}

// within says whether no amount of r differs from other's.
func (r Resources) within(other Resources) bool {
	for name, amount := range r { //order:any a conjunction
		if other[name] != amount {
			return false
		}
	}
	return true
}

// Vector is an amount for each resource of a Catalog, by its index there.
type Vector []Amount

// Catalog is a fixed list of resource names, so that amounts can lie in a
// Vector: the planner compares them too often for maps.
type Catalog struct {
	names []ResourceName
	index map[ResourceName]int
}

// NewCatalog returns the catalog of these names. Extended resources such as
// GPUs come first, by name: they are what is scarce, so that most looks at a
// node end with the first amount.
func NewCatalog(names []ResourceName) Catalog {
	sorted := slices.Clone(names)
	slices.SortFunc(sorted, func(a, b ResourceName) int {
		if x, y := strings.Contains(string(a), "/"), strings.Contains(string(b), "/"); x != y {
			if x {
				return -1
			}
			return 1
		}
		return strings.Compare(string(a), string(b))
	})
	sorted = slices.Compact(sorted)
	index := make(map[ResourceName]int, len(sorted))
	for i, name := range sorted {
		index[name] = i
	}
	return Catalog{names: sorted, index: index}
}

// Len is the number of resources, and so of amounts in a Vector.
func (c Catalog) Len() int { return len(c.names) }

// Index is where a resource lies in a Vector; below zero: nowhere.
func (c Catalog) Index(name ResourceName) int {
	if i, ok := c.index[name]; ok {
		return i
	}
	return -1
}

// Name is the resource at an index.
func (c Catalog) Name(i int) ResourceName { return c.names[i] }

// Vector returns the amounts of r. Amounts of resources that the catalog does
// not have are left out; Unknown tells them.
func (c Catalog) Vector(r Resources) Vector {
	v := make(Vector, len(c.names))
	for name, amount := range r { //order:any each sets its own index
		if i, ok := c.index[name]; ok {
			v[i] = amount
		}
	}
	return v
}

// Unknown returns the first resource, by name, that r asks for and the catalog
// does not have; empty: none.
func (c Catalog) Unknown(r Resources) ResourceName {
	for _, name := range r.Names() {
		if _, ok := c.index[name]; !ok && r[name] > 0 {
			return name
		}
	}
	return ""
}

// Resources returns a vector of this catalog as a map, without its zeros.
func (c Catalog) Resources(v Vector) Resources {
	r := make(Resources, len(v))
	for i, amount := range v {
		if amount != 0 {
			r[c.names[i]] = amount
		}
	}
	return r
}

// PodsMax is more pods than any node holds.
const PodsMax = math.MaxInt32

// Pods is how many pods that ask for need fit into v; PodsMax if they ask for
// nothing. A node that is overfull has room for none.
func (v Vector) Pods(need Vector) int { return v.PodsUpTo(need, PodsMax) }

// PodsUpTo is Pods, or most if there is room for more than that. The planner
// asks it more often than anything else, hence the detour around a division.
func (v Vector) PodsUpTo(need Vector, most int) int {
	for i, amount := range need {
		if amount <= 0 {
			continue
		}
		switch rest := v[i] - amount; {
		case rest < 0:
			return 0
		case most <= 1:
		case rest < amount:
			most = 1
		default:
			most = int(min(Amount(most), v[i]/amount))
		}
	}
	return most
}

// Sub takes n times the amounts of other away from v, in place.
func (v Vector) Sub(other Vector, n int) {
	for i := range v {
		v[i] = addSafe(v[i], -mulSafe(other[i], Amount(n)))
	}
}

// addSafe adds without wrapping: an absurd request must not turn into a small
// one.
func addSafe(a, b Amount) Amount {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return -math.MaxInt64
	}
	return sum
}

// mulSafe multiplies without wrapping.
func mulSafe(a, n Amount) Amount {
	if a == 0 || n == 0 {
		return 0
	}
	product := a * n
	if product/n != a {
		if (a < 0) != (n < 0) {
			return -math.MaxInt64
		}
		return math.MaxInt64
	}
	return product
}
