package scenario

import (
	"maps"
	"slices"
)

// absentFields are the fields of the format whose behaviour this version does
// not have, with what is missing. When a behaviour comes, its line goes.
func absentFields() map[string]string {
	absent := map[string]string{
		"spec.jobs[].qos":       "service classes (qos)",
		"spec.jobs[].nice":      "multifactor priority (nice)",
		"spec.events[].set.qos": "service classes (qos)",
	}
	absent["spec.jobs[].podSets[].topology"] = "topology of single pod sets (topology)"
	for _, field := range []string{"preferred", "slice"} {
		absent["spec.jobs[].topology."+field] = "topology." + field
	}
	for field, what := range map[string]string{ //order:any each sets its own entry
		"account": "accounts", "user": "fair share and limits by user", "usage": "fair share", "share": "fair share",
		"priority": "multifactor priority", "parts": "multifactor priority",
	} {
		absent["spec.expect[]."+field] = what + " (" + field + ")"
	}
	return absent
}

// Absent lists the fields that this version refuses, by path.
func Absent() []string { return slices.Sorted(maps.Keys(absentFields())) }
