package batch_test

import (
	"testing"

	"github.com/berth-dev/berth/pkg/batch"
)

func TestANumberFollowsTheOneBeforeIt(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, next string
		follows    bool
	}{
		{"ns/a-1", "ns/a-2", true},
		{"ns/a-9", "ns/a-10", true},
		{"ns/a-09", "ns/a-10", true},
		{"ns/a-1", "ns/a-3", false},
		{"ns/a-2", "ns/a-1", false},
		{"ns/a-2", "ns/a-2", false},
		{"ns/a-1", "ns/b-2", false},
		{"ns/a-0-x7k2p", "ns/a-5-zz4qd", false},
		{"ns/a", "ns/b", false},
		{"ns/a-", "ns/a-0", false},
		{"ns/a-999999999999999999", "ns/a-1000000000000000000", true},
		{"ns/a-18446744073709551615", "ns/a-18446744073709551616", false}, // longer than what is counted with
	}
	for _, tt := range tests {
		if got := batch.Follows(tt.name, tt.next); got != tt.follows {
			t.Errorf("%s follows %s: %v", tt.next, tt.name, got)
		}
	}
}
