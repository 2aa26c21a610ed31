// Package overlay makes the overlay of Go's standard library with which package scheduler works.
//
// It edits copies of a few files of the Go installation, at anchors that must be there exactly
// once, and adds files of its own. Outside of a bubble, no edit changes more than the keys of
// hashes.
package overlay

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/interlock-sim/interlock/internal/base/file"
)

// Tag is the build tag that a program needs besides the overlay.
const Tag = "interlock_scheduler"

// releasePrefix is the Go release that the edits are for.
const releasePrefix = "go1.26"

//go:embed runtime.go.txt
var runtimeSource string

//go:embed switch.go.txt
var switchSource string

//go:embed internalsync.go.txt
var internalSyncSource string

//go:embed sync.go.txt
var syncSource string

//go:embed atomic.go.txt
var atomicSource string

// added are the files that the overlay adds, by their paths below GOROOT/src.
var added = map[string]string{
	"runtime/interlock.go":        runtimeSource,
	"runtime/interlock_switch.go": switchSource,
	"internal/sync/interlock.go":  internalSyncSource,
	"sync/interlock.go":           syncSource,
	"sync/atomic/interlock.go":    atomicSource,
}

// An edit replaces an anchor in a file of the standard library.
type edit struct{ file, anchor, replacement string }

// switchPoints are the functions at which a goroutine may be switched before they do anything, by
// file: the first lines of functions. Unlock and its like are none: what another goroutine could do
// right before, it can do right after. Nor are operations on channels that may block: they would
// multiply the schedules of each lock whose goroutines hand over results.
var switchPoints = map[string]string{
	"runtime/chan.go":      `func (selectnbsend|selectnbrecv|closechan)\(`,
	"sync/mutex.go":        `func \(\w+ \*Mutex\) (Lock|TryLock)\(`,
	"sync/rwmutex.go":      `func \(\w+ \*RWMutex\) (Lock|TryLock)\(`,
	"sync/once.go":         `func \(\w+ \*Once\) Do\(`,
	"sync/cond.go":         `func \(\w+ \*Cond\) (Signal|Broadcast)\(`,
	"sync/map.go":          `func \(\w+ \*Map\) [A-Z]`,
	"sync/atomic/type.go":  `func \(\w+ \*\w+(\[T\])?\) [A-Z]`,
	"sync/atomic/value.go": `func \(\w+ \*Value\) [A-Z]`,
}

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
	// A goroutine competes with those of the group of the goroutine or timer that starts it.
	{
		"runtime/runtime2.go", "unsafe.Pointer // profiler labels\n",
		"unsafe.Pointer // profiler labels\n\tinterlockGroup uint32\n",
	},
	{
		"runtime/proc.go", "\t\tnewg.bubble = callergp.bubble\n",
		"\t\tnewg.bubble = callergp.bubble\n\t\tnewg.interlockGroup = callergp.interlockGroup\n",
	},
	{
		// At the end, because package timers reads the beginning.
		"runtime/time.go", "\tisSending atomic.Int32\n",
		"\tisSending atomic.Int32\n\n\tinterlockGroup uint32 // of the goroutine that made it\n",
	},
	{
		"runtime/time.go", "\tt.timer.init(nil, nil)\n",
		"\tt.timer.init(nil, nil)\n\tt.interlockGroup = getg().interlockGroup\n",
	},
	{
		"runtime/time.go", "\t\tbubble.changegstatus(gp, _Gdead, _Grunning)\n",
		"\t\tbubble.changegstatus(gp, _Gdead, _Grunning)\n" +
			"\t\tgp.interlockGroup = t.interlockGroup\n",
	},
	{
		"runtime/time.go", "\t\tgp.bubble = nil\n",
		"\t\tgp.bubble = nil\n\t\tgp.interlockGroup = 0\n",
	},
	// Every run ranges over a map in the same order. The keys of hashes are those of every program,
	// and the seed and the first entry those of every map of a bubble.
	{
		"runtime/rand.go", "func maps_rand() uint64 {\n",
		"func maps_rand() uint64 {\n\tif getg().bubble != nil {\n\t\treturn 0\n\t}\n",
	},
	{
		"runtime/alg.go", "uintptr(bootstrapRand())",
		"uintptr(i+1) * 0x9e3779b1",
	},
	{
		"runtime/alg.go", "\t\tkey[i] = bootstrapRand()\n",
		"\t\tkey[i] = uint64(i+1) * 0x9e3779b97f4a7c15\n",
	},
	{
		"internal/sync/hashtriemap.go", "uintptr(runtime_rand())", "interlockSeed()",
	},
	// A select asks which of its ready cases to take. One that does not block may be switched.
	{
		"runtime/select.go", "block bool) (int, bool) {\n\tgp := getg()\n",
		"block bool) (int, bool) {\n\tif !block {\n\t\tinterlockPoint()\n\t}\n" +
			"\tgp := getg()\n",
	},
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
		"skipframes, interlockRLockWait(addr, waitReasonSyncRWMutexRLock))\n",
	},
	{
		"runtime/sema.go", "skipframes, waitReasonSyncRWMutexLock)\n",
		"skipframes, interlockRWLockWait(addr, waitReasonSyncRWMutexLock))\n",
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
	{
		"sync/rwmutex.go", "func (rw *RWMutex) RLock() {\n",
		"func (rw *RWMutex) interlockRLock() {\n",
	},
	{
		"sync/rwmutex.go", "func (rw *RWMutex) TryRLock() bool {\n",
		"func (rw *RWMutex) interlockTryRLock() bool {\n",
	},
	{
		"sync/rwmutex.go", "func (rw *RWMutex) RUnlock() {\n",
		"func (rw *RWMutex) interlockRUnlock() {\n",
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
		if err := readSource(sources, e.file, contents); err != nil {
			return "", err
		}
		if n := strings.Count(contents[e.file], e.anchor); n != 1 {
			return "", fmt.Errorf("no scheduler for %s: %s has the anchor %q %d times, not once",
				version, e.file, e.anchor, n)
		}
		contents[e.file] = strings.Replace(contents[e.file], e.anchor, e.replacement, 1)
	}
	if err := addSwitchPoints(sources, version, contents); err != nil {
		return "", err
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

// readSource reads a file of the standard library, unless its content is known.
func readSource(sources, name string, contents map[string]string) error {
	if _, ok := contents[name]; ok {
		return nil
	}
	content, err := os.ReadFile(filepath.Join(sources, filepath.FromSlash(name)))
	contents[name] = string(content)
	return err
}

// addSwitchPoints makes the functions of [switchPoints] ask whether to switch. It adds the list of
// the standard library's directories, whose code asks nothing.
func addSwitchPoints(sources, version string, contents map[string]string) error {
	for name, functions := range switchPoints {
		if err := readSource(sources, name, contents); err != nil {
			return err
		}
		first := regexp.MustCompile(`(?m)^` + functions + `.*?\{( |$)`)
		if !first.MatchString(contents[name]) {
			return fmt.Errorf("no scheduler for %s: %s has no function %s", version, name,
				functions)
		}
		contents[name] = first.ReplaceAllString(contents[name], "${0}interlockPoint(); ")
	}
	entries, err := os.ReadDir(sources)
	if err != nil {
		return err
	}
	list := "package runtime\n\nvar interlockStandard = []string{"
	for _, entry := range entries {
		if entry.IsDir() {
			list += fmt.Sprintf("%q,", entry.Name())
		}
	}
	contents["runtime/interlock_standard.go"] = list + "}\n"
	return nil
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
	fmt.Fprint(hash, goroot, edits, added, switchPoints) // Maps print in the order of their keys.
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
