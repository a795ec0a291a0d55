// Package scenario reads scenario files and job traces: a cluster, what is
// submitted to it, what happens, and what must come of it.
//
// Load is strict. Unknown fields, values that mean nothing and fields whose
// behaviour is not built yet are refused with the document, the line and the
// path, and with what would do; nothing is ever ignored. Berth objects in a
// file are handed to an Admitter, which treats them as a cluster would: that
// needs Kubernetes, and this package has none.
//
// What comes out is plain nouns of pkg/batch and offsets from the start of the
// story, for pkg/sim to play.
package scenario
