package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNothingThatIsReadIsOverwritten, nor one output by another: whichever way it is named.
func TestNothingThatIsReadIsOverwritten(t *testing.T) {
	t.Parallel()
	const log = "; MaxProcs: 1\n1 0 0 1 1 0 0 1 1\n"
	traced := strings.Replace(fits, "  jobs:", "  trace: {file: l.swf, format: swf}\n  jobs:", 1)
	files := map[string]string{"a": fits, "p": onePolicy, "l.swf": log, "t": traced}
	folder := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(folder, filepath.Join(folder, "again")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(folder, "a"), filepath.Join(folder, "hard")); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, args, want string }{
		{"the scenario", "-f @a --report @a", "--report @a would overwrite -f @a: name another file"},
		{"the scenario by another way", "-f @a --journal @x/../again/a", "--journal @x/../again/a would overwrite -f @a"},
		{"the scenario by another name", "-f @a --report @hard", "--report @hard would overwrite -f @a"},
		{"what it is compared with", "-f @a --compare @p --report @p", "--report @p would overwrite --compare @p"},
		{"its trace", "-f @t --report @l.swf", "--report @l.swf would overwrite the trace of @t, @l.swf"},
		{"a log by itself", "-f @l.swf --journal @l.swf", "--journal @l.swf would overwrite -f @l.swf"},
		{"the trace of what it is compared with", "-f @a --compare @t --journal @l.swf", "--journal @l.swf would overwrite the trace of @t, @l.swf"},
		{"the other output", "-f @a --report @new --journal @again/new", "--journal @again/new would overwrite --report @new"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			here := strings.NewReplacer("@", folder+"/")
			out, said, code := berth(t, nil, strings.Fields("simulate "+here.Replace(test.args))...)
			if want := here.Replace(test.want); code != exitWrong || !strings.Contains(said, want) || out != "" {
				t.Errorf("exit code %d, said %s, want %s; printed %s", code, said, want, out)
			}
			for name, text := range files {
				if now, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(now) != text {
					t.Errorf("%s is %d bytes now (%v)", name, len(now), err)
				}
			}
		})
	}
}
