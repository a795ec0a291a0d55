package convert

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// Means is how a notice reaches a pod: what its author wrote beside the kind of
// delivery. Which fields are set depends on the delivery.
type Means struct {
	Signal    string   // without SIG: USR1
	Command   []string // the first is a path
	Port      int
	Path      string // begins with /
	Container string // empty: the first
}

// checkpointForms are what an error shows: an example of each.
const checkpointForms = `write term, signal=USR1, exec=/save.sh now, http=:8080/checkpoint or annotation, ` +
	`and after commas lead=5m, every=10m, container=NAME`

// The parts of a berth.dev/checkpoint. The admission policy berth-option-guard
// has the same: what it lets pass can be read here.
var (
	checkpointOption = regexp.MustCompile(`^(lead|every|container)=`)
	signalName       = regexp.MustCompile(`^(SIG)?(HUP|INT|QUIT|USR1|USR2|ALRM|TERM|CONT|URG|WINCH)$`)
	httpTarget       = regexp.MustCompile(`^:([1-9][0-9]{0,4})(/[!-~]*)?$`)
	containerName    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
)

const portMax = 65535

var (
	errLeadForNobody = errors.New("lead says how long before the deadline the job is told, and with term nothing of it would hear: " +
		"choose signal, exec, http or annotation")
	errNoContainer = errors.New("container names where a signal or a command goes; leave it out")
)

// ParseCheckpoint reads a berth.dev/checkpoint: a delivery, and options after
// commas. An error says what to write.
func ParseCheckpoint(text string) (batch.Checkpoint, Means, error) {
	var r reading
	if err := r.read(text); err != nil {
		return batch.Checkpoint{}, Means{}, fmt.Errorf("checkpoint %q: %w", text, err)
	}
	return r.Checkpoint, r.means, nil
}

// reading is a berth.dev/checkpoint as far as it has been read.
type reading struct {
	batch.Checkpoint
	means Means
}

func (r *reading) read(text string) error {
	delivery, options := splitCheckpoint(strings.TrimSpace(text))
	if err := r.readDelivery(delivery); err != nil {
		return fmt.Errorf("%w; %s", err, checkpointForms)
	}
	seen := map[string]bool{}
	for _, option := range options {
		name, _, _ := strings.Cut(option, "=")
		if seen[name] {
			return fmt.Errorf("%s stands there twice; %s", name, checkpointForms)
		}
		seen[name] = true
		if err := r.readOption(option); err != nil {
			return fmt.Errorf("%w; %s", err, checkpointForms)
		}
	}
	switch {
	case r.Lead > 0 && r.Delivery == batch.DeliverTerm:
		return errLeadForNobody
	case r.means.Container != "" && r.Delivery != batch.DeliverSignal && r.Delivery != batch.DeliverExec:
		return errNoContainer
	}
	return nil
}

// splitCheckpoint tells the delivery from its options. A command may have
// commas of its own: the options are the last parts that look like one.
func splitCheckpoint(text string) (delivery string, options []string) {
	parts := strings.Split(text, ",")
	first := len(parts)
	for first > 0 && checkpointOption.MatchString(strings.TrimSpace(parts[first-1])) {
		first--
	}
	for _, option := range parts[first:] {
		options = append(options, strings.TrimSpace(option))
	}
	return strings.TrimSpace(strings.Join(parts[:first], ",")), options
}

func (r *reading) readDelivery(text string) error {
	kind, value, valued := strings.Cut(text, "=")
	switch {
	case text == "", text == "term":
		r.Delivery = batch.DeliverTerm
	case text == string(batch.DeliverAnnotation):
		r.Delivery = batch.DeliverAnnotation
	case kind == string(batch.DeliverSignal) && signalName.MatchString(value):
		r.Delivery, r.means.Signal = batch.DeliverSignal, strings.TrimPrefix(value, "SIG")
	case kind == string(batch.DeliverHTTP) && httpTarget.MatchString(value):
		r.Delivery = batch.DeliverHTTP
		port, path, _ := strings.Cut(value[1:], "/")
		r.means.Port, _ = strconv.Atoi(port) // at most five digits
		r.means.Path = "/" + path
		if r.means.Port > portMax {
			return fmt.Errorf("there is no port %d", r.means.Port)
		}
	case kind == string(batch.DeliverExec) && strings.HasPrefix(value, "/"):
		words, err := splitWords(value)
		if err != nil {
			return err
		}
		r.Delivery, r.means.Command = batch.DeliverExec, words
	case valued && kind == string(batch.DeliverExec):
		return fmt.Errorf("the command %q must begin with a path", value)
	default:
		return fmt.Errorf("%q is no delivery", text)
	}
	return nil
}

func (r *reading) readOption(text string) error {
	name, value, _ := strings.Cut(text, "=")
	if name == "container" {
		if !containerName.MatchString(value) {
			return fmt.Errorf("%q is no name of a container", value)
		}
		r.means.Container = value
		return nil
	}
	long, err := batch.ParseDuration(value)
	switch {
	case err != nil:
		return err
	case long <= 0:
		return fmt.Errorf("%s must be longer than 0s", name)
	case name == "lead":
		r.Lead = long
	default:
		r.Every = long
	}
	return nil
}

// splitWords splits a command at its spaces. Quotes, single or double, keep
// words together; nothing else is special, as there is no shell.
func splitWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun, quote := false, rune(0)
	for _, letter := range text {
		switch {
		case quote != 0 && letter == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(letter)
		case letter == '\'' || letter == '"':
			quote, begun = letter, true
		case letter == ' ':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(letter)
			begun = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("the quote %c is never closed", quote)
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// ParseGrace reads a berth.dev/cancel: how much time is granted, "0" for none.
func ParseGrace(text string) (time.Duration, error) {
	if strings.TrimSpace(text) == "0" {
		return 0, nil
	}
	long, err := batch.ParseDuration(strings.TrimSpace(text))
	if err != nil {
		return 0, fmt.Errorf(`%w; "0" ends it at once`, err)
	}
	return long, nil
}
