package cli

import (
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/berth-dev/berth/apis/berth/v1alpha1"
)

// clusterFlags say which cluster a command asks, as kubectl's own do.
type clusterFlags struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides *clientcmd.ConfigOverrides
}

func newClusterFlags() clusterFlags {
	return clusterFlags{rules: clientcmd.NewDefaultClientConfigLoadingRules(), overrides: &clientcmd.ConfigOverrides{}}
}

func (c clusterFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&c.rules.ExplicitPath, "kubeconfig", "", "path of the kubeconfig `FILE`")
	flags.StringVar(&c.overrides.CurrentContext, "context", "", "the kubeconfig context to use")
	flags.StringVarP(&c.overrides.Context.Namespace, "namespace", "n", "", "the namespace; left out: that of the context")
}

// reader is a client for the cluster, and the namespace that is meant.
func (c clusterFlags) reader() (client.Reader, string, error) {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(c.rules, c.overrides)
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", err
	}
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", err
	}
	config.QPS, config.Burst = 50, 100
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, "", err
		}
	}
	reader, err := client.New(config, client.Options{Scheme: scheme})
	return reader, namespace, err
}
