package core_test

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
)

const (
	// fuzzSteps keeps the worlds of the fuzzer small: inputs that reach new code
	// tend to be the long ones, and those cost ten times what others do.
	fuzzSteps = 14
	// worldBytes is enough for the draws of such a world.
	worldBytes = 1 << 13
)

// Whatever happens in a cluster, every plan keeps its invariants, and the plan
// after it is empty. It is the world of the properties, steered by what the
// fuzzer has seen to reach new code instead of by chance.
func FuzzPlan(f *testing.F) {
	for seed := range uint64(16) {
		random := rand.NewChaCha8([32]byte{byte(seed)})
		data := make([]byte, worldBytes)
		if _, err := random.Read(data); err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		drawWorldOf(t, fuzzSteps, func(w *world) func(batch.Plan) {
			maybeQuotas(t, w)
			return func(plan batch.Plan) {
				checkQuotas(w, plan)
				checkEvictions(w, plan)
				checkGrants(w, plan)
				checkBuckets(w, plan)
				checkPromises(w, plan)
				checkWishes(w, plan)
				checkTurns(w, plan)
			}
		})
	}))
}
