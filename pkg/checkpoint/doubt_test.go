package checkpoint

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// TestWhatIsNoTimeIsTold to the pod's author, once, with the value.
func TestWhatIsNoTimeIsTold(t *testing.T) {
	t.Parallel()
	saved := func(value string) *corev1.Pod {
		p := pod("a")
		if value != "" {
			p.Annotations = map[string]string{v1alpha1.CheckpointedAtAnnotation: value}
		}
		return p
	}
	stranger := saved("yesterday")
	stranger.Labels = nil
	for _, c := range []struct {
		name     string
		old, now *corev1.Pod
		told     bool
	}{
		{"nothing", saved(""), saved(""), false},
		{"a time", saved(""), saved("2026-01-05T14:00:00Z"), false},
		{"no time", saved(""), saved("2026-02-31T14:00:00Z"), true},
		{"no time, as before", saved("yesterday"), saved("yesterday"), false},
		{"no time, on a pod of somebody else", saved(""), stranger, false},
	} {
		var told []string
		courier := &Courier{Tell: func(about *corev1.ObjectReference, _, _, _, note string) { told = append(told, about.Name+": "+note) }}
		courier.doubt(t.Context(), event.UpdateEvent{ObjectOld: c.old, ObjectNew: c.now}, nil)
		if (len(told) > 0) != c.told || c.told && !strings.HasPrefix(told[0], `a: pod team/a says in the annotation berth.dev/checkpointed-at that its work was saved at "2026-02-31T14:00:00Z"`) {
			t.Errorf("%s: told %q", c.name, told)
		}
	}
}
