package cli

import "errors"

// The exit codes of the commands that judge something.
const (
	exitFailed = 1 // it was judged, and does not hold
	exitWrong  = 2 // it could not be judged: a file or a flag is wrong
)

// exitError ends the program with a code. What is to be said has been said.
type exitError struct{ code int }

// Error is for those who don't look at the code.
func (e exitError) Error() string { return "it does not hold" }

// ExitCode is the code that the program ends with after an error, and whether
// the error is still to be printed.
func ExitCode(err error) (code int, tell bool) {
	if exit, ok := errors.AsType[exitError](err); ok {
		return exit.code, false
	}
	return exitWrong, true
}
