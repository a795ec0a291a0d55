// Package scenarios holds what Berth must do as files that it can run: one
// idea each, by theme. They are the specification, the golden tests, and pages
// of the site.
//
// A scenario has fewer than 60 lines, its name is that of its file, its about
// says the idea in a sentence, and the "# why:" line above expect is the
// reckoning: read it before you doubt the numbers or change the code.
//
// A file NAME.events beside NAME.yaml is the event log that it must give.
// go test ./test/scenarios -update writes those that exist anew; commit only
// what you can explain.
package scenarios
