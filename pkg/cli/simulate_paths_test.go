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

// TestWhatCannotBeWrittenIsToldBeforeTheRun: a run may take hours. What is there stays as
// it is until there is something to write, and what is not there is not made.
func TestWhatCannotBeWrittenIsToldBeforeTheRun(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	here := strings.NewReplacer("@", folder+"/")
	for name, text := range map[string]string{"a": fits, "kept": "of yesterday"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--report", "--journal"} {
		for _, test := range []struct{ path, want string }{
			{"@gone/page", " @gone/page cannot be written: there is no folder @gone: make it, or name a file in another"},
			{"@gone/", " @gone/ cannot be written: there is no folder @gone: make it"},
			{"@kept/page", " @kept/page cannot be written: not a directory: name a file where you may write"},
			{"@sub", " @sub is a folder: name a file in it"},
		} {
			t.Run(flag+" "+test.path, func(t *testing.T) {
				t.Parallel()
				out, said, code := berth(t, nil, strings.Fields("simulate "+here.Replace("-f @a "+flag+" "+test.path))...)
				if want := flag + here.Replace(test.want); code != exitWrong || !strings.Contains(said, want) || out != "" {
					t.Errorf("exit code %d, said %s, want %s; printed %s", code, said, want, out)
				}
			})
		}
	}
}

// TestLookingWhetherAFileCanBeWrittenLeavesItAsItWas.
func TestLookingWhetherAFileCanBeWrittenLeavesItAsItWas(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	kept, fresh := filepath.Join(folder, "kept"), filepath.Join(folder, "fresh")
	if err := os.WriteFile(kept, []byte("of yesterday"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{kept, fresh} {
		if err := (namedFile{"--report", path}).writable(); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if now, err := os.ReadFile(kept); err != nil || string(now) != "of yesterday" {
		t.Errorf("the file that was there is %q now (%v)", now, err)
	}
	if _, err := os.Lstat(fresh); err == nil {
		t.Error("the file that was not there is now")
	}
}

func TestAFileWhereNobodyMayWriteIsTold(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o500); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "page")
	want := "--report " + path + " cannot be written: permission denied: name a file where you may write"
	if err := (namedFile{"--report", path}).writable(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
