package main

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/berth-dev/berth/test/kubelet/evidence"
)

// action is what to do when something happens.
type action string

const (
	ignore action = "ignore"
	save   action = "save"
	leave  action = "leave" // save, then exit
	exit   action = "exit"  // exit without saving
)

// notice is the name by which actions know the notice.
const notice = "notice"

// actions are what to do, by the name of a signal or notice. What is not named
// is ignored.
type actions map[string]action

func (a actions) String() string { return fmt.Sprint(map[string]action(a)) }

// Set reads one --on.
func (a actions) Set(text string) error {
	on, do, _ := strings.Cut(text, "=")
	switch action(do) {
	case ignore, save, leave, exit:
		a[on] = action(do)
		return nil
	}
	return fmt.Errorf("%q: want SIGNAL=ignore, =save, =leave or =exit", text)
}

// trap is what the program was told.
type trap struct {
	evidence      string
	actions       actions
	saving, first time.Duration
	code          int
	listen        string
	status        int
	acknowledges  bool
	length        time.Duration

	book   *evidence.Book
	savers sync.Mutex // one saves at a time
}

// open opens the evidence, which has the pod's name: that of its host is the
// same in every run of an Indexed Job.
func (t *trap) open() (err error) {
	t.book, err = evidence.Open(t.evidence, podName())
	return err
}

func (t *trap) tell(kind evidence.Kind, detail string) {
	event := evidence.Event{At: time.Now(), Kind: kind, Detail: detail}
	if err := t.book.Write(event); err != nil {
		fmt.Fprintln(os.Stderr, "trap:", err)
	}
	if kind != evidence.Alive {
		fmt.Println(event)
	}
}

// work works until it is told otherwise.
func (t *trap) work() error {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals)
	if err := t.open(); err != nil {
		return err
	}
	t.tell(evidence.Started, strings.Join(os.Args[1:], " "))
	if t.listen != "" {
		go t.serve()
	}
	noticed := make(chan string, 1)
	go t.awaitNotice(noticed)
	var end <-chan time.Time
	if t.length > 0 {
		end = time.After(t.length)
	}
	pulse := time.NewTicker(evidence.Pulse)
	for {
		select {
		case <-pulse.C:
			t.tell(evidence.Alive, "")
		case s := <-signals:
			if s == syscall.SIGURG || s == syscall.SIGCHLD { // Go's own, and children's
				continue
			}
			t.tell(evidence.Signal, s.String())
			go t.act(t.actions[s.String()])
		case text := <-noticed:
			t.tell(evidence.Notice, text)
			go t.act(t.actions[notice])
		case <-end:
			t.exit()
		}
	}
}

func (t *trap) act(do action) {
	if do == save || do == leave {
		t.save()
	}
	if do == leave || do == exit {
		t.exit()
	}
}

// save saves, and says so.
func (t *trap) save() {
	t.savers.Lock()
	defer t.savers.Unlock()
	t.tell(evidence.Saving, "")
	time.Sleep(t.needs())
	t.tell(evidence.Saved, "")
	if !t.acknowledges {
		return
	}
	if err := acknowledge(time.Now()); err != nil {
		t.tell(evidence.Failed, err.Error())
		return
	}
	t.tell(evidence.Acknowledged, "")
}

// needs is how long this pod takes to save.
func (t *trap) needs() time.Duration {
	if t.first > 0 && os.Getenv("JOB_COMPLETION_INDEX") == "0" {
		return t.first
	}
	return t.saving
}

func (t *trap) exit() {
	t.tell(evidence.Leaving, fmt.Sprint(t.code))
	os.Exit(t.code)
}

// saveOnce is what runs as a command in the container.
func (t *trap) saveOnce() error {
	if err := t.open(); err != nil {
		return err
	}
	t.tell(evidence.Command, strings.Join(os.Args[1:], " "))
	if t.code == 0 {
		t.save()
	}
	os.Exit(t.code)
	return nil
}
