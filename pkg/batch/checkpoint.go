package batch

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
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

// ParseCheckpoint reads a berth.dev/checkpoint: a delivery, and options after
// commas. An error says what to write.
func ParseCheckpoint(text string) (Checkpoint, Means, error) {
	delivery, options := splitCheckpoint(strings.TrimSpace(text))
	var c Checkpoint
	var m Means
	if err := c.readDelivery(&m, delivery); err != nil {
		return Checkpoint{}, Means{}, fmt.Errorf("checkpoint %q: %w; %s", text, err, checkpointForms)
	}
	for _, option := range options {
		if err := c.readOption(&m, option); err != nil {
			return Checkpoint{}, Means{}, fmt.Errorf("checkpoint %q: %w; %s", text, err, checkpointForms)
		}
	}
	switch {
	case c.Lead > 0 && c.Delivery == DeliverTerm:
		return Checkpoint{}, Means{}, fmt.Errorf("checkpoint %q: lead says when the notice before the deadline is given, "+
			"and with term nothing would hear of it: choose signal, exec, http or annotation", text)
	case m.Container != "" && c.Delivery != DeliverSignal && c.Delivery != DeliverExec:
		return Checkpoint{}, Means{}, fmt.Errorf("checkpoint %q: container names where a signal or a command goes; leave it out", text)
	}
	return c, m, nil
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

func (c *Checkpoint) readDelivery(m *Means, text string) error {
	kind, value, valued := strings.Cut(text, "=")
	switch {
	case text == "", text == "term":
		c.Delivery = DeliverTerm
	case text == string(DeliverAnnotation):
		c.Delivery = DeliverAnnotation
	case kind == string(DeliverSignal) && signalName.MatchString(value):
		c.Delivery, m.Signal = DeliverSignal, strings.TrimPrefix(value, "SIG")
	case kind == string(DeliverHTTP) && httpTarget.MatchString(value):
		c.Delivery = DeliverHTTP
		port, path, _ := strings.Cut(value[1:], "/")
		m.Port, _ = strconv.Atoi(port) // at most five digits
		m.Path = "/" + path
		if m.Port > portMax {
			return fmt.Errorf("there is no port %d", m.Port)
		}
	case kind == string(DeliverExec) && strings.HasPrefix(value, "/"):
		words, err := splitWords(value)
		if err != nil {
			return err
		}
		c.Delivery, m.Command = DeliverExec, words
	case valued && kind == string(DeliverExec):
		return fmt.Errorf("the command %q must begin with a path", value)
	default:
		return fmt.Errorf("%q is no delivery", text)
	}
	return nil
}

func (c *Checkpoint) readOption(m *Means, text string) error {
	name, value, _ := strings.Cut(text, "=")
	if name == "container" {
		if !containerName.MatchString(value) {
			return fmt.Errorf("%q is no name of a container", value)
		}
		m.Container = value
		return nil
	}
	long, err := ParseDuration(value)
	switch {
	case err != nil:
		return err
	case long <= 0:
		return fmt.Errorf("%s must be longer than 0s", name)
	case name == "lead":
		c.Lead = long
	default:
		c.Every = long
	}
	return nil
}

// splitWords splits a command at its spaces. Quotes, single or double, keep
// words together; nothing else is special, as there is no shell.
func splitWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun, quote := false, rune(0)
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
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
	long, err := ParseDuration(strings.TrimSpace(text))
	if err != nil {
		return 0, fmt.Errorf(`%w; "0" ends it at once`, err)
	}
	return long, nil
}
