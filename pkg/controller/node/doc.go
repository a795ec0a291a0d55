// Package node sees to what is left on nodes that are lost. Nobody can end a pod
// there, so its Job would wait for it: one with podReplacementPolicy Failed
// before it makes a new pod, one that is deleted in the foreground before it
// goes. A pod that was told to end there is taken out of its Job.
//
// It is not deleted by force: its object is what shows that its processes may
// still be running, should the node come back.
package node
