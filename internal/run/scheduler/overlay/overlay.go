// Package overlay makes the overlay of Go's standard library with which package scheduler works.
//
// It edits copies of a few files of the Go installation, at anchors that must be there exactly
// once, and adds files of its own. No edit changes what code outside of a controlled bubble does.
package overlay

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"

	"github.com/interlock-sim/interlock/internal/base/file"
)

// Tag is the build tag that a program needs besides the overlay.
const Tag = "interlock_scheduler"

// releasePrefix is the Go release that the edits are for.
const releasePrefix = "go1.26"

//go:embed runtime.go.txt
var runtimeSource string

//go:embed sync.go.txt
var syncSource string

// added are the files that the overlay adds, by their paths below GOROOT/src.
var added = map[string]string{
	"runtime/interlock.go":       runtimeSource,
	"internal/sync/interlock.go": syncSource,
}

// An edit replaces an anchor in a file of the standard library.
type edit struct{ file, anchor, replacement string }

var edits = []edit{
	// A goroutine that becomes runnable, or is started, is held.
	{
		"runtime/proc.go", "func ready(gp *g, traceskip int, next bool) {\n",
		"func ready(gp *g, traceskip int, next bool) {\n" +
			"\tif interlockHold(gp) {\n\t\treturn\n\t}\n",
	},
	{
		"runtime/proc.go", "\t\tnewg := newproc1(fn, gp, pc, false, waitReasonZero)\n",
		"\t\tif interlockHoldsNew(gp, fn) {\n" +
			"\t\t\tready(newproc1(fn, gp, pc, true, waitReasonInterlock), 0, true)\n" +
			"\t\t\treturn\n\t\t}\n" +
			"\t\tnewg := newproc1(fn, gp, pc, false, waitReasonZero)\n",
	},
	{
		"runtime/proc.go", "func Gosched() {\n",
		"func Gosched() {\n\tif interlockYield() {\n\t\treturn\n\t}\n",
	},
	{
		"runtime/synctest.go", "\tif gp := bubble.waiter; gp != nil {\n",
		"\tif gp := bubble.interlockChooser(); gp != nil {\n\t\treturn gp\n\t}\n" +
			"\tif gp := bubble.waiter; gp != nil {\n",
	},
	{
		"runtime/synctest.go", "type synctestBubble struct {\n",
		"type synctestBubble struct {\n\tinterlock interlockBubble\n",
	},
	// A select asks which of its ready cases to take.
	{
		"runtime/select.go", "\t\tj := cheaprandn(uint32(norder + 1))\n",
		"\t\tj := interlockPollIndex(gp, norder)\n",
	},
	{
		"runtime/select.go", "\t// lock all the channels involved in the select\n",
		"\tinterlockSelect(gp, scases, pollorder, nsends)\n\n" +
			"\t// lock all the channels involved in the select\n",
	},
	// Timers of the same instant fire in the order of their creation.
	{
		"runtime/time.go", "\t\t\tt.rand = cheaprand()\n",
		"\t\t\tt.rand = interlockTimerOrder(getg().bubble)\n",
	},
	// A wait for a mutex of the bubble is durable, and the wall clock decides nothing in it.
	{
		"runtime/runtime2.go", "// \"select (durable)\"\n",
		"// \"select (durable)\"\n\twaitReasonInterlock\n\twaitReasonInterlockMutex\n",
	},
	{
		"runtime/runtime2.go", "\twaitReasonSynctestSelect:        \"select (durable)\",\n",
		"\twaitReasonSynctestSelect:        \"select (durable)\",\n" +
			"\twaitReasonInterlock: \"held (durable)\",\n" +
			"\twaitReasonInterlockMutex: \"sync mutex (durable)\",\n",
	},
	{
		"runtime/runtime2.go", "\twaitReasonSynctestSelect:        true,\n",
		"\twaitReasonSynctestSelect:        true,\n" +
			"\twaitReasonInterlock: true,\n\twaitReasonInterlockMutex: true,\n",
	},
	{
		"runtime/sema.go", "skipframes, waitReasonSyncMutexLock)\n",
		"skipframes, interlockMutexWait(addr, waitReasonSyncMutexLock))\n",
	},
	{
		"runtime/sema.go", "skipframes, waitReasonSyncRWMutexRLock)\n",
		"skipframes, interlockRWMutexWait(addr, waitReasonSyncRWMutexRLock))\n",
	},
	{
		"runtime/sema.go", "skipframes, waitReasonSyncRWMutexLock)\n",
		"skipframes, interlockRWMutexWait(addr, waitReasonSyncRWMutexLock))\n",
	},
	{
		"runtime/sema.go", "func internal_sync_nanotime() int64 {\n",
		"func internal_sync_nanotime() int64 {\n" +
			"\tif interlockInBubble() {\n\t\treturn getg().bubble.now\n\t}\n",
	},
	{
		"runtime/proc.go", "func internal_sync_runtime_canSpin(i int) bool {\n",
		"func internal_sync_runtime_canSpin(i int) bool {\n" +
			"\tif b := getg().bubble; b != nil && b.interlock.on {\n\t\treturn false\n\t}\n",
	},
	{
		"internal/sync/mutex.go", "func (m *Mutex) Lock() {\n",
		"func (m *Mutex) interlockLock() {\n",
	},
	{
		"internal/sync/mutex.go", "func (m *Mutex) TryLock() bool {\n",
		"func (m *Mutex) interlockTryLock() bool {\n",
	},
	{
		"internal/sync/mutex.go", "func (m *Mutex) Unlock() {\n",
		"func (m *Mutex) interlockUnlock() {\n",
	},
}

