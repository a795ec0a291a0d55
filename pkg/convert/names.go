package convert

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-dev/berth/pkg/batch"
)

// nameMax is the longest label value: a QueuedWorkload's name stands in one.
const nameMax = 63

// hashLength gives 40 bits: two owners of one namespace whose names agree in
// their first characters still get names of their own.
const hashLength = 10

// WorkloadName is the name of the QueuedWorkload of an owner: its kind in
// lower case, as much of its name as has room, and a hash of its UID. The UID
// makes a Job that was deleted and made again another workload; the hash keeps
// names of 63 characters and more apart when they are cut.
func WorkloadName(kind, name string, uid types.UID) string {
	sum := sha256.Sum256([]byte(kind + "/" + name + "/" + string(uid)))
	hash := hex.EncodeToString(sum[:])[:hashLength]
	head := strings.ToLower(kind) + "-" + name
	if room := nameMax - hashLength - 1; len(head) > room {
		head = head[:room]
	}
	return strings.TrimRight(head, "-.") + "-" + hash
}

// WorkloadID is the identity of the QueuedWorkload with a name.
func WorkloadID(namespace, name string) batch.WorkloadID {
	return batch.WorkloadID(namespace + "/" + name)
}

// SplitID is the namespace and the name in a WorkloadID.
func SplitID(id batch.WorkloadID) types.NamespacedName {
	namespace, name, _ := strings.Cut(string(id), "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}
