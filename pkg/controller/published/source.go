// Package published turns the live driver's views into reconcile requests: the
// controllers of queues write what the driver counted, not what they count.
package published

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/berth-dev/berth/pkg/live"
)

// pause is the shortest time between two looks at the view: numbers in a
// queue's status may be half a second old, and a storm of starts costs two
// writes a second for each queue, not one for each start.
const pause = 500 * time.Millisecond

// buffer is how many requests may wait for the controller.
const buffer = 1024

// Source sends a request for each queue whose numbers have changed.
type Source struct {
	driver *live.Driver
	clock  clock.Clock
	signal chan struct{}
	shown  atomic.Pointer[live.View]
	events chan event.GenericEvent
	// changed lists the objects whose numbers differ between two views.
	changed func(before, after *live.View) []client.Object
}

// Differing are the objects of what differs between the same part of two views,
// in order.
func Differing[K cmp.Ordered, V any](before, after map[K]V, object func(K) client.Object) []client.Object {
	var out []client.Object
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if old, known := before[name]; !known || !reflect.DeepEqual(old, after[name]) {
			out = append(out, object(name))
		}
	}
	return out
}

// NewSource makes a source; it must be made before the driver runs, and added
// to the manager.
func NewSource(driver *live.Driver, clock clock.Clock, changed func(before, after *live.View) []client.Object) *Source {
	s := &Source{
		driver: driver, clock: clock, changed: changed,
		signal: make(chan struct{}, 1),
		events: make(chan event.GenericEvent, buffer),
	}
	driver.Subscribe(s.signal)
	return s
}

// Events is the channel that the controller reads.
func (s *Source) Events() <-chan event.GenericEvent { return s.events }

// View is the view whose changes have been sent; nil before the first. The
// controllers write this one and not the driver's newest: a number that was
// written from a view that the source never compared would stay when the next
// view is again as the one before.
func (s *Source) View() *live.View { return s.shown.Load() }

// Start implements manager.Runnable.
func (s *Source) Start(ctx context.Context) error {
	before := &live.View{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.signal:
		}
		after := s.driver.View()
		s.shown.Store(after)
		for _, object := range s.changed(before, after) {
			select {
			case s.events <- event.GenericEvent{Object: object}:
			case <-ctx.Done():
				return nil
			}
		}
		before = after
		select {
		case <-ctx.Done():
			return nil
		case <-s.clock.After(pause):
		}
	}
}