// An UnknownRelease is a Go release for which there is no overlay.
type UnknownRelease struct{ Version string }

// Error names the release.
func (e *UnknownRelease) Error() string {
	return fmt.Sprintf("no scheduler for %s: the overlay is for %s", e.Version, releasePrefix)
}

// Knows reports whether there is an overlay for a Go release.
func Knows(version string) bool {
	return version == releasePrefix || strings.HasPrefix(version, releasePrefix+".")
}

// Write writes the overlay of a Go installation to a directory, and returns the file for the flag
// -overlay of the go command. It returns an [*UnknownRelease] for another release of Go, and an
// error that names the anchor if a file of the installation lacks one.
func Write(goroot, version, directory string) (string, error) {
	if !Knows(version) {
		return "", &UnknownRelease{version}
	}
	sources := filepath.Join(goroot, "src")
	contents := make(map[string]string)
	for path, content := range added {
		contents[path] = content
	}
	for _, e := range edits {
		if _, ok := contents[e.file]; !ok {
			content, err := os.ReadFile(filepath.Join(sources, filepath.FromSlash(e.file)))
			if err != nil {
				return "", err
			}
			contents[e.file] = string(content)
		}
		if n := strings.Count(contents[e.file], e.anchor); n != 1 {
			return "", fmt.Errorf("no scheduler for %s: %s has the anchor %q %d times, not once",
				version, e.file, e.anchor, n)
		}
		contents[e.file] = strings.Replace(contents[e.file], e.anchor, e.replacement, 1)
	}
	replace := make(map[string]string)
	for path, content := range contents {
		copied := filepath.Join(directory, filepath.FromSlash(path))
		if err := writeIfDifferent(copied, []byte(content)); err != nil {
			return "", err
		}
		replace[filepath.Join(sources, filepath.FromSlash(path))] = copied
	}
	index, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "\t")
	if err != nil {
		return "", err
	}
	path := filepath.Join(directory, "overlay.json")
	return path, writeIfDifferent(path, index)
}

// Install writes the overlay below the user's directory for caches, and returns its file. The
// environment is what go env GOROOT GOVERSION prints. It returns the errors of [Write], and an
// error if the environment does not have these two lines.
func Install(environment string) (string, error) {
	lines := strings.Split(strings.TrimSpace(environment), "\n")
	if len(lines) != 2 {
		return "", fmt.Errorf("go env printed %q", environment)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	goroot, version := lines[0], lines[1]
	return Write(goroot, version, Directory(cache, goroot, version))
}

// Directory returns where to write the overlay of a Go installation, below a directory for caches.
// Another version of this package returns another one.
func Directory(cache, goroot, version string) string {
	hash := fnv.New64a()
	fmt.Fprint(hash, goroot, edits, added) // Maps print in the order of their keys.
	name := fmt.Sprintf("scheduler-%s-%016x", version, hash.Sum64())
	return filepath.Join(cache, "interlock", name)
}

// writeIfDifferent writes a file unless it has that content already. The go command's cache goes by
// content; not to write is for programs that read the file at the same time.
func writeIfDifferent(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == string(content) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return file.WriteContent(path, content)
}
