package explain

import (
	"fmt"

	"github.com/berth-dev/berth/pkg/batch"
)

// quotas says which quota is short: how much of it is used and lent, and whose
// limit is in the way. Of a burst it is told to hundreds.
func quotas(v *batch.Verdict) string {
	return "asks " + asked(v.Facts.Asked, v.Facts.Resource) + "; " + shortage(v.Reason, &v.Facts) + "; " + when(*v)
}

func shortage(reason batch.Reason, f *batch.Facts) string {
	of := func(n batch.Amount) string { return Amount(f.Resource, n) }
	what, left := " "+noun(f.Resource), of(f.Free)+" left, "+of(f.Need)+" asked"
	uses := "ClusterQueue " + string(f.Queue) + " uses " + of(f.Used) + " of " + of(f.Limit) + what
	if reason == batch.ReasonBorrowingLimit {
		if f.Cohort != "" {
			uses = "Cohort " + string(f.Cohort) + " may have " + of(f.Limit) + what + " at most"
		}
		return uses + where(*f) + " with all that it may borrow (borrowingLimit): " + left
	}
	text := uses + " of its quota" + where(*f)
	if f.Lent > 0 {
		text += ", and has lent " + of(f.Lent)
	}
	if f.Cohort != "" {
		return text + "; with all that Cohort " + string(f.Cohort) + " can lend: " + left
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
