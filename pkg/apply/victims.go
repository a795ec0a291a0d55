package apply

import "github.com/berth-dev/berth/pkg/batch"

// victims are those whose notice waits until their preemptor's nomination is
// written: were the controller to die between the two, a nomination without
// notices is found and carried on, but a notice without a nomination would have
// made room for nobody in particular.
//
// The zero value holds nobody.
type victims struct {
	of     map[batch.WorkloadID][]batch.WorkloadID // by preemptor
	makers map[batch.WorkloadID]batch.WorkloadID   // by victim
}

// hold holds the victims of all preemptors that a plan nominates.
func (v *victims) hold(plan batch.Plan) {
	nominated := map[batch.WorkloadID]bool{}
	for _, d := range plan.Nominate {
		nominated[d.ID] = d.Nomination != nil
	}
	for _, d := range plan.Evict {
		if preemptor := d.Eviction.For; nominated[preemptor] {
			if v.of == nil {
				v.of, v.makers = map[batch.WorkloadID][]batch.WorkloadID{}, map[batch.WorkloadID]batch.WorkloadID{}
			}
			v.of[preemptor] = append(v.of[preemptor], d.ID)
			v.makers[d.ID] = preemptor
		}
	}
}

// held says whether the decisions about a workload must wait.
func (v *victims) held(id batch.WorkloadID) bool {
	_, waits := v.makers[id]
	return waits
}

// release frees the victims of a preemptor and returns them.
func (v *victims) release(preemptor batch.WorkloadID) []batch.WorkloadID {
	freed := v.of[preemptor]
	delete(v.of, preemptor)
	for _, id := range freed {
		delete(v.makers, id)
	}
	return freed
}
