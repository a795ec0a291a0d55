package convert_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/berth-dev/berth/pkg/batch"
	"github.com/berth-dev/berth/pkg/convert"
)

func TestCheckpointForms(t *testing.T) {
	t.Parallel()
	type parsed struct {
		Checkpoint batch.Checkpoint
		Means      convert.Means
	}
	for _, test := range []struct {
		text string
		want parsed
	}{
		{"", parsed{}},
		{"term", parsed{}},
		{"term,every=10m", parsed{batch.Checkpoint{Every: 10 * time.Minute}, convert.Means{}}},
		{"every=10m", parsed{batch.Checkpoint{Every: 10 * time.Minute}, convert.Means{}}},
		{"annotation", parsed{batch.Checkpoint{Delivery: batch.DeliverAnnotation}, convert.Means{}}},
		{"signal=USR1", parsed{batch.Checkpoint{Delivery: batch.DeliverSignal}, convert.Means{Signal: "USR1"}}},
		{"signal=SIGUSR1, lead=5m ,container=train", parsed{
			batch.Checkpoint{Delivery: batch.DeliverSignal, Lead: 5 * time.Minute}, convert.Means{Signal: "USR1", Container: "train"},
		}},
		{"http=:8080", parsed{batch.Checkpoint{Delivery: batch.DeliverHTTP}, convert.Means{Port: 8080, Path: "/"}}},
		{"http=:8080/a/b?now=1,every=1h30m", parsed{
			batch.Checkpoint{Delivery: batch.DeliverHTTP, Every: 90 * time.Minute}, convert.Means{Port: 8080, Path: "/a/b?now=1"},
		}},
		{"exec=/save.sh", parsed{batch.Checkpoint{Delivery: batch.DeliverExec}, convert.Means{Command: []string{"/save.sh"}}}},
		{"exec=/save.sh a,b  c,lead=30s", parsed{
			batch.Checkpoint{Delivery: batch.DeliverExec, Lead: 30 * time.Second}, convert.Means{Command: []string{"/save.sh", "a,b", "c"}},
		}},
		{`exec=/bin/sh -c 'touch "/tmp/x y"; kill -USR1 $(cat /pid)' ""`, parsed{
			batch.Checkpoint{Delivery: batch.DeliverExec}, convert.Means{Command: []string{"/bin/sh", "-c", `touch "/tmp/x y"; kill -USR1 $(cat /pid)`, ""}},
		}},
	} {
		var got parsed
		var err error
		if got.Checkpoint, got.Means, err = convert.ParseCheckpoint(test.text); err != nil {
			t.Errorf("%q: %v", test.text, err)
		} else if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.text, diff)
		}
	}
}

func TestWhatIsNoCheckpointIsSaid(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, says string }{
		{"usr1", `"usr1" is no delivery`},
		{"signal=KILL", "is no delivery"},
		{"signal=10", "is no delivery"},
		{"http=8080/x", "is no delivery"},
		{"http=:99999", "no port 99999"},
		{"exec=save.sh", "must begin with a path"},
		{"exec=/a 'b", "never closed"},
		{"signal=USR1,lead=soon", `duration "soon"`},
		{"signal=USR1,lead=0s", "longer than 0s"},
		{"lead=5m", "choose signal, exec, http or annotation"},
		{"annotation,container=a", "leave it out"},
		{"signal=USR1,container=A", "no name of a container"},
		{"signal=USR1,grace=5m", "is no delivery"},
	} {
		_, _, err := convert.ParseCheckpoint(test.text)
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q: %v, want %q in it", test.text, err, test.says)
		}
	}
}

// Whatever somebody writes, it is read or refused with the whole text in the
// error; it never panics.
func TestAnyCheckpointIsReadOrRefused(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`(term|signal=[A-Z0-9]{0,5}|exec=[/a-z '",]{0,9}|http=:[0-9/a]{0,7})?(,(lead|every|container)=[0-9a-z]{0,4}){0,3}`).Draw(t, "text")
		c, m, err := convert.ParseCheckpoint(text)
		if err != nil {
			return
		}
		switch c.Delivery {
		case batch.DeliverSignal:
			if m.Signal == "" {
				t.Fatalf("%q: a signal without a name", text)
			}
		case batch.DeliverExec:
			if len(m.Command) == 0 || !strings.HasPrefix(m.Command[0], "/") {
				t.Fatalf("%q: the command %q", text, m.Command)
			}
		case batch.DeliverHTTP:
			if m.Port < 1 || m.Port > 65535 || !strings.HasPrefix(m.Path, "/") {
				t.Fatalf("%q: %d %q", text, m.Port, m.Path)
			}
		case batch.DeliverTerm, batch.DeliverAnnotation:
			if c.Lead > 0 && c.Delivery == batch.DeliverTerm {
				t.Fatalf("%q: a lead for nobody", text)
			}
		}
	})
}

func TestGraceOfACancel(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"0": 0, "0s": 0, "2m": 2 * time.Minute, " 1h30m ": 90 * time.Minute} { //order:any each by itself
		if got, err := convert.ParseGrace(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "2", "soon", "-1m"} {
		if _, err := convert.ParseGrace(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
