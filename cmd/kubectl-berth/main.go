// Command kubectl-berth is the kubectl plugin: kubectl berth.
package main

import (
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/berth-dev/berth/pkg/cli"
)

// version is set by the build.
var version = "dev"

func main() {
	log.SetLogger(logr.Discard()) // what goes wrong is returned, and said here
	if err := cli.Root(version).Execute(); err != nil {
		code, tell := cli.ExitCode(err)
		if tell {
			fmt.Fprintln(os.Stderr, "kubectl berth:", err)
		}
		os.Exit(code)
	}
}
