//go:build linux

package node

import (
	"fmt"
	"time"

	"github.com/berth-dev/berth/test/kubelet/kit"
)

// ShutdownGrace is for how long a shutdown of a node waits for its pods.
const ShutdownGrace = 20 * time.Second

// runtimeConfig is containerd's.
func (n *Node) runtimeConfig() string {
	return fmt.Sprintf(`version = 2
root = %[1]q
state = %[2]q
[grpc]
  address = %[3]q
[plugins]
  # It would make a folder in /opt.
  [plugins."io.containerd.internal.v1.opt"]
    path = %[4]q
  [plugins."io.containerd.grpc.v1.cri"]
    sandbox_image = %[5]q
    # Root in a container may lack CAP_SYS_RESOURCE; then runc can't give a pod
    # the low score that the kubelet asks for, and no pod starts.
    restrict_oom_score_adj = true
    disable_apparmor = true
    stream_server_address = %[6]q
    [plugins."io.containerd.grpc.v1.cri".cni]
      bin_dir = %[7]q
      conf_dir = %[8]q
    [plugins."io.containerd.grpc.v1.cri".containerd]
      default_runtime_name = "runc"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
        runtime_type = "io.containerd.runc.v2"
        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
          BinaryName = %[9]q
`, n.path("root"), n.path("state"), n.socket(), n.path("opt"), kit.PauseImage, n.Name, n.options.Kit.Plugins, n.path("cni"), n.options.Kit.Runc)
}

// networkConfig connects each pod with the node by a pair of devices. Nothing
// is forwarded or masked: pods talk to their node, and their node to them.
func (n *Node) networkConfig() string {
	return fmt.Sprintf(`{
  "cniVersion": "0.4.0",
  "name": "berth-node-%[1]d",
  "plugins": [{
    "type": "ptp",
    "ipam": {"type": "host-local", "subnet": "10.88.%[1]d.0/24", "dataDir": %[2]q, "routes": [{"dst": "0.0.0.0/0"}]}
  }]
}
`, n.options.Number, n.path("addresses"))
}

// kubeletConfig is the kubelet's.
func (n *Node) kubeletConfig() string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: %[1]s
healthzBindAddress: %[1]s
containerRuntimeEndpoint: unix://%[2]s
podLogsDir: %[3]s
staticPodPath: %[4]s
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: %[5]s}
authorization: {mode: Webhook}
# By default a kubelet refuses control groups of version 1.
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: %[6]s
# Limits for all pods together would need room that nobody has set aside here.
enforceNodeAllocatable: []
failSwapOn: false
makeIPTablesUtilChains: false
localStorageCapacityIsolation: false
resolvConf: ""
# The disk is memory here; images and pods are small, and nothing is cleared.
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 1Mi}
# For how long a shutdown of the node waits for its pods.
shutdownGracePeriod: %[7]s
# What a test changes in a node's status comes back soon.
nodeStatusUpdateFrequency: 1s
# A node that hangs is noticed after sandbox.Options.NodeTimeout.
nodeLeaseDurationSeconds: 4
`, n.Name, n.socket(), n.path("pods"), n.path("manifests"), n.options.Authority, n.cgroup(), ShutdownGrace)
}
