package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// blindAfter is how long a kind may not be listed or watched before we say
	// that we are blind for it: an API server that restarts is no fault of ours.
	blindAfter = 10 * time.Second
	// seesAfter is how long there must have been no error until it counts as
	// seen again: an informer tries at least once a minute.
	seesAfter = 90 * time.Second
)

// Watches knows which kinds cannot be listed or watched now: a right that was
// taken away, a CRD that was deleted. An informer keeps what it has seen and
// tries again for ever, so that all goes on from a world that stands still, and
// nothing else would show it.
type Watches struct {
	Clock clock.PassiveClock

	mu    sync.Mutex
	blind map[string]spell // by the type of the objects
}

// spell is a run of errors without a longer pause.
type spell struct {
	first, last time.Time
	err         error
	told        bool
}

// Failed is a cache's handler of errors: it notes them, and logs as client-go
// does.
func (w *Watches) Failed(ctx context.Context, r *toolscache.Reflector, err error) {
	if of, told := w.note(r.TypeDescription(), err); told {
		log.FromContext(ctx).Error(err, "objects can't be listed or watched: what is decided rests on what they were before", "type", of)
	}
	toolscache.DefaultWatchErrorHandler(ctx, r, err)
}

// note takes an error in, and says whether an operator should hear of it now.
func (w *Watches) note(of string, err error) (string, bool) {
	if errors.Is(err, io.EOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return of, false // so a watch ends, and begins anew
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.blind == nil {
		w.blind = map[string]spell{}
	}
	now := w.Clock.Now()
	s := w.blind[of]
	if now.Sub(s.last) > seesAfter {
		s = spell{first: now}
	}
	s.last, s.err = now, err
	news := !s.told && s.last.Sub(s.first) >= blindAfter
	s.told = s.told || news
	w.blind[of] = s
	return of, news
}

// Check is an error while objects of a kind can't be seen; it says why.
func (w *Watches) Check(of client.Object) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, failed := w.blind[fmt.Sprintf("%T", of)]
	if !failed || w.Clock.Now().Sub(s.last) > seesAfter || s.last.Sub(s.first) < blindAfter {
		return nil
	}
	return fmt.Errorf("%T can't be listed or watched since %s: %w", of, s.first.UTC().Format(time.RFC3339), s.err)
}
