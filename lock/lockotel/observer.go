// Package lockotel reports the events of locks of package lock to OpenTelemetry. It is a separate
// package so that package lock depends only on a ZooKeeper client.
//
// # Metrics
//
//	lock.acquire.duration  histogram, s   from the call to its end; lock.outcome is granted, busy,
//	                                      cancelled or failed
//	lock.hold.duration     histogram, s   from the grant to its end; lock.outcome is unlocked or
//	                                      lost
//	lock.held              up-down count  leases currently held
//	lock.retries           count          failed requests that are retried
//	lock.revocations       count          leases asked to unlock
//	lock.abandoned         count          nodes that could not be removed
//
// Each has the attribute lock.path. A lock taken again by its owner counts as one lease.
//
// # Traces
//
// Each attempt is a span lock.acquire and each lease a span lock.hold. Both are children of the
// span in the context of the call, have the attributes lock.path, lock.node and lock.token, and are
// recorded when they end. The span of a lost lease or a failed attempt has the status Error.
package lockotel

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/interlock-sim/interlock/lock"
)

// scope is the name of the instrumentation.
const scope = "github.com/interlock-sim/interlock/lock/lockotel"

type observer struct {
	tracer trace.Tracer

	acquired, held                  metric.Float64Histogram
	holding                         metric.Int64UpDownCounter
	retries, revocations, abandoned metric.Int64Counter
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
	o := &observer{tracer: tracers.Tracer(scope)}
	meter := meters.Meter(scope)
	var errs [6]error
	o.acquired, errs[0] = meter.Float64Histogram("lock.acquire.duration", metric.WithUnit("s"),
		metric.WithDescription("From the call to its end."))
	o.held, errs[1] = meter.Float64Histogram("lock.hold.duration", metric.WithUnit("s"),
		metric.WithDescription("From the grant to its end."))
	o.holding, errs[2] = meter.Int64UpDownCounter("lock.held", metric.WithUnit("{lease}"),
		metric.WithDescription("Leases currently held."))
	o.retries, errs[3] = meter.Int64Counter("lock.retries", metric.WithUnit("{request}"),
		metric.WithDescription("Failed requests that are retried."))
	o.revocations, errs[4] = meter.Int64Counter("lock.revocations", metric.WithUnit("{lease}"),
		metric.WithDescription("Leases asked to unlock."))
	o.abandoned, errs[5] = meter.Int64Counter("lock.abandoned", metric.WithUnit("{node}"),
		metric.WithDescription("Nodes that could not be removed."))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return o, nil
}

// Observe implements [lock.Observer].
func (o *observer) Observe(e lock.Event) {
	path := attribute.String("lock.path", e.Path)
	switch at := metric.WithAttributes(path); e.Kind {
	case lock.Granted:
		o.holding.Add(e.Context, 1, at)
		o.end(e, "lock.acquire", o.acquired, "granted")
	case lock.Failed:
		o.end(e, "lock.acquire", o.acquired, failure(e.Err))
	case lock.Ended:
		o.holding.Add(e.Context, -1, at)
		outcome := "unlocked"
		if e.Err != nil {
			outcome = "lost"
		}
		o.end(e, "lock.hold", o.held, outcome)
	case lock.Retried:
		o.retries.Add(e.Context, 1, at)
	case lock.Revoked:
		o.revocations.Add(e.Context, 1, at)
	case lock.Abandoned:
		o.abandoned.Add(e.Context, 1, at)
	}
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

// end records the duration and the span of an attempt or a lease that has ended.
func (o *observer) end(e lock.Event, name string, durations metric.Float64Histogram,
	outcome string,
) {
	now := time.Now()
	path, result := attribute.String("lock.path", e.Path), attribute.String("lock.outcome", outcome)
	durations.Record(e.Context, e.Elapsed.Seconds(), metric.WithAttributes(path, result))
	_, span := o.tracer.Start(e.Context, name, trace.WithTimestamp(now.Add(-e.Elapsed)),
		trace.WithAttributes(path, result))
	if e.Node != "" {
		span.SetAttributes(attribute.String("lock.node", e.Node))
	}
	if e.Token != 0 {
		span.SetAttributes(attribute.Int64("lock.token", e.Token))
	}
	if e.Err != nil {
		span.SetStatus(codes.Error, e.Err.Error())
	}
	span.End(trace.WithTimestamp(now))
}
