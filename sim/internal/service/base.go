// Package service has what the simulations of services other than ZooKeeper share: the time, the
// log and the ages of messages of a run, and the processes that the run stops and resumes.
package service

import (
	"reflect"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/callsite"
	"github.com/interlock-sim/interlock/sim"
)

// A Base implements the methods of a [sim.System] that are the same for all services.
type Base struct {
	config   sim.Config
	now      time.Duration
	ages     uint64
	woken    bool
	activity chan struct{}
}

// NewBase returns the Base of a new run.
func NewBase(config sim.Config) Base {
	return Base{config: config, activity: make(chan struct{}, 1)}
}

// Now returns the time since the start of the run.
func (b *Base) Now() time.Duration { return b.now }

// SetNow sets the time since the start of the run.
func (b *Base) SetNow(now time.Duration) { b.now = now }

// Settle waits until every process of the run is blocked.
func (b *Base) Settle() { b.config.Settle() }

// Record appends an event to the history, with the present time.
func (b *Base) Record(e history.Event) {
	e.At = b.now
	b.config.Log.Append(e)
}

// Log returns the history.
func (b *Base) Log() *history.Log { return b.config.Log }

// Site returns the line of the code under test that the calling goroutine runs, or the zero Site if
// the history wants no facts. Between reports whether a function, by its full name, lies between
// that code and the simulation.
func (b *Base) Site(between func(function string) bool) callsite.Site {
	if !b.config.Log.GathersFacts() {
		return callsite.Site{}
	}
	return callsite.Caller(func(function string) bool {
		// Client libraries buffer what they send.
		return between(function) || strings.HasPrefix(function, ownPackage) ||
			strings.HasPrefix(function, "bufio.")
	}).Site
}

// ownPackage begins the full names of the functions of this package.
var ownPackage = reflect.TypeFor[Base]().PkgPath() + "."

// FactsOf returns the facts of a command that the code under test sends at a site, or nil if that
// is unknown.
func FactsOf(site callsite.Site) *history.Facts {
	if site.Line == "" {
		return nil
	}
	return &history.Facts{Line: site.Line, Function: site.Function}
}

// Activity returns a channel that receives when a process has acted.
func (b *Base) Activity() <-chan struct{} { return b.activity }

// Wake notes that something has reached a process.
func (b *Base) Wake() { b.woken = true }

// Woken reports whether anything has reached a process since the last call.
func (b *Base) Woken() (woken bool) {
	woken, b.woken = b.woken, false
	return woken
}

// NextAge returns the age of the next message.
func (b *Base) NextAge() uint64 {
	b.ages++
	return b.ages
}
