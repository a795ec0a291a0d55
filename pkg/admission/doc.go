// Package admission treats Berth objects as an API server would that has our
// CRDs: unknown fields, defaults, schema, list keys, names and CEL rules, in
// process, with the server's own code. The commands that work on files
// (simulate, for one) use it, so that a file is refused for the very reasons
// and in the very words for which a cluster would refuse it.
//
// What is admitted comes out converted, as the events that the core would hear
// of it. It stands below the purity line; the loader and the simulator above
// it know it as an interface.
package admission
