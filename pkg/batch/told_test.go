package batch_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/berth-dev/berth/pkg/batch"
)

// Every field but the answers makes another request: one that is added to the
// record and not compared would let the planner keep a judgement that is stale.
func TestOnlyToldSeesEveryFieldButTheAnswers(t *testing.T) {
	t.Parallel()
	answers := map[string]bool{"Promise": true, "Basis": true, "Revoked": true, "RevokedBy": true, "LastVerdict": true}
	of := reflect.TypeFor[batch.Workload]()
	for i := range of.NumField() {
		name := of.Field(i).Name
		var was, is batch.Workload
		touch(t, reflect.ValueOf(&is).Elem().Field(i))
		if got := was.OnlyTold(&is); got != answers[name] {
			t.Errorf("another %s: only told: got %t, want %t", name, got, answers[name])
		}
	}
}

// touch makes a value other than zero.
func touch(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0)))
			return
		}
		touch(t, v.Field(0))
	default:
		t.Fatalf("a field of kind %s", v.Kind())
	}
}
