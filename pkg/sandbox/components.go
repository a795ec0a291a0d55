package sandbox

import (
	"fmt"
	"net"
	"path/filepath"
	"time"
)

// Names of the components, as `status` and `logs` know them.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kwok              = "kwok"
	Controller        = "controller"
)

// Components are the names of all components, in the order of their start.
func Components() []string {
	return []string{Etcd, APIServer, ControllerManager, Scheduler, Kwok, Controller}
}

const serviceRange = "10.96.0.0/16"

// firstServiceIP is the address of the service `kubernetes`.
var firstServiceIP = net.IPv4(10, 96, 0, 1)

// ports are those of one control plane.
type ports struct {
	etcd, etcdPeer, apiServer, controllerManager, scheduler, kwok int
}

func choosePorts() (ports, error) {
	free, err := freePorts(6, listenTCP)
	if err != nil {
		return ports{}, err
	}
	return ports{etcd: free[0], etcdPeer: free[1], apiServer: free[2], controllerManager: free[3], scheduler: free[4], kwok: free[5]}, nil
}

// plane is a control plane that is about to start: where its files are and
// which ports it has.
type plane struct {
	dir         string
	ports       ports
	nodeTimeout time.Duration
}

func (p *plane) pki(name string) string        { return filepath.Join(p.dir, pkiFolder, name) }
func (p *plane) config(name string) string     { return filepath.Join(p.dir, configFolder, name) }
func (p *plane) kubeconfig(user string) string { return p.config(user + ".kubeconfig") }

func (p *plane) etcdArgs() []string {
	client, peer := "https://"+address(p.ports.etcd), "https://"+address(p.ports.etcdPeer)
	return []string{
		"--name=sandbox",
		"--data-dir=" + filepath.Join(p.dir, etcdFolder),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=sandbox=" + peer,
		// Whoever may talk to etcd owns the cluster, and every user of the
		// machine can reach a loopback port: only our certificates may.
		"--cert-file=" + p.pki(pkiServing+".crt"),
		"--key-file=" + p.pki(pkiServing+".key"),
		"--trusted-ca-file=" + p.pki(pkiAuthority+".crt"),
		"--client-cert-auth=true",
		"--peer-cert-file=" + p.pki(pkiServing+".crt"),
		"--peer-key-file=" + p.pki(pkiServing+".key"),
		"--peer-trusted-ca-file=" + p.pki(pkiAuthority+".crt"),
		"--peer-client-cert-auth=true",
		// Nothing outlives the sandbox, so nothing has to outlive a power cut.
		"--unsafe-no-fsync=true",
		// The quota that raises an alarm is 2 GiB by default; a long trial with
		// thousands of pods gets there.
		"--quota-backend-bytes=8589934592",
		"--auto-compaction-mode=periodic",
		"--auto-compaction-retention=10m",
		"--log-level=warn",
	}
}

