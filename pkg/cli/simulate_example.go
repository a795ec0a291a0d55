package cli

import "strings"

// exampleScenario is the scenario that the help shows.
const exampleScenario = `apiVersion: sim.berth.dev/v1alpha1
kind: Scenario
metadata: {name: short-job-in-the-gap}
spec:
  about: A short job runs in the gap before a planned gang.
  nodes:
  - {prefix: n, count: 2, resources: {cpu: "96", nvidia.com/gpu: "8"}}
  jobs:
  - {name: first, at: 0m, requests: {nvidia.com/gpu: 8}, walltime: 1h}
  - {name: gang, at: 1m, pods: 2, requests: {nvidia.com/gpu: 8}, walltime: 1h}
  - {name: short, at: 2m, requests: {nvidia.com/gpu: 8}, walltime: 50m}
  expect:
  - {at: 5m, job: gang, state: Pending, plannedStart: 1h}
  - {job: short, start: 2m, via: Backfill}
  - {job: gang, start: 1h}
`

// indent sets a text off from what is around it.
func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("  " + line)
	}
	return b.String()
}
