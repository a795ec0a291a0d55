package simulate

import (
	"fmt"
	"strings"
)

// The templates below are Go templates over the pod, with the functions of
// sprig and of kwok. They render YAML.

// timeLayout has fixed milliseconds: jq reads it back (instant in
// questions.jq).
const timeLayout = "2006-01-02T15:04:05.000Z"

// nowIs sets $now, and $annotations that are never nil.
const nowIs = `{{ $now := dateInZone "` + timeLayout + `" (now) "UTC" -}}
{{ $annotations := default (dict) .metadata.annotations -}}
`

// patch begins a patch with the pod's UID: the API server refuses it if a new
// pod has the name by now.
func patch(body string) string {
	return nowIs + `metadata:
  uid: {{ .metadata.uid | Quote }}
` + strings.TrimPrefix(body, "\n")
}

// conditions are those that a kubelet keeps about readiness.
func conditions(status, reason string) string {
	var b strings.Builder
	for _, kind := range []string{"Ready", "ContainersReady"} {
		fmt.Fprintf(&b, `  - type: %s
    status: "%s"
    reason: %q
    lastTransitionTime: {{ $now | Quote }}
`, kind, status, reason)
	}
	return b.String()
}

// started makes the pod Running, and Ready unless it wants time for that.
var started = `
  annotations:
    ` + startedAtAnnotation + `: {{ $now | Quote }}
{{ $ready := not (hasKey $annotations "` + ReadyAfterAnnotation + `") -}}
status:
  phase: Running
  startTime: {{ $now | Quote }}
  conditions:
  - type: Initialized
    status: "True"
    lastTransitionTime: {{ $now | Quote }}
{{ if $ready }}
` + conditions("True", "") + `{{ else }}
` + conditions("False", "ContainersNotReady") + `{{ end }}
{{ with PodIPWith .spec.nodeName (default false .spec.hostNetwork) .metadata.uid .metadata.name .metadata.namespace }}
  podIP: {{ . | Quote }}
  podIPs:
  - ip: {{ . | Quote }}
{{ end }}
{{ with .spec.initContainers }}
  initContainerStatuses:
{{ range . }}
  - name: {{ .name | Quote }}
    image: {{ default "" .image | Quote }}
    imageID: ""
    restartCount: 0
    ready: true
{{ if eq (default "" .restartPolicy) "Always" }}
    started: true
    state:
      running: {startedAt: {{ $now | Quote }}}
{{ else }}
    state:
      terminated: {exitCode: 0, reason: Completed, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }}}
{{ end }}
{{ end }}
{{ end }}
  containerStatuses:
{{ range .spec.containers }}
  - name: {{ .name | Quote }}
    image: {{ default "" .image | Quote }}
    imageID: ""
    restartCount: 0
    ready: {{ $ready }}
    started: true
    state:
      running: {startedAt: {{ $now | Quote }}}
{{ end }}
`

// becomesReady makes a running pod Ready.
var becomesReady = `
status:
  conditions:
` + conditions("True", "") + `  containerStatuses:
{{ range .spec.containers }}
  - name: {{ .name | Quote }}
    image: {{ default "" .image | Quote }}
    imageID: ""
    restartCount: 0
    ready: true
    started: true
    state:
      running: {startedAt: {{ index $annotations "` + startedAtAnnotation + `" | Quote }}}
{{ end }}
`

// exited ends the pod by itself, with the code that its author wrote.
func exited(codeByDefault int) string {
	return fmt.Sprintf(`
{{ $code := int (default "%d" (index $annotations %q)) -}}
status:
  phase: {{ if eq $code 0 }}Succeeded{{ else }}Failed{{ end }}
{{ if eq $code 0 }}
`, codeByDefault, ExitCodeAnnotation) + notReady("PodCompleted") + `{{ else }}
` + notReady("PodFailed") + `{{ end }}
` + terminated("{{ $code }}", "{{ if eq $code 0 }}Completed{{ else }}Error{{ end }}")
}

// killed ends the pod at the end of its grace, by SIGKILL.
var killed = `
status:
  phase: Failed
` + notReady("PodFailed") + terminated("137", "Error")

// deadlineExceeded ends the pod as a kubelet does at activeDeadlineSeconds.
var deadlineExceeded = `
status:
  phase: Failed
  reason: DeadlineExceeded
  message: Pod was active on the node longer than the specified deadline
` + notReady("PodFailed") + terminated("137", "Error")

// cancelled ends a pod that was deleted before it was started.
var cancelled = `
status:
  phase: Failed
  message: deleted before its containers were started
` + notReady("PodFailed")

// rejected ends a pod whose annotations make no sense, rather than run it in a
// way that its author did not mean.
var rejected = `
status:
  phase: Failed
  reason: InvalidSandboxAnnotation
  message: >-
    sandbox.berth.dev/runtime, ready-after and exits-after must be durations such as 90s, 1h30m or 1d12h,
    and exit-code a number from 0 to 255; this pod has
    {{ range $key, $value := $annotations }}{{ if hasPrefix "sandbox.berth.dev/" $key }}{{ $key }}={{ $value }} {{ end }}{{ end }}
` + notReady("PodFailed")

// terminates notes when the pod was told to end and when it will be killed.
var terminates = nowIs + `metadata:
  uid: {{ .metadata.uid | Quote }}
  annotations:
    ` + terminatedAtAnnotation + `: {{ $now | Quote }}
    ` + killedAtAnnotation + `: {{ dateInZone "` + timeLayout + `" (dateModify (printf "%vs" .metadata.deletionGracePeriodSeconds) (now)) "UTC" | Quote }}
`

func notReady(reason string) string { return "  conditions:\n" + conditions("False", reason) }

// terminated are container statuses with an exit code.
func terminated(code, reason string) string {
	return `  containerStatuses:
{{ range .spec.containers }}
  - name: {{ .name | Quote }}
    image: {{ default "" .image | Quote }}
    imageID: ""
    restartCount: 0
    ready: false
    started: false
    state:
      terminated:
        exitCode: ` + code + `
        reason: ` + reason + `
        startedAt: {{ index $annotations "` + startedAtAnnotation + `" | Quote }}
        finishedAt: {{ $now | Quote }}
{{ end }}
`
}

// nodeReady gives a node without a status one: ready, and with allocatable
// what its creator gave it as capacity.
var nodeReady = `{{ $now := dateInZone "` + timeLayout + `" (now) "UTC" -}}
status:
  conditions:
{{ range NodeConditions }}
  - type: {{ .type | Quote }}
    status: {{ .status | Quote }}
    reason: {{ .reason | Quote }}
    message: simulated node
    lastHeartbeatTime: {{ $now | Quote }}
    lastTransitionTime: {{ $now | Quote }}
{{ end }}
{{ $capacity := default (dict "cpu" "96" "memory" "1Ti" "pods" "110" "ephemeral-storage" "2Ti") .status.capacity }}
  capacity:
{{ range $name, $amount := $capacity }}
    {{ $name | Quote }}: {{ $amount | Quote }}
{{ end }}
  allocatable:
{{ range $name, $amount := default $capacity .status.allocatable }}
    {{ $name | Quote }}: {{ $amount | Quote }}
{{ end }}
`
