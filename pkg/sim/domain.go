package sim

import (
	"fmt"
	"strings"

	"github.com/berth-dev/berth/pkg/batch"
)

// checkDomain: all pods of a gang that requires one domain lie under one.
func (w *world) checkDomain(j *job, d batch.StartDecision) {
	level := j.workload.PodSets[0].Domain
	if level == "" || d.Allocation.Flavor == "" {
		return
	}
	now := w.core.Snapshot()
	flavor := now.Flavors[d.Allocation.Flavor]
	if flavor == nil || now.Topologies[flavor.Topology] == nil {
		return
	}
	paths := map[string]bool{}
	for _, placement := range d.Allocation.PodSets {
		for _, host := range placement.Hosts {
			paths[pathOf(now, now.Topologies[flavor.Topology], level, host)] = true
		}
	}
	if len(paths) != 1 || paths[""] {
		w.broke(fmt.Sprintf("pods of %s under one %s", d.ID, level), "one domain", fmt.Sprint(paths))
	}
}

// pathOf is the domain of a node on a level; empty: it is in none.
func pathOf(now batch.Snapshot, topology *batch.Topology, level string, host batch.NodeName) string {
	for _, view := range now.Nodes {
		if view.Node.Name != host {
			continue
		}
		var path []string
		for _, l := range topology.Levels {
			name, ok := view.Node.Labels[l.Label]
			if !ok {
				return ""
			}
			path = append(path, name)
			if l.Name == level {
				return "/" + strings.Join(path, "/")
			}
		}
	}
	return ""
}
