// Package lockotel reports the events of locks of package lock to OpenTelemetry, by its semantic
// conventions. It is a separate package so that package lock depends only on a ZooKeeper client.
//
// # Metrics
//
//	interlock.acquire.duration  histogram, s   from the call of Lock to its end; interlock.outcome
//	                                           is granted, busy, cancelled or failed
//	interlock.hold.duration     histogram, s   from the grant to its end; interlock.outcome is
//	                                           unlocked or lost
//	interlock.release.duration  histogram, s   from the end of a lease until its node is removed;
//	                                           interlock.outcome is removed or abandoned
//	interlock.lease.active      up-down count  leases currently held
//	interlock.lease.revoked     count          leases asked to unlock
//	interlock.request.retried   count          failed requests that are retried
//	interlock.node.abandoned    count          nodes that could not be removed
//
// Each has the attribute interlock.lock.path; drop it by a view in a service with very many locks.
// What has failed has the attribute error.type: timeout, canceled, lost, session_lost,
// client_closed, no_auth, connection or _OTHER. The outcome busy is no failure, because TryLock
// asks whether the lock is free. A lock taken again by its owner counts as one lease.
//
// # Traces
//
// Each attempt is a span interlock.acquire, each lease a span interlock.hold, and each removal of
// its node a span interlock.release. Each begins where the one before ends. They are children of
// the span in the context of the call, and are recorded when they end. They have the attributes
// interlock.lock.path, interlock.lock.mode (exclusive or shared), interlock.lock.places of a
// semaphore, interlock.lock.node, interlock.lock.token and interlock.outcome. A failure has the
// status Error and error.type. Events of a span are interlock.queued, with each node that the
// attempt has created, interlock.forfeited, interlock.downgraded and interlock.revoked.
//
// The command interlock verify reads these spans as OTLP JSON, and finds leases that overlap.
package lockotel

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/interlock-sim/interlock/lock"
)

// Scope is the name of the instrumentation scope of all spans and metrics.
const Scope = "github.com/interlock-sim/interlock/lock/lockotel"

// The attributes of spans and metrics.
const (
	pathKey    = attribute.Key("interlock.lock.path")
	modeKey    = attribute.Key("interlock.lock.mode")
	placesKey  = attribute.Key("interlock.lock.places")
	nodeKey    = attribute.Key("interlock.lock.node")
	tokenKey   = attribute.Key("interlock.lock.token")
	outcomeKey = attribute.Key("interlock.outcome")
)

// bounds are the boundaries of histograms, in seconds. The default ones of the SDK are meant for
// milliseconds.
var bounds = metric.WithExplicitBucketBoundaries(.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1,
	2.5, 5, 10, 30, 60, 300)

type observer struct {
	tracer trace.Tracer

	acquired, held, released        metric.Float64Histogram
	active                          metric.Int64UpDownCounter
	retried, revocations, abandoned metric.Int64Counter

	mu     sync.Mutex
	phases map[*lock.Attempt]*phase // of each contender until its node is gone
}

// A phase of a contender becomes a span: it waits, holds the lock, or removes its node.
type phase struct {
	began  time.Time
	events []phaseEvent
}

// A phaseEvent becomes an event of a span.
type phaseEvent struct {
	name string
	at   time.Time
	node string
}

// New returns an observer for [lock.WithObserver] that reports to the providers. Without a meter
// provider it reports no metrics, without a tracer provider no traces. One observer serves any
// number of locks. New returns the errors of the meter, joined.
func New(meters metric.MeterProvider, tracers trace.TracerProvider) (lock.Observer, error) {
	if meters == nil {
		meters = metricnoop.NewMeterProvider()
	}
	if tracers == nil {
		tracers = tracenoop.NewTracerProvider()
	}
	o := &observer{
		tracer: tracers.Tracer(Scope, trace.WithSchemaURL(semconv.SchemaURL)),
		phases: make(map[*lock.Attempt]*phase),
	}
	meter := meters.Meter(Scope, metric.WithSchemaURL(semconv.SchemaURL))
	var errs [7]error
	o.acquired, errs[0] = meter.Float64Histogram("interlock.acquire.duration",
		metric.WithUnit("s"), bounds, metric.WithDescription("From the call of Lock to its end."))
	o.held, errs[1] = meter.Float64Histogram("interlock.hold.duration",
		metric.WithUnit("s"), bounds, metric.WithDescription("From the grant to its end."))
	o.released, errs[2] = meter.Float64Histogram("interlock.release.duration",
		metric.WithUnit("s"), bounds,
		metric.WithDescription("From the end of the lease until its node is removed."))
	o.active, errs[3] = meter.Int64UpDownCounter("interlock.lease.active",
		metric.WithUnit("{lease}"), metric.WithDescription("Leases currently held."))
	o.revocations, errs[4] = meter.Int64Counter("interlock.lease.revoked",
		metric.WithUnit("{lease}"), metric.WithDescription("Leases asked to unlock."))
	o.retried, errs[5] = meter.Int64Counter("interlock.request.retried",
		metric.WithUnit("{request}"), metric.WithDescription("Failed requests that are retried."))
	o.abandoned, errs[6] = meter.Int64Counter("interlock.node.abandoned",
		metric.WithUnit("{node}"), metric.WithDescription("Nodes that could not be removed."))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return o, nil
}

