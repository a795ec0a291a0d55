package convert

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
)

// Cohort converts a Cohort.
func Cohort(cohort *v1alpha1.Cohort) batch.Cohort {
	out := batch.Cohort{Name: batch.CohortName(cohort.Name), Parent: batch.CohortName(cohort.Spec.ParentName)}
	for _, flavor := range cohort.Spec.Flavors {
		out.Quotas = withQuotas(out.Quotas, flavor.Name, flavor.Resources)
	}
	return out
}

// withQuotas adds the quotas of a flavor; one without any adds nothing.
func withQuotas(quotas batch.Quotas, flavor string, list []v1alpha1.FlavorQuota) batch.Quotas {
	if len(list) == 0 {
		return quotas
	}
	if quotas == nil {
		quotas = batch.Quotas{}
	}
	of := map[batch.ResourceName]batch.Quota{}
	for i := range list {
		name := batch.ResourceName(list[i].Name)
		of[name] = batch.Quota{
			Nominal: amount(name, list[i].NominalQuota),
			Borrow:  limit(name, list[i].BorrowingLimit),
			Lend:    limit(name, list[i].LendingLimit),
		}
	}
	quotas[batch.FlavorName(flavor)] = of
	return quotas
}

func limit(name batch.ResourceName, quantity *resource.Quantity) batch.Limit {
	if quantity == nil {
		return batch.Limit{}
	}
	return batch.LimitOf(amount(name, *quantity))
}
