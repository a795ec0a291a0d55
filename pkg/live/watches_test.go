package live

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"

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

// TestACacheTellsWhatItCanNotSee: a server refuses the list, and the cache's own
// informer, which would try again for ever, is heard of.
func TestACacheTellsWhatItCanNotSee(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(http.StatusForbidden)
		_, _ = out.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"cohorts is forbidden","code":403}`))
	}))
	t.Cleanup(server.Close)
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC))
	w := &Watches{Clock: clock}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(v1alpha1.GroupVersion.WithKind("Cohort"), meta.RESTScopeRoot)
	watched, err := cache.New(&rest.Config{Host: server.URL}, cache.Options{Scheme: scheme, Mapper: mapper, DefaultWatchErrorHandler: w.Failed})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watched.GetInformer(t.Context(), &v1alpha1.Cohort{}, cache.BlockUntilSynced(false)); err != nil {
		t.Fatal(err)
	}
	go watched.Start(t.Context()) //nolint:errcheck // it ends with the test
	for deadline := time.Now().Add(time.Minute); w.Check(&v1alpha1.Cohort{}) == nil; {
		if time.Now().After(deadline) {
			t.Fatal("nobody hears of it")
		}
		clock.SetTime(clock.Now().Add(500 * time.Millisecond))
		time.Sleep(50 * time.Millisecond) // the informer has a clock of its own
	}
	if err := w.Check(&v1alpha1.Cohort{}); !strings.Contains(err.Error(), "cohorts is forbidden") {
		t.Error(err)
	}
}
