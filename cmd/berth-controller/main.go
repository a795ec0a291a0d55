// Command berth-controller is the controller that runs in the cluster: it
// plans the queues and starts what can start.
package main

import (
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"go.uber.org/zap/zapcore"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/berth-dev/berth/pkg/controller"
	"github.com/berth-dev/berth/pkg/options"
)

// version is set by the build.
var version = "dev"

func main() {
	if err := command().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "berth-controller:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var o options.Controller
	cmd := &cobra.Command{
		Use:          "berth-controller",
		Short:        "Plans the queues of a cluster and starts what can start",
		Version:      version,
		Args:         cobra.NoArgs,
		SilenceUsage: true, SilenceErrors: true,
		RunE: func(*cobra.Command, []string) error { return run(o) },
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

func run(o options.Controller) error {
	if err := o.Validate(); err != nil {
		return err
	}
	log := logger(o.Verbose)
	config, err := restConfig(o.Kubeconfig)
	if err != nil {
		return err
	}
	options.CollectRarely()
	mgr, err := controller.New(config, o)
	if err != nil {
		return err
	}
	log.Info("starting", "version", version)
	return mgr.Start(ctrl.SetupSignalHandler())
}

func logger(verbose bool) logr.Logger {
	level := zapcore.InfoLevel
	if verbose {
		level = zapcore.DebugLevel
	}
	log := zap.New(zap.Level(level))
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	return log
}

func restConfig(path string) (*rest.Config, error) {
	if path == "" {
		return rest.InClusterConfig()
	}
	return clientcmd.BuildConfigFromFlags("", path)
}
