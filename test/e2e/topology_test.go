package e2e

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/sandbox/simulate"
)

// TestAGangWaitsForOneRack: two nodes are idle in two racks, and a gang that
// requires one starts when a rack is whole, in that rack.
func TestAGangWaitsForOneRack(t *testing.T) {
	t.Parallel()
	team := newTeam(t)
	group := nodeGroup(4, map[string]string{gpu: "8"})
	group.Racks = 2
	nodes := team.addNodes(group)
	room := &v1alpha1.Topology{ObjectMeta: metav1.ObjectMeta{Name: team.name}, Spec: v1alpha1.TopologySpec{Levels: []v1alpha1.TopologyLevel{
		{Name: "rack", NodeLabel: simulate.RackLabel}, {Name: "host", NodeLabel: "kubernetes.io/hostname"},
	}}}
	flavor := &v1alpha1.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: team.name}}
	team.edit(flavor, func() { flavor.Spec.TopologyName = team.name })

	left := team.submit(job("left", gpus(8), walltime("10m"), on(nodes[0])))
	right := team.submit(job("right", gpus(8), walltime("20m"), on(nodes[2])))
	left.mustRun()
	right.mustRun()
	pair := team.submit(job("pair", pods(2), gpus(8), walltime("10m"), annotated(v1alpha1.TopologyAnnotation, "required=rack")))
	pair.mustWait("NeverFits", "Topology "+team.name+" of ResourceFlavor "+team.name+" does not exist")
	team.create(room)
	t.Cleanup(func() { team.remove(room) })
	waits := pair.mustWait("Topology", "in one rack", "room for 1 of 2 pods now")
	if waits.Status.PlannedStartTime == nil {
		t.Error("it has no planned start")
	}
	left.mustBeDeleted()
	hosts := hostsOf(pair.mustRun())
	slices.Sort(hosts)
	if !slices.Equal(hosts, nodes[:2]) {
		t.Errorf("it runs on %v, want %v", hosts, nodes[:2])
	}
}
