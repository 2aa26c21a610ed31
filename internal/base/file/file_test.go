package file_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/interlock-sim/interlock/internal/base/file"
)

// killVariable has the number of the operation before which a child is killed, and the directory.
const killVariable = "FILE_TEST_KILL"

// TestMain runs the tests or, in a child, writes files until it is killed.
func TestMain(m *testing.M) {
	number, directory, isChild := strings.Cut(os.Getenv(killVariable), " ")
	if !isChild {
		os.Exit(m.Run())
	}
	last, err := strconv.Atoi(number)
	if err != nil {
		panic(err)
	}
	file.Intercept = func(string, string) error {
		if last--; last == 0 {
			self, err := os.FindProcess(os.Getpid())
			if err != nil {
				panic(err)
			}
			self.Kill()
			select {} // The signal may take effect on another thread.
		}
		return nil
	}
	if err := writeAll(directory); err != nil {
		panic(err)
	}
}

// content returns a content of several writes.
func content(version string) string { return strings.Repeat(version+"\n", 50_000) }

// files are those that writeAll writes.
var files = []string{
	"plain", "link", filepath.Join("directory", "a"), filepath.Join("directory", "b"),
}

// writeAll writes each kind of file.
func writeAll(directory string) error {
	return errors.Join(
		file.WriteContent(filepath.Join(directory, "plain"), []byte(content("new"))),
		file.WriteContent(filepath.Join(directory, "link"), []byte(content("new"))),
		file.WriteDirectory(filepath.Join(directory, "directory"), func(draft string) error {
			return errors.Join(
				file.WriteContent(filepath.Join(draft, "a"), []byte(content("new"))),
				file.WriteContent(filepath.Join(draft, "b"), []byte(content("new"))))
		}))
}

// newDirectory returns a directory without files, or with old ones.
func newDirectory(t *testing.T, old bool) string {
	t.Helper()
	directory := t.TempDir()
	if !old {
		return directory
	}
	err := errors.Join(
		os.Mkdir(filepath.Join(directory, "directory"), 0o755),
		os.Symlink("target", filepath.Join(directory, "link")))
	for _, name := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(directory, name),
			[]byte(content("old")), 0o640))
	}
	if err != nil {
		t.Fatal(err)
	}
	return directory
}

// verify fails unless each file is the old or the new one, and returns how many are new.
func verify(t *testing.T, directory string, old bool) (fresh int) {
	t.Helper()
	for _, name := range files {
		got, err := os.ReadFile(filepath.Join(directory, name))
		switch {
		case string(got) == content("new"):
			fresh++
		case old && string(got) == content("old"), !old && errors.Is(err, fs.ErrNotExist):
		default:
			t.Errorf("%s has %d bytes, %v", name, len(got), err)
		}
	}
	return fresh
}

// drafts returns the drafts in a directory and below.
func drafts(t *testing.T, directory string) (found []string) {
	t.Helper()
	if err := filepath.WalkDir(directory, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), file.DraftPrefix) {
			found = append(found, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

// operations returns how many operations writeAll needs, by their kind.
func operations(t *testing.T, old bool) map[string]int {
	t.Helper()
	kinds := make(map[string]int)
	file.Intercept = func(operation, _ string) error {
		kinds[operation]++
		return nil
	}
	defer func() { file.Intercept = nil }()
	directory := newDirectory(t, old)
	if err := writeAll(directory); err != nil {
		t.Fatal(err)
	}
	if n := verify(t, directory, old); n != len(files) {
		t.Fatalf("%d of %d files are new", n, len(files))
	}
	return kinds
}

func sum(kinds map[string]int) (n int) {
	for count := range maps.Values(kinds) {
		n += count
	}
	return n
}

// A full disk at any operation leaves each file as it was or replaces it, and leaves no draft. The
// error names the file.
func TestFullDisk(t *testing.T) {
	for _, old := range []bool{false, true} {
		kinds := operations(t, old)
		for _, kind := range []string{"create", "write", "sync", "close", "rename"} {
			if kinds[kind] < len(files) {
				t.Errorf("%d operations of the kind %s", kinds[kind], kind)
			}
		}
		for n := range sum(kinds) {
			directory := newDirectory(t, old)
			at := 0
			file.Intercept = func(string, string) error {
				if at++; at > n {
					return syscall.ENOSPC
				}
				return nil
			}
			err := writeAll(directory)
			file.Intercept = nil
			if !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), file.DraftPrefix) {
				t.Errorf("operation %d: %v", n, err)
			}
			if fresh := verify(t, directory, old); fresh == len(files) {
				t.Errorf("operation %d: all files are new", n)
			}
			if found := drafts(t, directory); len(found) > 0 {
				t.Errorf("operation %d leaves %q", n, found)
			}
		}
	}
}

// A program that is killed before any operation leaves each file as it was or replaces it.
func TestKilled(t *testing.T) {
	for _, old := range []bool{false, true} {
		total, step := sum(operations(t, old)), 3 // each kind of operation, of some file
		for n := 1; n <= total; n += step {
			directory := newDirectory(t, old)
			child := exec.Command(os.Args[0])
			child.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", killVariable, n, directory))
			output, err := child.CombinedOutput()
			var ended *exec.ExitError
			if !errors.As(err, &ended) ||
				ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("operation %d: %v\n%s", n, err, output)
			}
			verify(t, directory, old)
		}
	}
}

// A file keeps its permissions, a link leads to what it led to, and devices are written in place.
func TestKinds(t *testing.T) {
	directory := newDirectory(t, true)
	if err := writeAll(directory); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plain", "link"} {
		if info, err := os.Stat(filepath.Join(directory, name)); err != nil ||
			info.Mode().Perm() != 0o640 {
			t.Errorf("%s has the mode %v, %v", name, info.Mode(), err)
		}
	}
	if to, err := os.Readlink(filepath.Join(directory, "link")); err != nil || to != "target" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if err := file.WriteContent(os.DevNull, []byte("x")); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(os.DevNull)
	if err != nil || info.Mode().IsRegular() {
		t.Errorf("the mode of the null device is %v, %v", info.Mode(), err)
	}
	if err := file.WriteContent("/dev/full", []byte("x")); !errors.Is(err, syscall.ENOSPC) ||
		!strings.Contains(err.Error(), "/dev/full") {
		t.Errorf("a full device: %v", err)
	}
}

// What cannot be written is an error that names it, before and when it is written.
func TestUnwritable(t *testing.T) {
	directory := newDirectory(t, true)
	for _, tc := range []struct {
		path string
		want error
	}{
		{filepath.Join(directory, "missing", "file"), fs.ErrNotExist},
		{filepath.Join(directory, "plain", "file"), syscall.ENOTDIR},
		{directory, syscall.EISDIR},
	} {
		for _, err := range []error{file.Check(tc.path), file.WriteContent(tc.path, nil)} {
			if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.path) {
				t.Errorf("%s: %v", tc.path, err)
			}
		}
	}
	for _, name := range files {
		if err := file.Check(filepath.Join(directory, name)); err != nil {
			t.Error(err)
		}
	}
	failed := errors.New("the encoder failed")
	if err := file.Write(filepath.Join(directory, "plain"), func(w io.Writer) error {
		io.WriteString(w, "half")
		return failed
	}); !errors.Is(err, failed) {
		t.Error(err)
	}
	if fresh, left := verify(t, directory, true), drafts(t, directory); fresh > 0 || left != nil {
		t.Errorf("%d new files, drafts %q", fresh, left)
	}
}
