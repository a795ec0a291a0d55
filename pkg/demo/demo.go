// Package demo shows the main job of Berth on a sandbox: it submits a mix of
// the manifests in config/samples, prints the queue as it changes until all
// have ended, and sums up what was promised and what came of it.
//
// It does nothing that a person with kubectl could not do, and says what that
// would be.
package demo

import (
	"context"
	"fmt"
	"io"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/config"
)

const (
	namespace = "default"

	// look is the time between two looks at the queue.
	look = 300 * time.Millisecond

	// between is the time from one submission to the next.
	between = 2 * time.Second

	// most is how long the demo waits for the samples to end. They take about
	// three minutes.
	most = 10 * time.Minute
)

// step is a file that is submitted and what to say of it.
type step struct{ file, says string }

// steps are in the order of submission.
var steps = []step{
	{"1-pytorch-4-nodes.yaml", "a training on 4 whole nodes: an Indexed Job, started as a gang"},
	{"2-single-gpu.yaml", "three jobs of one GPU each: they share a node"},
	{"3-pytorch-14-nodes.yaml", "a training on 14 nodes: it must wait, and is told until when"},
	{"4-short.yaml", "a short job: it fits into the gap before that, and delays nobody"},
}

// Demo is one run of it.
type Demo struct {
	Config *rest.Config
	Clock  clock.Clock
	Out    io.Writer
}

// Run plays the demo to its end. The error says what did not go as promised.
func (d Demo) Run(ctx context.Context) error {
	c, err := newClient(d.Config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	story := &story{began: d.Clock.Now(), lines: map[string]*line{}}
	if err := d.submitAll(ctx, c, story); err != nil {
		return err
	}
	if err := d.follow(ctx, c, story, most); err != nil {
		return err
	}
	fmt.Fprint(d.Out, "\n", story.drawing(), "\n", story.summary())
	return story.verdict()
}

func newClient(config *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: scheme})
}

// submitAll applies the samples one after the other, as people do, and shows
// what becomes of each.
func (d Demo) submitAll(ctx context.Context, c client.Client, s *story) error {
	fmt.Fprintln(d.Out, "\nTwo queues over all nodes, interactive (tier 20) and training (tier 10):")
	if _, err := d.submit(ctx, c, "0-queues.yaml"); err != nil {
		return err
	}
	if err := d.untilActive(ctx, c); err != nil {
		return err
	}
	for i, step := range steps {
		fmt.Fprintf(d.Out, "\n%s:\n", step.says)
		names, err := d.submit(ctx, c, step.file)
		if err != nil {
			return err
		}
		s.jobs = append(s.jobs, names...)
		if i == 0 {
			fmt.Fprintln(d.Out, heading)
		}
		if err := d.follow(ctx, c, s, between); err != nil {
			return err
		}
	}
	fmt.Fprintln(d.Out, "\nAll are submitted; the queue as it changes (as in: kubectl get queuedworkloads --watch):")
	return nil
}

func (d Demo) submit(ctx context.Context, c client.Client, file string) ([]string, error) {
	fmt.Fprintf(d.Out, "  $ kubectl create -f config/samples/%s\n", file)
	objects, err := config.Sample(file)
	if err != nil {
		return nil, err
	}
	var jobs []string
	for _, object := range objects {
		if object.GetKind() != "ClusterQueue" {
			object.SetNamespace(namespace)
		}
		if err := c.Create(ctx, object); err != nil {
			return nil, fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if isJob(object) {
			jobs = append(jobs, object.GetName())
		}
	}
	return jobs, nil
}

func isJob(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind() == batchv1.SchemeGroupVersion.WithKind("Job")
}

// untilActive waits for the queues to be taken up: the admission policies read
// their grace from the LocalQueues' status.
func (d Demo) untilActive(ctx context.Context, c client.Client) error {
	for {
		doors := &v1alpha1.LocalQueueList{}
		if err := c.List(ctx, doors, client.InNamespace(namespace)); err != nil {
			return err
		}
		active := 0
		for i := range doors.Items {
			if len(doors.Items[i].Status.Conditions) > 0 {
				active++
			}
		}
		if active == len(doors.Items) {
			return nil
		}
		if err := d.pause(ctx, look); err != nil {
			return fmt.Errorf("the queues were not taken up: %w", err)
		}
	}
}

func (d Demo) pause(ctx context.Context, long time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-d.Clock.After(long):
		return nil
	}
}
