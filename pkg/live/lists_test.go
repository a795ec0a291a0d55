package live_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/live"
)

// What decides who is let in, and what a level of a topology is, is heard of
// before the work that it decides about.
func TestAccountsAndTopologiesAreHeardOfBeforeWork(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&v1alpha1.Account{ObjectMeta: metav1.ObjectMeta{Name: "lab"}, Spec: v1alpha1.AccountSpec{ParentName: "root", Users: []v1alpha1.AccountUser{{Name: "ann"}}}},
		&v1alpha1.Topology{ObjectMeta: metav1.ObjectMeta{Name: "room"}, Spec: v1alpha1.TopologySpec{Levels: []v1alpha1.TopologyLevel{{Name: "rack", NodeLabel: "r"}}}},
		&v1alpha1.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: v1alpha1.ResourceFlavorSpec{TopologyName: "room"}},
		&v1alpha1.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "door"}, Spec: v1alpha1.LocalQueueSpec{ClusterQueueNames: []string{"q"}, AccountName: "lab"}},
	).Build()
	var heard []batch.Event
	observe := func(e batch.Event) {
		if _, policy := e.(batch.PolicyObserved); !policy {
			heard = append(heard, e)
		}
	}
	if err := live.Lists(t.Context(), reader, clocktesting.NewFakePassiveClock(time.Unix(0, 0)), observe); err != nil {
		t.Fatal(err)
	}
	want := []batch.Event{
		batch.TopologyObserved{Topology: batch.Topology{Name: "room", Levels: []batch.TopologyLevel{{Name: "rack", Label: "r"}}}},
		batch.FlavorObserved{Flavor: batch.Flavor{Name: "gpu", Topology: "room"}},
		batch.AccountObserved{Account: batch.Account{Name: "lab", Parent: "root", Users: []string{"ann"}}},
		batch.LocalQueueObserved{LocalQueue: batch.LocalQueue{Name: "ns/door", Queues: []batch.QueueName{"q"}, Account: "lab"}},
	}
	if diff := cmp.Diff(want, heard); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
