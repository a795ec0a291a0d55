package evidence

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if life, err := Read(dir, "pod"); err != nil || len(life) > 0 || !life.End().IsZero() {
		t.Errorf("nobody has written: %v, %v", life, err)
	}
	book, err := Open(dir, "pod")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	want := Life{{at, Started, ""}, {at.Add(Pulse), Alive, ""}, {at.Add(2 * Pulse), Signal, "terminated"}, {at.Add(3 * Pulse), Signal, "hangup"}}
	for _, e := range want {
		if err := book.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	half, err := os.OpenFile(filepath.Join(dir, "pod"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := half.WriteString(`{"at":"2026-`); err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir, "pod")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if e, ok := got.First(Signal, "hangup"); !ok || e != want[3] || !got.End().Equal(want[3].At) {
		t.Errorf("hangup: %v %v; end: %v", e, ok, got.End())
	}
	if n := got.Count(Signal); n != 2 {
		t.Errorf("%d signals, want 2", n)
	}
	if _, ok := got.First(Saved, ""); ok {
		t.Error("found what is not there")
	}
	if diff := cmp.Diff(Life{want[0], want[2], want[3]}, got.Told()); diff != "" {
		t.Errorf("told (-want +got)\n%s", diff)
	}
}
