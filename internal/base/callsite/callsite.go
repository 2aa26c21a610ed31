// Package callsite finds the source line of the code under test that made a call.
package callsite

import (
	"net/url"
	"path"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
)

// A Site is a source line and its function. The zero value is unknown.
type Site struct {
	// the file and the line, such as billing/lock.go:42. The file is relative to the root of the
	// main module; one of another module begins with that module's path and version.
	Line     string
	Function string // without its package path, such as lock.(*Mutex).Lock
}

// A Call is a call of the code under test into the code between it and an observer.
type Call struct {
	Method string // the name of the called method, such as ExistsW; "" if nothing is between
	Site   Site   // where the call is
}

// Caller returns the innermost call of the code under test on the stack of the calling goroutine.
// Between reports whether a function, by its full name, lies between the code under test and the
// caller of Caller.
func Caller(between func(function string) bool) Call {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	var call Call
	for {
		frame, more := frames.Next()
		if call.add(&frame, between) {
			return call
		}
		if !more {
			return Call{}
		}
	}
}

// On returns the innermost call of the code under test on a stack, innermost frame first. See
// [Caller] for between.
func On(stack []runtime.Frame, between func(function string) bool) Call {
	var call Call
	for i := range stack {
		if call.add(&stack[i], between) {
			return call
		}
	}
	return Call{}
}

// add adds the next frame outwards, and reports whether it is in the code under test.
func (c *Call) add(frame *runtime.Frame, between func(function string) bool) bool {
	switch {
	case frame.Function == "":
		return false
	case between(frame.Function):
		c.Method = frame.Function[strings.LastIndexByte(frame.Function, '.')+1:]
		return false
	case ofRuntime(frame.Function):
		return false
	}
	c.Site = Of(frame.Function, frame.File, frame.Line)
	return true
}

// ofRuntime reports whether a function belongs to the runtime, or is one of the standard library by
// which a goroutine blocks.
func ofRuntime(function string) bool {
	return strings.HasPrefix(function, "runtime.") ||
		strings.HasPrefix(function, "internal/runtime/") ||
		strings.HasPrefix(function, "sync.") || strings.HasPrefix(function, "internal/sync.") ||
		strings.HasPrefix(function, "time.")
}

// Of returns the site of a frame. The result does not depend on where the source is on the machine.
func Of(function, file string, line int) Site {
	return Site{
		Line:     fileOf(function, file, build()) + ":" + strconv.Itoa(line),
		Function: function[strings.LastIndexByte(function, '/')+1:],
	}
}

// build returns the program's modules, or nil if they are unknown.
var build = sync.OnceValue(func() *debug.BuildInfo {
	info, _ := debug.ReadBuildInfo()
	return info
})

// repository has several modules. The files of all are named relative to its root.
const repository = "github.com/interlock-sim/interlock"

// fileOf returns the file of a function as in [Site.Line]. The package of the function says in
// which directory of its module the file is.
func fileOf(function, file string, info *debug.BuildInfo) string {
	directory, name := path.Split(strings.ReplaceAll(file, `\`, "/"))
	directory = strings.TrimSuffix(directory, "/")
	of := packageOf(function)
	main := ""
	if info != nil {
		main = info.Main.Path
		if strings.HasPrefix(main, repository+"/") {
			main = repository
		}
		if of == "main" {
			of = info.Path
		}
	}
	if strings.HasSuffix(name, "_test.go") && path.Base(of) != path.Base(directory) {
		of = strings.TrimSuffix(of, "_test") // a package that tests another from outside
	}
	within, ok := below(of, main)
	switch {
	case of == main:
		return name
	case path.Base(of) == path.Base(directory) && ok:
		return path.Join(within, name)
	case path.Base(of) == path.Base(directory):
		return path.Join(versioned(of, directory), name)
	case strings.Contains(path.Base(directory), "@"):
		return path.Join(versioned(of, directory), name)
	}
	return path.Join(path.Base(directory), name) // The file is not where its package should be.
}

// versioned returns a package of a module in the module cache with the version of the module, which
// is in the directory of the package: .../example.com/m@v1.2.0/sub.
func versioned(of, directory string) string {
	at := strings.LastIndexByte(directory, '@')
	if at < 0 {
		return of
	}
	version, within, _ := strings.Cut(directory[at:], "/")
	if within == "" {
		return of + version
	}
	if module, ok := strings.CutSuffix(of, "/"+within); ok {
		return path.Join(module+version, within)
	}
	return of
}

// below returns the path of a package relative to a module, and false if the package is not in it.
func below(of, module string) (within string, ok bool) {
	if module == "" || !strings.HasPrefix(of, module+"/") {
		return "", false
	}
	return of[len(module)+1:], true
}

// packageOf returns the import path in the full name of a function.
func packageOf(function string) string {
	function, _, _ = strings.Cut(function, "[") // Type arguments have paths of their own.
	last := strings.LastIndexByte(function, '/') + 1
	name, _, _ := strings.Cut(function[last:], ".")
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain // The linker escapes dots in the last element.
	}
	return function[:last] + name
}
