// Package kubelet tests what only a real kubelet can show: which signal comes
// when, who is killed and at which second, what becomes of work on a node whose
// kubelet is gone, that is drained or that shuts down, and that a GPU is given
// to nobody while a process still has it. Its pods are started by a container
// runtime and run test/kubelet/trap, which writes down what happens to it; at
// the end of every test it is reckoned from that whether a node ever had more
// to run than it has GPUs.
//
// What becomes of lost, drained and shut down nodes takes a minute or two and
// nodes of its own for each test, and is run with BERTH_LONG=1 alone.
//
// What must come soon may take as many times as long as the machine is slow just
// then (test/kubelet/pace): a busy machine is no fault of what is tested.
//
// The nodes run in a cell (test/kubelet/cell), so that the machine is left as
// it was. It needs root, the control groups of version 1, and Debian's packages;
// where that is missing, every test is skipped and says why.
package kubelet