func (p *plane) apiServerArgs() []string {
	return []string{
		"--bind-address=" + loopback,
		"--advertise-address=" + loopback,
		fmt.Sprintf("--secure-port=%d", p.ports.apiServer),
		// A loopback address can't be an endpoint of the service `kubernetes`;
		// the default reconciler would fail on it for ever.
		"--endpoint-reconciler-type=none",
		"--etcd-servers=https://" + address(p.ports.etcd),
		"--etcd-cafile=" + p.pki(pkiAuthority+".crt"),
		"--etcd-certfile=" + p.pki(pkiEtcdClient+".crt"),
		"--etcd-keyfile=" + p.pki(pkiEtcdClient+".key"),
		"--tls-cert-file=" + p.pki(pkiServing+".crt"),
		"--tls-private-key-file=" + p.pki(pkiServing+".key"),
		"--client-ca-file=" + p.pki(pkiAuthority+".crt"),
		// Without these three it does not start.
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + p.pki(pkiServiceAccount+".pub"),
		"--service-account-signing-key-file=" + p.pki(pkiServiceAccount+".key"),
		"--service-cluster-ip-range=" + serviceRange,
		// As on a real cluster, so that a right that Berth lacks shows here.
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		// It taints each new node until the node controller has seen it ready. Our
		// nodes are born ready, and a thousand writes are spared.
		"--disable-admission-plugins=TaintNodesByCondition",
		// For exec and logs on a kubelet, should somebody join a real one.
		"--kubelet-client-certificate=" + p.pki(pkiKubeletClient+".crt"),
		"--kubelet-client-key=" + p.pki(pkiKubeletClient+".key"),
		// Without a front proxy's certificates the controller manager and the
		// scheduler log an error a minute: they look for them in kube-system.
		"--requestheader-client-ca-file=" + p.pki(pkiFrontAuthority+".crt"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + p.pki(pkiFrontProxy+".crt"),
		"--proxy-client-key-file=" + p.pki(pkiFrontProxy+".key"),
		// A thousand simulated kubelets on one machine need more room than the
		// defaults of 400 and 200.
		"--max-requests-inflight=3000",
		"--max-mutating-requests-inflight=1500",
	}
}

func (p *plane) controllerManagerArgs() []string {
	return append(p.componentArgs(ControllerManager, p.ports.controllerManager),
		"--kubeconfig="+p.kubeconfig(ControllerManager),
		// Each controller as its own service account. Without it all are
		// system:kube-controller-manager, which RBAC does not let create pods:
		// every Job would report FailedCreate.
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+p.pki(pkiServiceAccount+".key"),
		"--root-ca-file="+p.pki(pkiAuthority+".crt"),
		// Simulated nodes need no pod networks of their own, and no kubelet reads
		// the hint that the TTL controller writes on each node.
		"--controllers=*,-node-ipam-controller,-ttl-controller",
		"--leader-elect=false",
		// The default of 20 a second starts 19 pods a second, whatever the machine.
		"--kube-api-qps=2000",
		"--kube-api-burst=4000",
		// Simulated nodes send no heartbeats: with the default of 50 s all of
		// them would be lost after a minute.
		"--node-monitor-grace-period="+p.nodeTimeout.String(),
	)
}

func (p *plane) schedulerArgs() []string {
	return append(p.componentArgs(Scheduler, p.ports.scheduler), "--config="+p.config(schedulerConfigFile))
}

// componentArgs are those that controller manager and scheduler share: where
// they listen, and that they ask the API server who their callers are instead
// of looking for a cluster around them.
func (p *plane) componentArgs(user string, port int) []string {
	return []string{
		"--bind-address=" + loopback,
		fmt.Sprintf("--secure-port=%d", port),
		"--tls-cert-file=" + p.pki(pkiServing+".crt"),
		"--tls-private-key-file=" + p.pki(pkiServing+".key"),
		"--authentication-kubeconfig=" + p.kubeconfig(user),
		"--authorization-kubeconfig=" + p.kubeconfig(user),
	}
}

func (p *plane) kwokArgs() []string {
	return []string{
		"--kubeconfig=" + p.kubeconfig(Kwok),
		"--config=" + p.config(kwokConfigFile),
		"--server-address=" + address(p.ports.kwok),
		// Leaves nodes alone that somebody joined for real.
		"--manage-all-nodes=false",
		"--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
		// No leases: a restarted kwok would play nothing until those of its
		// former self run out, and a thousand nodes are a hundred writes a second.
		"--node-lease-duration-seconds=0",
		// Room for four million pod addresses; the default has 254.
		"--cidr=10.128.0.0/10",
		// Its INFO is a long line for each step of each pod.
		"--v=WARN",
	}
}

const (
	schedulerConfigFile = "kube-scheduler.yaml"
	kwokConfigFile      = "kwok.yaml"
)

// schedulerConfig is the scheduler's own file: the QPS of its client has no flag.
func (p *plane) schedulerConfig() string {
	return fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  kubeconfig: %q
  qps: 2000
  burst: 4000
leaderElection:
  leaderElect: false
`, p.kubeconfig(Scheduler))
}
