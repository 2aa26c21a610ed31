// Package goroutine identifies goroutines by their profiler labels, which a goroutine inherits from
// the one that starts it.
package goroutine

import (
	"context"
	"runtime/pprof"
	"unsafe"
)

// profLabel returns the labels of the calling goroutine. No exported function does: [pprof.Label]
// and [pprof.ForLabels] read the labels of a context. The runtime keeps this name and signature for
// users outside of the standard library; see go.dev/issue/67401.
//
//go:linkname profLabel runtime/pprof.runtime_getProfLabel
func profLabel() unsafe.Pointer

// A Label identifies a goroutine and those that it starts. Two labels are equal if they come from
// the same context of [pprof.WithLabels]. A Label keeps nothing alive.
type Label uintptr

// Current returns the label of the calling goroutine.
func Current() Label { return Label(profLabel()) }

// LabelOf returns the label of the goroutines with the labels of the context. It removes the labels
// of the calling goroutine.
func LabelOf(ctx context.Context) Label {
	pprof.SetGoroutineLabels(ctx)
	defer pprof.SetGoroutineLabels(context.Background())
	return Current()
}
