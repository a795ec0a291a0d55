// Package options reads the controller's command line. What it cannot use it
// refuses before anything starts.
package options

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// Controller is how one controller process runs.
type Controller struct {
	Kubeconfig     string
	MetricsAddress string
	ProbeAddress   string
	Namespace      string

	LeaderElect   bool
	LeaseDuration time.Duration
	RenewDeadline time.Duration
	RetryPeriod   time.Duration

	QPS   float32
	Burst int

	// JournalFolder is where the journal is kept; empty: none is.
	JournalFolder string
	JournalSizeMB int

	Verbose bool
}

// AddFlags puts the options on a command line, with their defaults.
func (c *Controller) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.Kubeconfig, "kubeconfig", "", "path of a kubeconfig; left out: the service account of the pod")
	flags.StringVar(&c.MetricsAddress, "metrics-bind-address", ":8080", "address of /metrics; 0 turns it off")
	flags.StringVar(&c.ProbeAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 turns them off")
	flags.StringVar(&c.Namespace, "namespace", "berth-system", "namespace of the leader election lease")
	flags.BoolVar(&c.LeaderElect, "leader-elect", true, "wait for the lease before deciding anything; never turn it off where two replicas may run")
	flags.DurationVar(&c.LeaseDuration, "leader-elect-lease-duration", 15*time.Second, "how long others wait for a leader that has gone silent")
	flags.DurationVar(&c.RenewDeadline, "leader-elect-renew-deadline", 10*time.Second, "how long a leader tries to renew before it gives up")
	flags.DurationVar(&c.RetryPeriod, "leader-elect-retry-period", 2*time.Second, "time between tries to take or renew the lease")
	flags.Float32Var(&c.QPS, "kube-api-qps", 500, "requests a second to the API server")
	flags.IntVar(&c.Burst, "kube-api-burst", 1000, "requests at once to the API server")
	flags.StringVar(&c.JournalFolder, "journal-dir", "", "folder for a journal of what is seen and decided, to be played again with \"kubectl berth replay\"; left out: none is kept")
	flags.IntVar(&c.JournalSizeMB, "journal-size-mb", 256, "size of the journal; the oldest part goes first")
	flags.BoolVarP(&c.Verbose, "verbose", "v", false, "log each planning pass that decides something")
}

// Validate says what is wrong with the options, and what would do.
func (c *Controller) Validate() error {
	switch {
	case c.QPS <= 0:
		return fmt.Errorf("--kube-api-qps is %v; it must be above 0", c.QPS)
	case c.Burst < 1:
		return fmt.Errorf("--kube-api-burst is %d; it must be at least 1", c.Burst)
	case c.JournalFolder != "" && c.JournalSizeMB < 8:
		return fmt.Errorf("--journal-size-mb is %d; it must be at least 8", c.JournalSizeMB)
	case c.Namespace == "":
		return fmt.Errorf("--namespace is empty; the lease needs one, such as berth-system")
	case c.LeaderElect && c.RenewDeadline >= c.LeaseDuration:
		return fmt.Errorf("--leader-elect-renew-deadline is %v; it must be shorter than --leader-elect-lease-duration (%v)", c.RenewDeadline, c.LeaseDuration)
	case c.LeaderElect && c.RetryPeriod >= c.RenewDeadline:
		return fmt.Errorf("--leader-elect-retry-period is %v; it must be shorter than --leader-elect-renew-deadline (%v)", c.RetryPeriod, c.RenewDeadline)
	}
	return nil
}
