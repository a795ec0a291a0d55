// Command trap is the program in the pods of the tests with a real kubelet. It
// works until it is told otherwise, and writes down all that happens to it (see
// test/kubelet/evidence): signals, requests, its notice. What it does then is
// said by flags:
//
//	trap --on terminated=leave --save 3s        saves for 3 s, then exits 0
//	trap --on terminated=ignore                 has to be killed
//	trap --on "user defined signal 1=save" --acknowledge
//	trap --http :8080                           saves at POST /checkpoint
//	trap --on notice=save                       saves when its notice appears
//	trap save --save 1s                         run in the container: saves
//	trap pause                                  holds a pod's network
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "pause" {
		pause()
		return
	}
	once := len(os.Args) > 1 && os.Args[1] == "save"
	args := os.Args[1:]
	if once {
		args = args[1:]
	}
	t := trap{actions: actions{}}
	flags := flag.NewFlagSet("trap", flag.ExitOnError)
	flags.StringVar(&t.evidence, "evidence", "/evidence", "folder of the evidence")
	flags.Var(t.actions, "on", "SIGNAL=ACTION or notice=ACTION; ACTION is ignore, save, leave (save, then exit) or exit")
	flags.DurationVar(&t.saving, "save", 0, "how long it takes to save")
	flags.DurationVar(&t.first, "save-first", 0, "how long it takes in the pod of index 0, if not as long as in the others")
	flags.IntVar(&t.code, "code", 0, "exit code")
	flags.StringVar(&t.listen, "http", "", "address on which POST /checkpoint saves")
	flags.IntVar(&t.status, "status", 0, "what POST /checkpoint answers in place of 204, without saving")
	flags.BoolVar(&t.acknowledges, "acknowledge", false, "write the pod's annotation when something was saved")
	flags.DurationVar(&t.length, "for", 0, "work for so long, then exit; 0: until told otherwise")
	_ = flags.Parse(args) // it exits itself
	run := t.work
	if once {
		run = t.saveOnce
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "trap:", err)
		os.Exit(70)
	}
}

// pause does nothing until it is told to end, as the first process of a pod.
func pause() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	for {
		select {
		case <-end:
			return
		case <-time.After(time.Hour):
		}
	}
}
