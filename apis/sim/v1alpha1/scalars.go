package v1alpha1

// Offset is a length of time, or a moment as its distance from the start of
// the scenario: "90s", "1m30s", "2h", "1d12h".
type Offset string

// UnmarshalText takes any single value; a number without a unit is refused
// where it is read as a length of time.
func (o *Offset) UnmarshalText(text []byte) error {
	*o = Offset(text)
	return nil
}

// Walltime is a promised run time in any form that a job's annotation takes:
// "2h", "90" (minutes), "2-12:00:00", "UNLIMITED".
type Walltime string

// UnmarshalText takes numbers too: 90 is 90 minutes.
func (w *Walltime) UnmarshalText(text []byte) error {
	*w = Walltime(text)
	return nil
}

// Quantity is an amount of a resource as Kubernetes writes it: 8, "96", 1Ti,
// 500m.
type Quantity string

// UnmarshalText takes numbers too.
func (q *Quantity) UnmarshalText(text []byte) error {
	*q = Quantity(text)
	return nil
}

// Deletion is what a delete event deletes: "true" for the event's node, else
// KIND/NAME of a Berth object.
type Deletion string

// UnmarshalText takes the boolean too.
func (d *Deletion) UnmarshalText(text []byte) error {
	*d = Deletion(text)
	return nil
}

// Number is a plain number.
type Number string

// UnmarshalText takes a number.
func (n *Number) UnmarshalText(text []byte) error {
	*n = Number(text)
	return nil
}
