package apply

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/berth-dev/berth/pkg/convert"
	"github.com/berth-dev/berth/pkg/metrics"
)

const (
	// heraldQueue is how many Events may wait to be written. They are for
	// people: when more happens than anybody reads, the rest is left out, and
	// the metric of writes says so.
	heraldQueue = 4096
	heralds     = 2

	// controllerName is who an Event comes from.
	controllerName = "berth"

	nameMax = 253 - 17 // of an object, less the dot and 16 digits
	noteMax = 1024
)

// herald writes Events. client-go's recorder would merge two Events that have
// the same reason within some minutes and keep the first one's text: "planned
// to start at 12:00" would stay, and that it has become 14:00 would only count.
type herald struct {
	client   client.Client
	clock    clock.PassiveClock
	metrics  *metrics.Set
	instance string
	queue    chan *eventsv1.Event
}

func newHerald(c client.Client, clock clock.PassiveClock, m *metrics.Set) *herald {
	instance, err := os.Hostname()
	if err != nil {
		instance = "unknown"
	}
	return &herald{
		client: c, clock: clock, metrics: m,
		instance: convert.Cut(controllerName+"-"+instance, 128), queue: make(chan *eventsv1.Event, heraldQueue),
	}
}

// news is what an Event says.
type news struct {
	kind   string // corev1.EventTypeNormal or EventTypeWarning
	reason string
	action string
	note   string
}

// tell hands an Event over to be written. It never blocks.
func (h *herald) tell(owner *corev1.ObjectReference, n news) {
	now := h.clock.Now()
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.Namespace,
			// As every recorder does: unique by the time in nanoseconds.
			Name: fmt.Sprintf("%s.%x", convert.Cut(owner.Name, nameMax), now.UnixNano()),
		},
		EventTime:           metav1.NewMicroTime(now),
		ReportingController: controllerName,
		ReportingInstance:   h.instance,
		Action:              n.action,
		Reason:              n.reason,
		Regarding:           *owner,
		Note:                convert.Cut(n.note, noteMax),
		Type:                n.kind,
	}
	select {
	case h.queue <- event:
	default:
		h.metrics.Wrote("event", metrics.ResultDropped)
	}
}

// run writes until the context ends.
func (h *herald) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-h.queue:
			h.write(ctx, event)
		}
	}
}

func (h *herald) write(ctx context.Context, event *eventsv1.Event) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err := h.client.Create(ctx, event)
	if err == nil {
		h.metrics.Wrote("event", metrics.ResultOK)
		return
	}
	// A namespace that is going, an object that is gone: nobody reads it.
	h.metrics.Wrote("event", metrics.ResultFailed)
	log.FromContext(ctx).V(1).Info("an Event could not be written", "regarding", event.Regarding.Name, "reason", event.Reason, "error", err.Error())
}
