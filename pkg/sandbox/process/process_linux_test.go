package process

import (
	"strings"
	"testing"
)

func TestTheStartTimeIsTheFieldAfterTheName(t *testing.T) {
	t.Parallel()
	rest := " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21"
	cases := []struct{ name, stat, want, err string }{
		{"a plain name", "42 (etcd) S" + rest, "4711", ""},
		{"a name with spaces and parentheses", "42 (a) R (b c) S" + rest, "4711", ""},
		{"a zombie", "42 (etcd) Z" + rest, "", "ended"},
		{"no name", "42 etcd S" + rest, "", "no name"},
		{"cut off", "42 (etcd) S 1 2", "", "5 fields"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseStat([]byte(c.stat))
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %q, %v; want %q, %q", got, err, c.want, c.err)
			}
		})
	}
}

func TestAMarkIsAWholeEntry(t *testing.T) {
	t.Parallel()
	environ := []byte("A=1\x00BERTH_SANDBOX_MARK=/tmp/one\x00B=BERTH_SANDBOX_MARK=/tmp/two\x00")
	for entry, want := range map[string]bool{
		"BERTH_SANDBOX_MARK=/tmp/one": true,
		"BERTH_SANDBOX_MARK=/tmp":     false,
		"BERTH_SANDBOX_MARK=/tmp/two": false,
	} { //order:any independent checks
		if got := hasEntry(environ, []byte(entry)); got != want {
			t.Errorf("%s: %v", entry, got)
		}
	}
}