// Observe implements [lock.Observer].
func (o *observer) Observe(e lock.Event) {
	now := time.Now()
	path := pathKey.String(e.Path)
	switch at := metric.WithAttributes(path); e.Kind {
	case lock.Queued:
		o.note(e, phaseEvent{"interlock.queued", now, e.Node})
	case lock.Granted:
		o.active.Add(e.Context, 1, at)
		waited, _ := o.end(e, now, true)
		o.report(e, "interlock.acquire", waited, now, o.acquired, "granted")
	case lock.Failed:
		waited, _ := o.end(e, now, false)
		o.report(e, "interlock.acquire", waited, now, o.acquired, failure(e.Err))
	case lock.Downgraded:
		o.note(e, phaseEvent{"interlock.downgraded", now, ""})
	case lock.Revoked:
		o.revocations.Add(e.Context, 1, at)
		o.note(e, phaseEvent{"interlock.revoked", now, ""})
	case lock.Ended:
		o.active.Add(e.Context, -1, at)
		outcome := "unlocked"
		if e.Err != nil {
			outcome = "lost"
		}
		held, _ := o.end(e, now, true)
		o.report(e, "interlock.hold", held, now, o.held, outcome)
	case lock.Retried:
		o.retried.Add(e.Context, 1, metric.WithAttributes(path, errorType(e.Err)))
	case lock.Forfeited:
		o.note(e, phaseEvent{"interlock.forfeited", now, e.Node})
	case lock.Removed:
		o.endRemoval(e, now, "removed")
	case lock.Abandoned:
		o.abandoned.Add(e.Context, 1, metric.WithAttributes(path, errorType(e.Err)))
		o.endRemoval(e, now, "abandoned")
	}
}

// endRemoval reports the removal of a node that has held the lock.
func (o *observer) endRemoval(e lock.Event, now time.Time, outcome string) {
	if removed, held := o.end(e, now, false); held {
		o.report(e, "interlock.release", removed, now, o.released, outcome)
	}
}

// note adds an event to the current phase of a contender. The first one begins with its node.
func (o *observer) note(e lock.Event, event phaseEvent) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.phases[e.Attempt]
	if p == nil && e.Kind == lock.Queued {
		p = &phase{began: event.at.Add(-e.Elapsed)}
		o.phases[e.Attempt] = p
	}
	if p != nil {
		p.events = append(p.events, event)
	}
}

// end returns the phase of a contender that ends now, and reports whether it was known. If more
// follow, the next one begins.
func (o *observer) end(e lock.Event, now time.Time, more bool) (ended phase, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	ended = phase{began: now.Add(-e.Elapsed)}
	if p := o.phases[e.Attempt]; p != nil {
		ended, known = *p, true
	}
	if more {
		o.phases[e.Attempt] = &phase{began: now}
	} else {
		delete(o.phases, e.Attempt)
	}
	return ended, known
}

// failure returns the outcome of a failed attempt.
func failure(err error) string {
	switch {
	case errors.Is(err, lock.ErrNotAcquired):
		return "busy"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "cancelled"
	}
	return "failed"
}

// errorTypes are the values of error.type, the first that an error wraps.
var errorTypes = []struct {
	err   error
	value string
}{
	{context.DeadlineExceeded, "timeout"},
	{context.Canceled, "canceled"},
	{zk.ErrClosing, "client_closed"},
	{lock.ErrSessionLost, "session_lost"},
	{zk.ErrSessionExpired, "session_lost"},
	{lock.ErrLost, "lost"},
	{zk.ErrNoAuth, "no_auth"},
	{zk.ErrConnectionClosed, "connection"},
	{zk.ErrNoServer, "connection"},
}

func errorType(err error) attribute.KeyValue {
	for _, t := range errorTypes {
		if errors.Is(err, t.err) {
			return semconv.ErrorTypeKey.String(t.value)
		}
	}
	return semconv.ErrorTypeOther
}

// report records the duration and the span of a phase that has ended.
func (o *observer) report(e lock.Event, name string, p phase, now time.Time,
	durations metric.Float64Histogram, outcome string,
) {
	common := []attribute.KeyValue{pathKey.String(e.Path), outcomeKey.String(outcome)}
	failed := e.Err != nil && !errors.Is(e.Err, lock.ErrNotAcquired)
	if failed {
		common = append(common, errorType(e.Err))
	}
	durations.Record(e.Context, now.Sub(p.began).Seconds(), metric.WithAttributes(common...))
	_, span := o.tracer.Start(e.Context, name, trace.WithTimestamp(p.began),
		trace.WithAttributes(common...), trace.WithAttributes(lockAttributes(e)...))
	for _, event := range p.events {
		at := []trace.EventOption{trace.WithTimestamp(event.at)}
		if event.node != "" {
			at = append(at, trace.WithAttributes(nodeKey.String(event.node)))
		}
		span.AddEvent(event.name, at...)
	}
	if failed {
		span.SetStatus(codes.Error, e.Err.Error())
	}
	span.End(trace.WithTimestamp(now))
}

// lockAttributes returns what a span tells of the lock and the contender.
func lockAttributes(e lock.Event) []attribute.KeyValue {
	mode := "exclusive"
	if e.Attempt.Shared {
		mode = "shared"
	}
	attributes := []attribute.KeyValue{modeKey.String(mode)}
	if e.Attempt.Places > 1 {
		attributes = append(attributes, placesKey.Int(e.Attempt.Places))
	}
	if e.Node != "" {
		attributes = append(attributes, nodeKey.String(e.Node))
	}
	if e.Token != 0 {
		attributes = append(attributes, tokenKey.Int64(e.Token))
	}
	return attributes
}
