package sandbox

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// validity of the certificates: a sandbox is not renewed, so long.
const validity = 10 * 365 * 24 * time.Hour

// authority is a certificate authority that lives for one `up`: its key is
// never written, so nobody can make a certificate for this sandbox later.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// identity is what a certificate says of its holder.
type identity struct {
	user   string // common name: the user that RBAC sees
	group  string // organization: the group that RBAC sees; may be empty
	server bool   // may serve on the loopback address
}

// Names of the files below pki/. Each name with a certificate has NAME.crt and
// NAME.key.
const (
	pkiAuthority      = "ca"
	pkiFrontAuthority = "front-proxy-ca"
	pkiServing        = "serving"
	pkiEtcdClient     = "etcd-client"
	pkiKubeletClient  = "kubelet-client"
	pkiFrontProxy     = "front-proxy-client"
	pkiServiceAccount = "service-account"
)

// User names of the clients.
const (
	userAdmin             = "berth-sandbox-admin"
	userControllerManager = "system:kube-controller-manager"
	userScheduler         = "system:kube-scheduler"
	userKwok              = "berth-sandbox-kwok"
)

// groupMasters may do everything; the API server has it built in.
const groupMasters = "system:masters"

// clientAdmin is the name of the person who uses the sandbox.
const clientAdmin = "admin"

// clients are those that get a kubeconfig, by the name of their files.
var clients = map[string]identity{
	clientAdmin:       {user: userAdmin, group: groupMasters},
	ControllerManager: {user: userControllerManager},
	Scheduler:         {user: userScheduler},
	// kwok plays the kubelets of all nodes: no role of RBAC's describes that.
	Kwok: {user: userKwok, group: groupMasters},
}

// writeCertificates makes all certificates and keys of a control plane.
func writeCertificates(dir string) error {
	ca, err := newAuthority("berth-sandbox")
	if err != nil {
		return err
	}
	// A second authority, because the API server believes whom the front proxy
	// names: clients signed by the first must not pass for it.
	frontCA, err := newAuthority("berth-sandbox-front-proxy")
	if err != nil {
		return err
	}
	for name, authority := range map[string]*authority{pkiAuthority: ca, pkiFrontAuthority: frontCA} { //order:any files of different names
		if err := writePEM(filepath.Join(dir, name+".crt"), "CERTIFICATE", authority.certificate.Raw); err != nil {
			return err
		}
	}
	holders := map[string]identity{
		pkiServing:       {user: "berth-sandbox", server: true},
		pkiEtcdClient:    {user: "kube-apiserver"},
		pkiKubeletClient: {user: "kube-apiserver-kubelet-client", group: groupMasters},
	}
	maps.Copy(holders, clients)
	for name, holder := range holders { //order:any files of different names
		if err := ca.issue(dir, name, holder); err != nil {
			return err
		}
	}
	if err := frontCA.issue(dir, pkiFrontProxy, identity{user: "front-proxy-client"}); err != nil {
		return err
	}
	return writeServiceAccountKey(dir)
}

// writeServiceAccountKey makes the pair that signs and checks service account
// tokens.
func writeServiceAccountKey(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := writePEM(filepath.Join(dir, pkiServiceAccount+".pub"), "PUBLIC KEY", public); err != nil {
		return err
	}
	return writeKey(filepath.Join(dir, pkiServiceAccount+".key"), key)
}

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template, err := certificateTemplate(pkix.Name{CommonName: name})
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	certificate, err := sign(template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &authority{certificate: certificate, key: key}, nil
}

// issue writes a certificate and its key as NAME.crt and NAME.key.
func (a *authority) issue(dir, name string, holder identity) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	subject := pkix.Name{CommonName: holder.user}
	if holder.group != "" {
		subject.Organization = []string{holder.group}
	}
	template, err := certificateTemplate(subject)
	if err != nil {
		return err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if holder.server {
		// etcd's own peer connection uses its serving certificate as a client.
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), firstServiceIP}
		template.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
	}
	certificate, err := sign(template, a.certificate, key.Public(), a.key)
	if err != nil {
		return fmt.Errorf("certificate %s: %w", name, err)
	}
	if err := writePEM(filepath.Join(dir, name+".crt"), "CERTIFICATE", certificate.Raw); err != nil {
		return err
	}
	return writeKey(filepath.Join(dir, name+".key"), key)
}

func certificateTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-time.Hour), // a clock that is set back must not end the sandbox
		NotAfter:     now.Add(validity),
	}, nil
}

func sign(template, parent *x509.Certificate, public crypto.PublicKey, key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(raw)
}

func writeKey(path string, key *ecdsa.PrivateKey) error {
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(path, "EC PRIVATE KEY", raw)
}

func writePEM(path, kind string, raw []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600)
}
