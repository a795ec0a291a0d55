package admission

import (
	"errors"
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// guardQuotas refuses quotas that are too large to be counted: what the admission
// policy berth-quota-guard does, in the same words.
func guardQuotas(object *unstructured.Unstructured) error {
	flavors, _, _ := unstructured.NestedSlice(object.Object, "spec", "flavors")
	var tooLarge []string
	for _, f := range flavors {
		flavor, _ := f.(map[string]any)
		resources, _, _ := unstructured.NestedSlice(flavor, "resources")
		for _, r := range resources {
			quota, _ := r.(map[string]any)
			for _, field := range []string{"nominalQuota", "borrowingLimit", "lendingLimit"} {
				if value, set := quota[field]; set {
					tooLarge = append(tooLarge, countless(field, fmt.Sprint(quota["name"]), fmt.Sprint(flavor["name"]), fmt.Sprint(value))...)
				}
			}
		}
	}
	if len(tooLarge) > 0 {
		return errors.New(strings.Join(tooLarge, ", "))
	}
	return nil
}

// countless says that the amount of a field is too large to be counted; nil: it is not.
func countless(field, name, flavor, text string) []string {
	most, words := resource.NewQuantity(math.MaxInt64, resource.DecimalSI), fmt.Sprint(math.MaxInt64)
	if name == string(corev1.ResourceCPU) {
		most, words = resource.NewMilliQuantity(math.MaxInt64, resource.DecimalSI), fmt.Sprint(math.MaxInt64/1000)
	} else if text == words {
		return nil
	}
	// A quantity that is larger than the largest is read as that.
	if amount, err := resource.ParseQuantity(text); err != nil || amount.Cmp(*most) < 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s of %s in flavor %s is %s: %s is counted up to %s; write that, or less", field, name, flavor, text, name, words)}
}
