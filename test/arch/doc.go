// Package arch holds the tests of the tree itself: who may import whom, that
// the pure packages are pure, how long a function may be, that documents link
// to what exists. It has no code of its own.
//
// A failure says what the rule is and why; where a rule makes a piece of code
// worse, change the rule here, with its reason, in the same commit.
package arch
