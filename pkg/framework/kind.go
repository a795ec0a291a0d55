package framework

import (
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
)

// Kind is one kind of job. The object that its methods take is of that kind.
type Kind interface {
	// Name is the kind's name in the API ("Job").
	Name() string
	// QueueName is the LocalQueue that the object goes through; empty: it is
	// not ours.
	QueueName(object client.Object) string
	// Spec is what the object asks for.
	Spec(object client.Object, defaults convert.PodDefaults) v1alpha1.QueuedWorkloadSpec
	// Owner is how far the object has come.
	Owner(object client.Object) batch.Owner
}

// ID is the identity of the workload that an object owns.
func ID(kind Kind, object client.Object) batch.WorkloadID {
	return convert.WorkloadID(object.GetNamespace(), convert.WorkloadName(kind.Name(), object.GetName(), object.GetUID()))
}

// Record are the annotations of an object's QueuedWorkload: since when it is
// queued, which must survive that the workload is made again, for a member of
// an array the name that people know it by, and for an array as a whole how
// many members it will have.
func Record(object client.Object) map[string]string {
	said := object.GetAnnotations()
	out := map[string]string{
		v1alpha1.QueuedAtAnnotation: object.GetCreationTimestamp().UTC().Format(time.RFC3339),
	}
	if job, is := object.(*batchv1.Job); is && IsArray(job) {
		out[v1alpha1.MembersAnnotation] = strconv.Itoa(MembersOf(job).All)
	}
	owner := metav1.GetControllerOf(object)
	if owner == nil || object.GetLabels()[v1alpha1.WorkloadLabel] != v1alpha1.ArrayMember {
		return out
	}
	out[v1alpha1.NameAnnotation] = owner.Name + "-" + said[batchv1.JobCompletionIndexAnnotation]
	for _, key := range []string{v1alpha1.QueuedAtAnnotation, v1alpha1.MembersAnnotation} {
		if value := said[key]; value != "" {
			out[key] = value
		}
	}
	return out
}

// wishes reads what an object's author may say whatever its kind.
func wishes(spec *v1alpha1.QueuedWorkloadSpec, object client.Object) {
	said := object.GetAnnotations()
	spec.Hold = v1alpha1.HoldNone
	if said[v1alpha1.HoldAnnotation] == "true" {
		spec.Hold = v1alpha1.HoldAll
	}
	spec.TimeMin = walltime(said[v1alpha1.TimeMinAnnotation], nil)
	spec.Begin = convert.Cut(said[v1alpha1.BeginAnnotation], textMax)
	spec.EndBefore = convert.Cut(said[v1alpha1.EndBeforeAnnotation], textMax)
	spec.JobName = object.GetLabels()[v1alpha1.JobNameLabel]
	spec.Exclusive = v1alpha1.ExclusiveMode(said[v1alpha1.ExclusiveAnnotation])
	spec.AccountName = convert.Cut(said[v1alpha1.AccountAnnotation], accountMax)
	if text := said[v1alpha1.TopologyAnnotation]; text != "" {
		level, err := convert.ParseTopology(text)
		if err != nil {
			level = text // the workload says what is wrong with it
		}
		for i := range spec.PodSets {
			spec.PodSets[i].Topology = &v1alpha1.PodSetTopology{Required: convert.Cut(level, topologyMax)}
		}
	}
	spec.Checkpoint = convert.Cut(said[v1alpha1.CheckpointAnnotation], checkpointMax)
	if said[v1alpha1.RequeueAnnotation] == "false" {
		spec.Requeue = v1alpha1.RequeueNever
	}
	if after := said[v1alpha1.AfterAnnotation]; after != "" {
		for text := range strings.SplitSeq(after, ",") {
			spec.After = append(spec.After, strings.TrimSpace(text))
		}
	}
}

// cancel is the time that an object's user grants it when he cancels it; nil if
// he does not, or the text is none (the admission policy says so).
func cancel(object client.Object) *time.Duration {
	text, said := object.GetAnnotations()[v1alpha1.CancelAnnotation]
	if !said {
		return nil
	}
	grace, err := convert.ParseGrace(text)
	if err != nil {
		return nil
	}
	return &grace
}

// terminationOf is what a pod has from being told to end to the kill.
func terminationOf(spec *corev1.PodSpec) time.Duration {
	if own := spec.TerminationGracePeriodSeconds; own != nil {
		return time.Duration(*own) * time.Second
	}
	return corev1.DefaultTerminationGracePeriodSeconds * time.Second
}

// textMax is the longest text that a QueuedWorkload keeps of a time.
const textMax = 64

// topologyMax is the longest name of a level.
const topologyMax = 63

// accountMax is the longest name of an Account.
const accountMax = 63

// checkpointMax is the longest berth.dev/checkpoint that it keeps.
const checkpointMax = 1024
