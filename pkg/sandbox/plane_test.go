package sandbox

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

type fakeListener struct{ net.Listener }

func (fakeListener) Close() error { return nil }

func TestPortsAreFreeAndDifferent(t *testing.T) {
	t.Parallel()
	asked := map[string]bool{}
	ports, err := freePorts(6, func(address string) (net.Listener, error) {
		if asked[address] || len(asked)%3 == 0 { // held by us, or by others
			asked[address] = true
			return nil, errors.New("taken")
		}
		asked[address] = true
		return fakeListener{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range ports {
		if seen[port] || port < portLowest || port >= portHighest {
			t.Errorf("port %d of %v", port, ports)
		}
		seen[port] = true
	}
	if len(ports) != 6 {
		t.Errorf("%d ports", len(ports))
	}
}

func TestNoFreePortIsAnError(t *testing.T) {
	t.Parallel()
	taken := errors.New("taken")
	_, err := freePorts(2, func(string) (net.Listener, error) { return nil, taken })
	if !errors.Is(err, taken) || !strings.Contains(err.Error(), "0 free ports of 2") {
		t.Errorf("got %v", err)
	}
}

// testPlane has files and nothing that runs.
func testPlane(t *testing.T) *plane {
	t.Helper()
	p := &plane{dir: t.TempDir(), ports: ports{1, 2, 3, 4, 5, 6}}
	if err := p.writeFiles(); err != nil {
		t.Fatal(err)
	}
	return p
}

// Each file that a flag names must exist when the program starts.
func TestFlagsNameFilesThatAreThere(t *testing.T) {
	t.Parallel()
	p := testPlane(t)
	for name, args := range map[string][]string{
		Etcd: p.etcdArgs(), APIServer: p.apiServerArgs(), ControllerManager: p.controllerManagerArgs(),
		Scheduler: p.schedulerArgs(), Kwok: p.kwokArgs(),
	} { //order:any independent checks
		seen := map[string]bool{}
		for _, arg := range args {
			flag, value, ok := strings.Cut(arg, "=")
			if !ok || !strings.HasPrefix(flag, "--") || seen[flag] {
				t.Errorf("%s: %s is no flag with a value, or there twice", name, arg)
			}
			seen[flag] = true
			if !strings.HasPrefix(value, p.dir) || flag == "--data-dir" {
				continue
			}
			if _, err := os.Stat(value); err != nil {
				t.Errorf("%s: %s: %v", name, arg, err)
			}
		}
	}
}

func TestCertificatesAreWhatTheirHoldersNeed(t *testing.T) {
	t.Parallel()
	p := testPlane(t)
	roots := x509.NewCertPool()
	roots.AddCert(readCertificate(t, p.pki(pkiAuthority+".crt")))
	serving := readCertificate(t, p.pki(pkiServing+".crt"))
	for _, name := range []string{"127.0.0.1", "localhost", "kubernetes.default.svc", "10.96.0.1"} {
		if _, err := serving.Verify(x509.VerifyOptions{DNSName: name, Roots: roots}); err != nil {
			t.Errorf("serving as %s: %v", name, err)
		}
	}
	client := x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for name, holder := range clients { //order:any independent checks
		certificate := readCertificate(t, p.pki(name+".crt"))
		if _, err := certificate.Verify(client); err != nil || certificate.Subject.CommonName != holder.user {
			t.Errorf("%s is %s: %v", name, certificate.Subject, err)
		}
	}
	// Whoever has a client's certificate must not pass for the front proxy.
	if _, err := readCertificate(t, p.pki(pkiFrontProxy+".crt")).Verify(client); err == nil {
		t.Error("the front proxy is signed by the clients' authority")
	}
	if _, err := os.Stat(p.pki(pkiAuthority + ".key")); !os.IsNotExist(err) {
		t.Errorf("the authority's key is kept (%v)", err)
	}
}

func readCertificate(t *testing.T, path string) *x509.Certificate {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(raw)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func TestTheAdminsKubeconfigNeedsNoOtherFile(t *testing.T) {
	t.Parallel()
	p := testPlane(t)
	path := filepath.Join(p.dir, kubeconfigFile)
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://127.0.0.1:3" || len(config.CAData) == 0 || len(config.CertData) == 0 || len(config.KeyData) == 0 {
		t.Errorf("got %v", config)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestAPortThatWasTakenIsToldFromOtherEnds(t *testing.T) {
	t.Parallel()
	b := &builder{folder: &folder{path: t.TempDir()}}
	if err := os.Mkdir(b.folder.join(logFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	log := func(text string) error {
		if err := os.WriteFile(b.logPath(Etcd), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return b.exitError(started{componentState: componentState{Name: Etcd}})
	}
	if err := log("listen tcp 127.0.0.1:1: bind: address already in use\n"); !errors.Is(err, errPortTaken) {
		t.Errorf("got %v", err)
	}
	if err := log("one\ntwo\nwrong flag\n"); errors.Is(err, errPortTaken) || !strings.Contains(err.Error(), "wrong flag") {
		t.Errorf("got %v", err)
	}
}
