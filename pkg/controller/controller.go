// Package controller wires the parts of the controller process together:
// manager, live driver, the applier, and one reconciler for each kind. The
// wiring is plain calls; nothing is found by reflection.
package controller

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
	"github.com/berth-dev/berth/pkg/apply"
	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/checkpoint"
	"github.com/berth-dev/berth/pkg/controller/account"
	"github.com/berth-dev/berth/pkg/controller/clusterqueue"
	"github.com/berth-dev/berth/pkg/controller/cohort"
	"github.com/berth-dev/berth/pkg/controller/job"
	"github.com/berth-dev/berth/pkg/controller/localqueue"
	"github.com/berth-dev/berth/pkg/controller/node"
	"github.com/berth-dev/berth/pkg/controller/pod"
	"github.com/berth-dev/berth/pkg/controller/queued"
	"github.com/berth-dev/berth/pkg/live"
	"github.com/berth-dev/berth/pkg/metrics"
	"github.com/berth-dev/berth/pkg/options"
)

const leaseName = "berth-controller"

// Scheme knows the kinds that Berth reads and writes.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return scheme, v1alpha1.AddToScheme(scheme)
}

// New makes the manager of a controller process, ready to be started.
func New(config *rest.Config, o options.Controller) (manager.Manager, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = o.QPS, o.Burst
	watches := &live.Watches{Clock: clock.RealClock{}}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                  scheme,
		Cache:                   cache.Options{DefaultTransform: cache.TransformStripManagedFields(), DefaultWatchErrorHandler: watches.Failed},
		Metrics:                 metricsserver.Options{BindAddress: o.MetricsAddress},
		HealthProbeBindAddress:  o.ProbeAddress,
		LeaderElection:          o.LeaderElect,
		LeaderElectionID:        leaseName,
		LeaderElectionNamespace: o.Namespace,
		LeaseDuration:           &o.LeaseDuration,
		RenewDeadline:           &o.RenewDeadline,
		RetryPeriod:             &o.RetryPeriod,
		// The process ends right after the manager: nothing decides after the
		// lease is let go, and a successor need not wait for it to run out.
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return nil, err
	}
	if err := readiness(mgr, watches); err != nil {
		return nil, err
	}
	return mgr, setup(mgr, o)
}

// readiness has a check for each kind that Berth reads, so that the answer of
// /readyz names the one that it can't see.
func readiness(mgr manager.Manager, watches *live.Watches) error {
	for name, object := range map[string]client.Object{
		"pods": &corev1.Pod{}, "nodes": &corev1.Node{}, "namespaces": &corev1.Namespace{}, "limitranges": &corev1.LimitRange{},
		"jobs": &batchv1.Job{}, "runtimeclasses": &nodev1.RuntimeClass{}, "priorityclasses": &schedulingv1.PriorityClass{},
		"clusterqueues": &v1alpha1.ClusterQueue{}, "cohorts": &v1alpha1.Cohort{}, "localqueues": &v1alpha1.LocalQueue{},
		"accounts": &v1alpha1.Account{}, "topologies": &v1alpha1.Topology{},
		"queuedworkloads": &v1alpha1.QueuedWorkload{}, "resourceflavors": &v1alpha1.ResourceFlavor{}, "schedulingpolicies": &v1alpha1.SchedulingPolicy{},
	} {
		if err := mgr.AddReadyzCheck("sees-"+name, func(*http.Request) error { return watches.Check(object) }); err != nil {
			return err
		}
	}
	return nil
}

func setup(mgr manager.Manager, o options.Controller) error {
	ctx := context.Background() // the indexer ignores it
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, queued.PodsByWorkload, queued.IndexPods); err != nil {
		return fmt.Errorf("index pods: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, queued.PodsByNode, queued.IndexByNode); err != nil {
		return fmt.Errorf("index pods: %w", err)
	}
	wall, measures := clock.RealClock{}, metrics.New()
	process := &process{}
	applier := apply.New(apply.Options{
		Client:  mgr.GetClient(),
		Reader:  mgr.GetAPIReader(),
		Clock:   wall,
		Metrics: measures,
		Observe: process.observe,
	})
	process.applier = applier
	if o.JournalFolder != "" {
		kept, err := live.NewJournal(live.JournalOptions{Folder: o.JournalFolder, Size: int64(o.JournalSizeMB) << 20, Clock: wall})
		if err != nil {
			return err
		}
		process.journal = kept
	}
	process.driver = live.New(live.Options{Clock: wall, Carrier: applier, Recorder: measures, Journal: process.journal})
	process.intake = live.NewIntake(mgr.GetCache(), wall, process.observe)
	courier, err := newCourier(mgr, applier, wall, measures)
	if err != nil {
		return err
	}
	reconcilers := []interface{ SetupWithManager(mgr ctrl.Manager) error }{
		&job.Reconciler{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Clock: wall, Metrics: measures, Observe: process.observe, Announce: courier.Announce, Recorder: mgr.GetEventRecorder("berth")},
		&pod.Reconciler{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Clock: wall, Metrics: measures, Observe: process.observe, Announce: courier.Announce},
		courier,
		&account.Reconciler{Client: mgr.GetClient(), Clock: wall},
		&node.Reconciler{Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Clock: wall, Metrics: measures, Recorder: mgr.GetEventRecorder("berth")},
		&clusterqueue.Reconciler{Client: mgr.GetClient(), Clock: wall, Driver: process.driver},
		&cohort.Reconciler{Client: mgr.GetClient(), Clock: wall, Driver: process.driver},
		&localqueue.Reconciler{Client: mgr.GetClient(), Clock: wall, Driver: process.driver},
	}
	for _, reconciler := range reconcilers {
		if err := reconciler.SetupWithManager(mgr); err != nil {
			return fmt.Errorf("set up %T: %w", reconciler, err)
		}
	}
	if err := mgr.AddHealthzCheck("plans", func(*http.Request) error { return process.driver.Healthy() }); err != nil {
		return err
	}
	return mgr.Add(process)
}

// newCourier makes what brings notices to pods.
func newCourier(mgr manager.Manager, applier *apply.Applier, wall clock.Clock, measures *metrics.Set) (*checkpoint.Courier, error) {
	containers, err := checkpoint.NewContainers(mgr.GetConfig())
	if err != nil {
		return nil, err
	}
	return &checkpoint.Courier{
		Client: mgr.GetClient(), Clock: wall, Metrics: measures,
		Exec: containers, Post: checkpoint.NewPods(), Tell: applier.Tell,
	}, nil
}

// process is the live driver with its intake and its applier, run by the
// manager while this process is the leader.
type process struct {
	driver  *live.Driver
	intake  *live.Intake
	applier *apply.Applier
	journal *live.Journal // nil: none is kept
}

func (p *process) observe(event batch.Event) { p.driver.Observe(event) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (p *process) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (p *process) Start(ctx context.Context) error {
	if err := p.intake.Start(ctx); err != nil {
		return err
	}
	var group sync.WaitGroup
	group.Go(func() { p.applier.Run(ctx) })
	if p.journal != nil {
		group.Go(func() { p.journal.Run(ctx) })
	}
	p.driver.Run(ctx)
	group.Wait()
	return nil
}
