package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// build is one filling of a cache folder.
type build struct {
	set    set
	module string // folder of test/kube
	dir    string // where the programs shall be
	temp   string // where they are put first
	lock   *os.File
	log    io.Writer
}

func (b build) run(ctx context.Context) error {
	start := time.Now()
	fmt.Fprintf(b.log, "%s Kept in\n  %s\n", b.set.intro, b.dir)
	all := b.set.steps
	fmt.Fprintf(b.log, "[1/%d] sources, from the Go module cache or proxy\n", len(all)+1)
	if err := b.sources(ctx); err != nil {
		return fmt.Errorf("get the sources: %w", err)
	}
	for i, s := range all {
		fmt.Fprintf(b.log, "[%d/%d] %s\n", i+2, len(all)+1, s.title)
		if err := b.step(ctx, s); err != nil {
			return fmt.Errorf("build %s: %w", s.title, err)
		}
	}
	fmt.Fprintf(b.log, "Built in %s.\n", time.Since(start).Round(time.Second))
	return nil
}

// sources downloads the modules that the builds need, before the first of
// them, so that a missing network is told before minutes are spent.
func (b build) sources(ctx context.Context) error {
	var packages []string
	for _, s := range b.set.steps {
		packages = append(packages, s.packages...)
	}
	return b.follow(ctx, unitModules, 0, listArgs(packages)...)
}

// step runs one `go build`. Its -v names each package as it is compiled.
func (b build) step(ctx context.Context, s step) error {
	args := append([]string{"build", "-v", "-ldflags", s.ldflags, "-o", b.temp + string(os.PathSeparator)}, s.packages...)
	return b.follow(ctx, unitPackages, b.packages(ctx, s), args...)
}

// follow runs a go command and makes progress of what it prints.
func (b build) follow(ctx context.Context, unit unit, total int, args ...string) error {
	command := b.command(ctx, args...)
	output, err := command.StderrPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	progress := newProgress(b.log, unit, total)
	tail := read(output, progress)
	err = command.Wait()
	progress.finish()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("%w; go %s said:\n%s", err, args[0], strings.Join(tail, "\n"))
	}
	return nil
}

// command is a go command that ends with the context, its compilers included.
func (b build) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = b.module
	// The user's own flags and workspace are about other modules.
	command.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// If we are killed, go runs on for a while: with the lock, so that nobody
	// builds into the same folder meanwhile.
	command.ExtraFiles = []*os.File{b.lock}
	command.Cancel = func() error {
		err := syscall.Kill(-command.Process.Pid, syscall.SIGTERM)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
	command.WaitDelay = 10 * time.Second
	return command
}

// packages is the number of packages that a step needs, 0 if unknown. Those in
// Go's build cache are not compiled again, so it is an upper bound.
func (b build) packages(ctx context.Context, s step) int {
	out, err := b.command(ctx, listArgs(s.packages)...).Output()
	if err != nil {
		return 0 // the build will say why
	}
	return strings.Count(string(out), "\n")
}

// listArgs print a line for each package that these need, themselves included.
func listArgs(packages []string) []string {
	return append([]string{"list", "-deps", "-f", "."}, packages...)
}

// tailLines is how much of the output an error shows.
const tailLines = 25

// read reads go's messages to their end: names of packages and modules are
// progress, the rest is kept for an error.
func read(output io.Reader, p *progress) []string {
	var tail []string
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if module, ok := strings.CutPrefix(line, "go: downloading "); ok {
			p.add(module)
			continue
		}
		if isPackage(line) {
			p.add(line)
			continue
		}
		if tail = append(tail, line); len(tail) > tailLines {
			tail = tail[1:]
		}
	}
	_, _ = io.Copy(io.Discard, output) // a line too long to scan must not block go
	return tail
}

// isPackage tells the names that -v prints from messages.
func isPackage(line string) bool {
	return line != "" && !strings.ContainsAny(line, " \t:#") && !strings.HasSuffix(line, ".go")
}
