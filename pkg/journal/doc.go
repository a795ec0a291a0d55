// Package journal records what a driver of the core saw and decided, and plays
// it again: the same events give the same plans, to the digest; with changed
// code or policy it tells the decisions that differ.
//
// A journal is a row of segments. Each begins with the whole working set, so
// that it can be played without those before it, which a bounded ring has
// dropped. Then come, pass by pass, the events that were taken in, the mark of
// the plan that was made, and the plan itself if it was carried out.
//
// A segment is text, a JSON object a line. The package writes to an io.Writer
// and reads from an io.Reader; files, rings and goroutines are the driver's.
package journal
