// Command berth-sandbox starts a real Kubernetes control plane with simulated
// GPU nodes on this machine, to try Berth and policies on.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/berth-dev/berth/pkg/sandbox"
)

// version is stamped by the linker.
var version = "unknown"

// Exit codes.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // 128 + SIGINT, as shells have it
)

func main() {
	log.SetLogger(logr.Discard()) // what goes wrong is returned, and said here
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first Ctrl-C cleans up; a second one, if that hangs, ends us.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program without its process.
func run(ctx context.Context, args []string, out, progress io.Writer) int {
	root := newRoot(out, progress)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(progress)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if !errors.Is(err, errSilent) {
		fmt.Fprintf(progress, "berth-sandbox: %v\n", err)
	}
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case sandbox.IsUsage(err) || errors.As(err, &usageError{}):
		return exitUsage
	default:
		return exitFailed
	}
}

// errSilent ends a command with exit code 1 that has said all there is to say.
var errSilent = errors.New("")

// usageError is a mistake on the command line.
type usageError struct{ error }

// noArguments refuses arguments.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%s takes no arguments, but got %q", cmd.CommandPath(), args[0])}
	}
	return nil
}
