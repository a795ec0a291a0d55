package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/berth-dev/berth/pkg/batch"
)

// digestLength gives 64 bits: enough to tell plans apart.
const digestLength = 16

// Digest is a short text that is the same for the same plan: decisions,
// placements of planned starts and wake-up. What a pass counted is left out.
func Digest(plan batch.Plan) (string, error) {
	plan.Stats = batch.Stats{}
	text, err := json.Marshal(plan)
	if err != nil {
		return "", fmt.Errorf("digest of a plan: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:digestLength], nil
}
