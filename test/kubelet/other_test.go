//go:build !linux

package kubelet

import "testing"

func TestRealNodes(t *testing.T) {
	t.Skip("nodes with a real kubelet are made of Linux's containers")
}
