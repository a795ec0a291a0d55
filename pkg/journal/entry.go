package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/core"
)

// Version is that of the form of a segment.
const Version = 1

// Header begins a segment.
type Header struct {
	Journal int       `json:"journal"` // Version
	Program string    `json:"program"` // version of the program that wrote it
	Segment int       `json:"segment"`
	At      time.Time `json:"at"`
	// Lost is how many passes before this segment could not be written.
	Lost int `json:"lost,omitempty"`
}

// Mark says that a plan was made.
type Mark struct {
	At     time.Time `json:"at"`
	Digest string    `json:"digest"`
	// Issued says that the plan was carried out; it follows.
	Issued bool `json:"issued,omitempty"`
}

// Entry is a line: exactly one of the fields is set.
type Entry struct {
	Header *Header
	Image  *core.Image
	Event  batch.Event
	Mark   *Mark
}

// line is an Entry as JSON.
type line struct {
	*Header
	Image *core.Image     `json:"image,omitempty"`
	Event string          `json:"event,omitempty"`
	Of    json.RawMessage `json:"of,omitempty"`
	Plan  *Mark           `json:"plan,omitempty"`
}

// eventTypes are all events, by name.
func eventTypes() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, e := range []batch.Event{
		batch.NodeObserved{},
		batch.NodeGone{},
		batch.PodObserved{},
		batch.PodGone{},
		batch.QueueObserved{},
		batch.QueueGone{},
		batch.LocalQueueObserved{},
		batch.LocalQueueGone{},
		batch.CohortObserved{},
		batch.CohortGone{},
		batch.AccountObserved{},
		batch.AccountGone{},
		batch.FlavorObserved{},
		batch.FlavorGone{},
		batch.TopologyObserved{},
		batch.TopologyGone{},
		batch.NamespaceObserved{},
		batch.NamespaceGone{},
		batch.PolicyObserved{},
		batch.WorkloadObserved{},
		batch.WorkloadGone{},
		batch.OwnerObserved{},
		batch.PlanIssued{},
		batch.AdmitFailed{},
		batch.StartRefused{},
	} {
		types[reflect.TypeOf(e).Name()] = reflect.TypeOf(e)
	}
	return types
}

func encodeEvent(e batch.Event) (line, error) {
	of, err := json.Marshal(e)
	if err != nil {
		return line{}, fmt.Errorf("encode %T: %w", e, err)
	}
	return line{Event: reflect.TypeOf(e).Name(), Of: of}, nil
}

var errEmpty = errors.New("a line that says nothing")

// decoder decodes lines.
type decoder struct{ types map[string]reflect.Type }

func (d *decoder) decode(text []byte) (Entry, error) {
	l := line{Header: &Header{}}
	if err := json.Unmarshal(text, &l); err != nil {
		return Entry{}, err
	}
	switch {
	case l.Header.Journal != 0:
		return Entry{Header: l.Header}, nil
	case l.Image != nil:
		return Entry{Image: l.Image}, nil
	case l.Plan != nil:
		return Entry{Mark: l.Plan}, nil
	case l.Event == "":
		return Entry{}, errEmpty
	}
	kind, known := d.types[l.Event]
	if !known {
		return Entry{}, fmt.Errorf("an event of the unknown kind %q", l.Event)
	}
	value := reflect.New(kind)
	if err := json.Unmarshal(l.Of, value.Interface()); err != nil {
		return Entry{}, fmt.Errorf("%s: %w", l.Event, err)
	}
	return Entry{Event: value.Elem().Interface().(batch.Event)}, nil
}
