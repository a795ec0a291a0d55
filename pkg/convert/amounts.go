package convert

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-dev/berth/pkg/batch"
)

// Resources converts a list of quantities: thousandths of a core for cpu,
// whole units (rounded up, as kube-scheduler does) for everything else.
func Resources(list corev1.ResourceList) batch.Resources {
	out := make(batch.Resources, len(list))
	for name, quantity := range list { //order:any each entry is set by itself
		out[batch.ResourceName(name)] = amount(batch.ResourceName(name), quantity)
	}
	return out
}

// amount converts one quantity; one that is too large to count is the largest
// amount there is.
func amount(name batch.ResourceName, quantity resource.Quantity) batch.Amount {
	if name != batch.ResourceCPU {
		if quantity.Cmp(*resource.NewQuantity(math.MaxInt64, resource.DecimalSI)) > 0 {
			return math.MaxInt64
		}
		return batch.Amount(quantity.Value())
	}
	if quantity.Cmp(*resource.NewMilliQuantity(math.MaxInt64, resource.DecimalSI)) > 0 {
		return math.MaxInt64
	}
	return batch.Amount(quantity.MilliValue())
}

// Quantity is an amount of a resource as Kubernetes writes it ("1500m", "64Gi").
func Quantity(name batch.ResourceName, amount batch.Amount) string {
	switch {
	case name == batch.ResourceCPU:
		return resource.NewMilliQuantity(int64(amount), resource.DecimalSI).String()
	case name == batch.ResourceName(corev1.ResourceMemory), name == batch.ResourceName(corev1.ResourceEphemeralStorage):
		return resource.NewQuantity(int64(amount), resource.BinarySI).String()
	default:
		return resource.NewQuantity(int64(amount), resource.DecimalSI).String()
	}
}

// SecondsLeft is the time to a deadline as activeDeadlineSeconds, rounded up,
// or the author's own limit if that is shorter. At least a second: the API
// server refuses 0.
func SecondsLeft(own *int64, left time.Duration) int64 {
	seconds := max(1, int64((left+time.Second-1)/time.Second))
	if own != nil {
		return min(seconds, *own)
	}
	return seconds
}
