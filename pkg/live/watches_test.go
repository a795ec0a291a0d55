package live

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// TestWhatCanNotBeListedIsKnown, from the second in which it is more than a
// hiccup until it has been seen again for a while.
func TestWhatCanNotBeListedIsKnown(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC))
	w := &Watches{Clock: clock}
	refused := apierrors.NewForbidden(schema.GroupResource{Group: "berth.dev", Resource: "cohorts"}, "", errors.New("no"))
	kind := toolscache.NewReflectorWithOptions(nil, &v1alpha1.Cohort{}, toolscache.NewStore(toolscache.MetaNamespaceKeyFunc), toolscache.ReflectorOptions{}).TypeDescription()
	told := 0
	for _, step := range []struct {
		name  string
		after time.Duration
		err   error
		blind bool
	}{
		{"a watch ends as watches do", 0, io.EOF, false},
		{"an error", time.Second, refused, false},
		{"another, right after", 2 * time.Second, refused, false},
		{"for ten seconds", 8 * time.Second, refused, true},
		{"a minute later still", time.Minute, refused, true},
		{"none for a minute", time.Minute, nil, true},
		{"none for longer", 31 * time.Second, nil, false},
		{"one, much later", time.Hour, refused, false},
	} {
		clock.SetTime(clock.Now().Add(step.after))
		if step.err != nil {
			if _, news := w.note(kind, step.err); news {
				told++
			}
		}
		err := w.Check(&v1alpha1.Cohort{})
		if (err != nil) != step.blind || err != nil && !strings.Contains(err.Error(), "*v1alpha1.Cohort can't be listed or watched since 2026-03-02T08:00:01Z: cohorts.berth.dev is forbidden") {
			t.Errorf("%s: %v", step.name, err)
		}
		if err := w.Check(&corev1.Pod{}); err != nil {
			t.Errorf("%s: of pods: %v", step.name, err)
		}
	}
	if told != 1 {
		t.Errorf("an operator is told %d times", told)
	}
}
