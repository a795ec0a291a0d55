package explain

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/berth-dev/berth/pkg/batch"
)

// Amount returns an amount as Kubernetes people write it: cores for cpu, Gi for
// memory, plain numbers for the rest.
func Amount(name batch.ResourceName, amount batch.Amount) string {
	switch {
	case name == batch.ResourceCPU && amount%1000 == 0:
		return strconv.FormatInt(int64(amount)/1000, 10)
	case name == batch.ResourceCPU:
		return fmt.Sprintf("%dm", amount)
	case name == "memory" || name == "ephemeral-storage" || strings.HasPrefix(string(name), "hugepages-"):
		return binary(int64(amount))
	}
	return strconv.FormatInt(int64(amount), 10)
}

// noun is the name of a resource in a sentence.
func noun(name batch.ResourceName) string {
	if name == batch.ResourcePods {
		return "pod slots"
	}
	return string(name)
}

func binary(n int64) string {
	units := []string{"", "Ki", "Mi", "Gi", "Ti", "Pi"}
	i := 0
	for n >= 1024 && n%1024 == 0 && i+1 < len(units) {
		n /= 1024
		i++
	}
	return fmt.Sprintf("%d%s", n, units[i])
}

// asked says what a workload asks for: "4 × 8 nvidia.com/gpu". Of several
// resources it names GPUs, else the one that is given, else all but pod slots.
func asked(asks []batch.Ask, resource batch.ResourceName) string {
	text := ""
	for i := range asks {
		if asks[i].Pods == 0 {
			continue
		}
		if text != "" {
			text += " and "
		}
		text += howMany(&asks[i]) + " × " + each(asks[i].Requests, resource)
	}
	if text == "" {
		return "no pods"
	}
	return text
}

// howMany says "4", or "2 to 4" of elastic pods.
func howMany(a *batch.Ask) string {
	if a.Least > 0 && a.Least < a.Pods {
		return fmt.Sprintf("%d to %d", a.Least, a.Pods)
	}
	return strconv.Itoa(a.Pods)
}

func each(requests batch.Resources, resource batch.ResourceName) string {
	if n := requests[batch.ResourceGPU]; n > 0 && (resource == "" || resource == batch.ResourceGPU) {
		return strconv.FormatInt(int64(n), 10) + " " + string(batch.ResourceGPU)
	}
	if n := requests[resource]; n > 0 && resource != batch.ResourcePods {
		return Amount(resource, n) + " " + string(resource)
	}
	var parts []string
	for _, name := range requests.Names() {
		if name != batch.ResourcePods && requests[name] > 0 {
			parts = append(parts, Amount(name, requests[name])+" "+string(name))
		}
	}
	if len(parts) == 0 {
		return "1 pod slot"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// pods is the fewest pods that are asked for in all.
func pods(asks []batch.Ask) int {
	n := 0
	for _, a := range asks {
		if a.Least > 0 {
			n += a.Least
		} else {
			n += a.Pods
		}
	}
	return n
}

// count says "1 node", "3 nodes".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
