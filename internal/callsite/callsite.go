// Package callsite finds the source line of the code under test that made a call.
package callsite

import (
	"path"
	"runtime"
	"strconv"
	"strings"
)

// A Site is a source line and its function. The zero value is unknown.
type Site struct {
	Line     string // the last directory, the file and the line, such as billing/lock.go:42
	Function string // without its package path, such as lock.(*Mutex).Lock
}

// simulator holds the prefixes of the functions of the simulator and of the client library.
var simulator = []string{
	"github.com/interlock-sim/interlock/simzk.",
	"github.com/interlock-sim/interlock/simzk/client/model.",
	"github.com/interlock-sim/interlock/simzk/client/real.",
	"github.com/interlock-sim/interlock/simzk/client/internal/library.",
	"github.com/go-zookeeper/zk.",
}

// Caller returns the innermost frame of the calling goroutine's stack that belongs neither to the
// simulator nor to the client library.
func Caller() Site {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		frame, more := frames.Next()
		if frame.Function != "" && !between(frame.Function) {
			return Of(frame.Function, frame.File, frame.Line)
		}
		if !more {
			return Site{}
		}
	}
}

// Method returns the name of the client's method that the code under test has called, such
// as ExistsW, or "".
func Method() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	method := ""
	for {
		frame, more := frames.Next()
		if !between(frame.Function) || !more {
			return method
		}
		method = frame.Function[strings.LastIndexByte(frame.Function, '.')+1:]
	}
}

// Simulates reports whether a function belongs to the simulator or to the client library.
func Simulates(function string) bool { return hasPrefix(function, simulator) }

// between reports whether a function is between the code under test and the place where a call is
// observed.
func between(function string) bool {
	return Simulates(function) || strings.HasPrefix(function, "runtime.")
}

// Of returns the site of a frame. The result does not depend on where the source is on the machine.
func Of(function, file string, line int) Site {
	directory, name := path.Split(file)
	return Site{
		Line:     path.Join(path.Base(directory), name) + ":" + strconv.Itoa(line),
		Function: function[strings.LastIndexByte(function, '/')+1:],
	}
}

func hasPrefix(function string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}
