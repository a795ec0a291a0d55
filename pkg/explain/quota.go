package explain

import (
	"fmt"

	"github.com/berth-dev/berth/pkg/batch"
)

// quotas says which quota is short: how much of it is used and lent, and whose
// limit is in the way.
func quotas(v batch.Verdict) string {
	f := v.Facts
	return fmt.Sprintf("asks %s; %s; %s", asked(f.Asked, f.Resource), shortage(v.Reason, f), when(v))
}

func shortage(reason batch.Reason, f batch.Facts) string {
	uses := fmt.Sprintf("ClusterQueue %s uses %s of %s", f.Queue, Amount(f.Resource, f.Used), Amount(f.Resource, f.Limit))
	left := fmt.Sprintf("%s left, %s asked", Amount(f.Resource, f.Free), Amount(f.Resource, f.Need))
	if reason == batch.ReasonBorrowingLimit {
		if f.Cohort != "" {
			return fmt.Sprintf("Cohort %s may have %s %s at most%s with all that it may borrow (borrowingLimit): %s",
				f.Cohort, Amount(f.Resource, f.Limit), noun(f.Resource), where(f), left)
		}
		return fmt.Sprintf("%s %s%s with all that it may borrow (borrowingLimit): %s", uses, noun(f.Resource), where(f), left)
	}
	text := fmt.Sprintf("%s %s of its quota%s", uses, noun(f.Resource), where(f))
	if f.Lent > 0 {
		text += fmt.Sprintf(", and has lent %s", Amount(f.Resource, f.Lent))
	}
	if f.Cohort != "" {
		return fmt.Sprintf("%s; with all that Cohort %s can lend: %s", text, f.Cohort, left)
	}
	return text + ": " + left
}

// beyondQuota says that a request is more than its queue could ever have.
func beyondQuota(f batch.Facts) string {
	text := fmt.Sprintf("that is %s %s, and ClusterQueue %s could have %s at most%s", Amount(f.Resource, f.Need), noun(f.Resource), f.Queue,
		Amount(f.Resource, f.Limit), where(f))
	if f.Cohort != "" {
		return text + fmt.Sprintf(", with all that it may borrow from Cohort %s", f.Cohort)
	}
	return text + " by its quota"
}
