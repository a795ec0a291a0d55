package sandbox

import (
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// contextName names cluster, user and context in each kubeconfig.
const contextName = "berth-sandbox"

// writeKubeconfig writes a kubeconfig that holds all it needs, so that it
// works when it is copied elsewhere.
func (p *plane) writeKubeconfig(path string, user clientcmdapi.AuthInfo, namespace string) error {
	ca, err := os.ReadFile(p.pki(pkiAuthority + ".crt"))
	if err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[contextName] = &clientcmdapi.Cluster{
		Server:                   "https://" + address(p.ports.apiServer),
		CertificateAuthorityData: ca,
	}
	config.AuthInfos[contextName] = &user
	config.Contexts[contextName] = &clientcmdapi.Context{Cluster: contextName, AuthInfo: contextName, Namespace: namespace}
	config.CurrentContext = contextName
	return clientcmd.WriteToFile(*config, path)
}

// writeClientKubeconfigs writes those of the admin and of each component.
func (p *plane) writeClientKubeconfigs() error {
	for name := range clients { //order:any files of different names
		certificate, err := os.ReadFile(p.pki(name + ".crt"))
		if err != nil {
			return err
		}
		key, err := os.ReadFile(p.pki(name + ".key"))
		if err != nil {
			return err
		}
		path := p.kubeconfig(name)
		if name == clientAdmin {
			path = filepath.Join(p.dir, kubeconfigFile)
		}
		user := clientcmdapi.AuthInfo{ClientCertificateData: certificate, ClientKeyData: key}
		if err := p.writeKubeconfig(path, user, ""); err != nil {
			return err
		}
	}
	return nil
}

// restConfig reads a kubeconfig for our own clients, which bring limits of
// their own: client-go's default of 5 requests a second would make a thousand
// nodes take minutes.
func restConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return config, nil
}

// typed is a client for Kubernetes' own kinds, in their binary form: a thousand
// nodes are read in a fifth of the time that JSON takes.
func (s *Sandbox) typed() (kubernetes.Interface, error) {
	config := rest.CopyConfig(s.config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return kubernetes.NewForConfig(config)
}
