package convert

import (
	"fmt"
	"strings"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// Topology converts a Topology.
func Topology(topology *v1alpha1.Topology) batch.Topology {
	out := batch.Topology{Name: batch.TopologyName(topology.Name)}
	for _, level := range topology.Spec.Levels {
		out.Levels = append(out.Levels, batch.TopologyLevel{Name: level.Name, Label: level.NodeLabel})
	}
	return out
}

// ParseTopology reads the annotation berth.dev/topology: the level under one
// domain of which all pods must lie.
func ParseTopology(text string) (level string, err error) {
	level, ok := strings.CutPrefix(text, "required=")
	if !ok || level == "" || !isLevel(level) {
		return "", fmt.Errorf("topology %q: write required=LEVEL, with a level of the flavor's Topology; preferred and slice are not built yet", text)
	}
	return level, nil
}

// isLevel says whether a text may be the name of a level.
func isLevel(text string) bool { return !strings.ContainsAny(text, ",= ") }

// domain is the level under one domain of which pods must lie, or why that can't
// be read.
func domain(topology *v1alpha1.PodSetTopology) (level, invalid string) {
	if topology == nil {
		return "", ""
	}
	if level = topology.Required; !isLevel(level) {
		_, err := ParseTopology(level)
		return "", err.Error()
	}
	return level, ""
}
