package scenario

import (
	"fmt"

	"github.com/berth-dev/berth/pkg/batch"
)

// notes say what a cluster allows as well, and is hardly what was meant: a Cohort
// that is named and does not exist.
func (f *File) notes() []string {
	objects := append([]Object(nil), f.Objects...)
	for i := range f.Events {
		objects = append(objects, f.Events[i].Apply...)
	}
	made := map[batch.CohortName]bool{}
	for _, o := range objects {
		if seen, ok := o.Seen.(batch.CohortObserved); ok {
			made[seen.Cohort.Name] = true
		}
	}
	var notes []string
	told := map[string]bool{}
	for _, o := range objects {
		name := batch.CohortName("")
		switch seen := o.Seen.(type) {
		case batch.QueueObserved:
			name = seen.Queue.Cohort
		case batch.CohortObserved:
			name = seen.Cohort.Parent
		}
		if name == "" || made[name] {
			continue
		}
		text := fmt.Sprintf("%s %s names Cohort %s, which no object describes: nothing is borrowed or lent by it", o.Kind, o.Name, name)
		if !told[text] {
			told[text] = true
			notes = append(notes, text)
		}
	}
	return notes
}
