package published_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/controller/published"
)

// TestOnlyWhatDiffersIsAskedFor: what is new and what has changed, in order;
// what is gone has no status to be written.
func TestOnlyWhatDiffersIsAskedFor(t *testing.T) {
	t.Parallel()
	sum := func(running int) batch.QueueSummary { return batch.QueueSummary{Running: running} }
	before := map[batch.QueueName]batch.QueueSummary{"same": sum(1), "changed": sum(1), "gone": sum(1)}
	after := map[batch.QueueName]batch.QueueSummary{"same": sum(1), "changed": sum(2), "a-new-one": sum(0)}
	var got []string
	for _, object := range published.Differing(before, after, func(name batch.QueueName) client.Object {
		return &v1alpha1.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: string(name)}}
	}) {
		got = append(got, object.GetName())
	}
	if diff := cmp.Diff([]string{"a-new-one", "changed"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
