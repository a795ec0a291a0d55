package sandbox

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"time"
)

// prober asks components for their health.
type prober struct{ client *http.Client }

func newProber(dir string) (*prober, error) {
	p := plane{dir: dir}
	ca, err := os.ReadFile(p.pki(pkiAuthority + ".crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	// etcd answers its own clients only; to the others any client will do.
	certificate, err := tls.LoadX509KeyPair(p.pki(pkiEtcdClient+".crt"), p.pki(pkiEtcdClient+".key"))
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}}
	return &prober{client: &http.Client{Transport: transport, Timeout: 5 * time.Second}}, nil
}

func (p *prober) close() { p.client.CloseIdleConnections() }

// health asks one component; nil is healthy.
func (p *prober) health(ctx context.Context, c componentState) error {
	url := healthURL(c.Name, c.Port)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}

func healthURL(name string, port int) string {
	switch name {
	case Etcd:
		return "https://" + address(port) + "/health"
	case APIServer:
		return "https://" + address(port) + "/readyz"
	case Kwok, Controller:
		return "http://" + address(port) + "/healthz"
	default:
		return "https://" + address(port) + "/healthz"
	}
}
