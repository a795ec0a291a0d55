package batch

// Limit is a bound on an amount, or none: the zero value bounds nothing, and
// is a value of its own, never a big number to calculate with.
type Limit struct {
	Bounded bool
	Amount  Amount // the most, where Bounded
}

// LimitOf returns the bound of an amount.
func LimitOf(amount Amount) Limit { return Limit{Bounded: true, Amount: amount} }

// Allows says whether an amount is within the limit.
func (l Limit) Allows(amount Amount) bool { return !l.Bounded || amount <= l.Amount }

// Tighter returns the smaller of two limits.
func (l Limit) Tighter(other Limit) Limit {
	if !l.Bounded || (other.Bounded && other.Amount < l.Amount) {
		return other
	}
	return l
}

// Quota is what a queue or a cohort has of one resource of one flavor.
type Quota struct {
	Nominal Amount
	Borrow  Limit // beyond Nominal, from the cohort that it is in
	Lend    Limit // of Nominal, to others in that cohort
}

// Quotas are the quotas of a queue or a cohort. A resource that neither a queue
// nor a cohort above it has a quota for is bounded by the nodes alone.
type Quotas map[FlavorName]map[ResourceName]Quota

// Cohort is a group of queues, and of cohorts, that lend to each other what
// they do not use. Its own quotas belong to all of them; their limits of
// borrowing and lending hold for all that is below it, taken together.
type Cohort struct {
	Name   CohortName
	Parent CohortName // empty: none
	Quotas Quotas
}

// Use is what something takes of its queue's quota: from its admission until
// its pods are gone.
type Use struct {
	Queue  QueueName
	Flavor FlavorName
	// Charge is all that it takes, on whichever nodes.
	Charge
}
