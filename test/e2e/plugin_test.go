package e2e

import (
	"fmt"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// complaint is what the admission plugin of B20 says.
const complaint = "bad security context, says the plugin"

// denyBadPods makes an admission plugin that refuses every update of a pod with
// label x=bad in the team's namespace, and waits until it is in effect.
func (t *team) denyBadPods() {
	t.t.Helper()
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: t.name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: t.name}},
				ObjectSelector:    &metav1.LabelSelector{MatchLabels: map[string]string{"x": "bad"}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
				}}},
			},
			Validations: []admissionv1.Validation{{Expression: "false", Message: complaint}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: t.name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: t.name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	for _, object := range []client.Object{policy, binding} {
		t.create(object)
		t.t.Cleanup(func() { t.remove(object) })
	}
	probe := unmanaged("probe", "nowhere", 0)
	probe.Namespace, probe.Labels = t.name, map[string]string{"x": "bad"}
	t.create(probe)
	t.eventually(patience, "the plugin is in effect", func() (string, bool) {
		err := t.tryEdit(t.client, probe, func() { probe.Annotations["e2e/probe"] = time.Now().String() })
		return fmt.Sprint(err), err != nil
	})
	t.remove(probe)
}

// TestB20ARefusedStartHoldsNothing: where an admission plugin refuses the
// release of a pod, the start is given up, said in the plugin's own words, and
// whoever waited for the GPUs gets them.
func TestB20ARefusedStartHoldsNothing(t *testing.T) {
	t.Parallel()
	for name, submitBad := range map[string]func(*team) *work{
		"Pod": func(team *team) *work {
			pod := queuedPod("bad", 1, 0)
			pod.Labels["x"] = "bad"
			return team.submitPod(pod)
		},
		"Job": func(team *team) *work { return team.submit(job("bad", gpus(1), walltime("10m"), podLabel("x", "bad"))) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			team := newTeam(t, nodes(1, 2))
			team.denyBadPods()
			bad := submitBad(team)
			eventually(t, soon, "bad is started", func() (string, bool) {
				qw := bad.record()
				return describe(qw), qw != nil && (qw.Status.Allocation != nil || qw.Status.Restarts != nil)
			})
			good := team.submit(job("good", gpus(2), walltime("10m")))
			qw := bad.mustWait("Requeued", complaint) // until it is tried again, half a minute later
			good.mustRun()
			team.mustUse(team.name, gpu, "2")
			if qw.Status.RequeueAfter == nil || len(qw.Status.Runs) != 1 || !containsAll(qw.Status.Runs[0].By, []string{complaint}) {
				t.Errorf("want one run on record that the plugin ended, and a time of the next try: %+v", qw.Status)
			}
			eventually(t, soon, "an Event on the owner says so", func() (string, bool) {
				events := fmt.Sprint(team.kubectl("events", "--for="+map[string]string{"Pod": "pod", "Job": "job"}[name]+"/bad"))
				return events, containsAll(events, []string{complaint})
			})
			bad.mustNotBeBound()
		})
	}
}

// TestB20AForeignGate: what waits for somebody else's gate says so.
func TestB20AForeignGate(t *testing.T) {
	t.Parallel()
	team := newTeam(t, nodes(1, 2))
	gate := []corev1.PodSchedulingGate{{Name: "example.com/licence"}}
	pod := queuedPod("gated-pod", 1, 0)
	pod.Spec.SchedulingGates = gate
	works := []*work{
		team.submitPod(pod),
		team.submit(job("gated-job", gpus(1), walltime("10m"), with(func(s *corev1.PodSpec) { s.SchedulingGates = gate }))),
	}
	for _, w := range works {
		qw := w.mustBe("Starting", soon)
		eventually(t, soon, w.what()+" says which gate it waits for", func() (string, bool) {
			qw = w.record()
			return describe(qw), containsAll(describe(qw), []string{"released by Berth", "waiting for the gate example.com/licence"})
		})
		w.mustNotBeBound()
	}
	for _, w := range works {
		gated := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: team.name, Name: w.pod(0).Name}}
		team.edit(gated, func() { gated.Spec.SchedulingGates = nil })
		w.mustRun()
	}
}
