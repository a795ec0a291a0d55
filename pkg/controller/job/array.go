package job

import (
	"context"
	"fmt"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/framework"
)

// EventMembersMissing is the reason of the Event on an array of which members
// might exist that the Job controller does not make.
const EventMembersMissing = "MembersMissing"

// stallsAfter is how long the members of an array may be missing, and none
// come, before people hear of it.
const stallsAfter = 15 * time.Second

// array lets the pods of an array be made, once: they wait one by one. Then it
// looks after those that do not come.
func (r *Reconciler) array(ctx context.Context, job *batchv1.Job) (ctrl.Result, error) {
	key := client.ObjectKeyFromObject(job)
	_, cancelled := job.Annotations[v1alpha1.CancelAnnotation]
	switch {
	case ended(job):
		r.stalls.forget(key)
	case cancelled:
		r.stalls.forget(key)
		return ctrl.Result{}, r.cancelArray(ctx, job)
	case !suspended(job):
		return ctrl.Result{RequeueAfter: r.watchMembers(job)}, nil
	case framework.Suspended(job) && job.Status.Active == 0:
		return ctrl.Result{}, r.change(ctx, job, "start array", func(job *batchv1.Job) { framework.Job{}.StartArray(job) })
	}
	return ctrl.Result{}, nil
}

// watchMembers tells by an Event on the Job when members that might exist are
// not made: a ResourceQuota or an admission policy refuses their pods. They
// have no workload that could say so. It returns when to look again; zero: when
// the Job changes.
func (r *Reconciler) watchMembers(job *batchv1.Job) time.Duration {
	members, key := framework.MembersOf(job), client.ObjectKeyFromObject(job)
	if members.Missing() == 0 {
		r.stalls.forget(key)
		return 0
	}
	left, tell := r.stalls.note(key, members.Exist, r.Clock.Now())
	if tell {
		r.Recorder.Eventf(job, nil, corev1.EventTypeWarning, EventMembersMissing, "Wait", "%s", missingNote(job, members))
	}
	return left
}

func missingNote(job *batchv1.Job, m framework.Members) string {
	return fmt.Sprintf("%d of the %d members that may exist at a time are not there, and none has come for %s; "+
		"what keeps their pods from being made stands in the Job controller's Events (kubectl events --for=job/%s)",
		m.Missing(), min(m.AtOnce, m.Exist+m.Unmade()), stallsAfter, job.Name)
}

// stalls remembers of which arrays members are missing. It is no memory of a
// decision: after a restart it is told again.
type stalls struct {
	mu   sync.Mutex
	jobs map[types.NamespacedName]stall
}

type stall struct {
	exist int
	since time.Time
	told  bool
}

// note takes in how many members exist, and says after how long to look again
// (zero: no need) and whether to tell of it now.
func (s *stalls) note(key types.NamespacedName, exist int, now time.Time) (left time.Duration, tell bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.jobs == nil {
		s.jobs = map[types.NamespacedName]stall{}
	}
	is, known := s.jobs[key]
	if !known || exist > is.exist {
		is = stall{since: now} // some have come
	}
	is.exist = exist
	left = is.since.Add(stallsAfter).Sub(now)
	tell = left <= 0 && !is.told
	is.told = is.told || tell
	s.jobs[key] = is
	return max(left, 0), tell
}

func (s *stalls) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.jobs, key)
}
