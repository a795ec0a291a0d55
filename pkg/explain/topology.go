package explain

import (
	"fmt"
	"strings"

	"github.com/berth-dev/berth/pkg/batch"
)

// Loose says that what was to keep pods together does not, and what would; empty:
// there is nothing to say.
func Loose(l batch.Loose) string {
	switch {
	case l.Level == "":
		return ""
	case l.Flavor == "":
		return fmt.Sprintf("required=%s (berth.dev/topology) keeps nothing together, as ClusterQueue %s has no ResourceFlavor with a Topology", l.Level, l.Queue)
	}
	return fmt.Sprintf("required=%s (berth.dev/topology) keeps nothing together, as ResourceFlavor %s names no Topology", l.Level, l.Flavor)
}

// noDomain says why no domain of a level could ever hold a gang.
func noDomain(f batch.Facts) string {
	switch f.Bound {
	case "topology":
		return fmt.Sprintf("all in one %s (berth.dev/topology), and Topology %s of ResourceFlavor %s does not exist", f.Level, f.Text, f.Flavor)
	case "level":
		name, levels, _ := strings.Cut(f.Text, ": ")
		return fmt.Sprintf("all in one %s (berth.dev/topology), and Topology %s has no such level, but %s", f.Level, name, levels)
	case "domain labels":
		return fmt.Sprintf("all in one %s (berth.dev/topology), and no node has the labels of that level in Topology %s", f.Level, f.Text)
	case "domains":
		return fmt.Sprintf("all in one %s (berth.dev/topology), and Topology %s has more than %d of them, which are not looked through", f.Level, f.Text, f.Limit)
	}
	return fmt.Sprintf("all in one %s (berth.dev/topology), and even when empty %s%s, which holds most of them, has room for %d of %d such pods", f.Level, f.Text, where(f), f.Limit, f.Need)
}
