package lockotel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/lock/lockotel"
)

// A contender emits the events of an attempt. Each comes a second after the one before.
type contender struct {
	observer lock.Observer
	ctx      context.Context
	attempt  *lock.Attempt
	began    time.Time // the call of Lock, and then the grant
}

func (c *contender) emit(kind lock.EventKind, err error) {
	time.Sleep(time.Second)
	e := lock.Event{
		Kind: kind, Path: "/l", Node: "/l/n", Attempt: c.attempt, Context: c.ctx, Err: err,
	}
	switch kind {
	case lock.Queued, lock.Failed:
		e.Elapsed = time.Since(c.began)
	case lock.Granted:
		e.Elapsed, e.Token, c.began = time.Since(c.began), 7, time.Now()
	case lock.Ended:
		e.Elapsed, e.Token = time.Since(c.began), 7
	}
	c.observer.Observe(e)
}

// recorded returns the metrics, with their attributes, and the spans of an attempt.
func recorded(t *testing.T, attempt lock.Attempt, emit func(*contender),
) (metrics map[string]string, spans []string, statuses []codes.Code) {
	t.Helper()
	metrics = make(map[string]string)
	synctest.Test(t, func(t *testing.T) {
		reader, exporter := metric.NewManualReader(), tracetest.NewInMemoryExporter()
		tracers := trace.NewTracerProvider(trace.WithSyncer(exporter))
		o, err := lockotel.New(metric.NewMeterProvider(metric.WithReader(reader)), tracers)
		if err != nil {
			t.Fatal(err)
		}
		ctx, parent := tracers.Tracer("test").Start(t.Context(), "parent")
		began := time.Now()
		emit(&contender{o, ctx, &attempt, began})
		for _, span := range exporter.GetSpans() {
			if span.Parent.SpanID() != parent.SpanContext().SpanID() ||
				span.InstrumentationScope.Name != lockotel.Scope {
				t.Errorf("span %+v", span)
			}
			text := fmt.Sprintf("%s %v-%v %s", span.Name, span.StartTime.Sub(began),
				span.EndTime.Sub(began), encoded(span.Attributes))
			for _, e := range span.Events {
				text += fmt.Sprintf(" %s@%v", e.Name, e.Time.Sub(began))
			}
			spans, statuses = append(spans, text), append(statuses, span.Status.Code)
		}
		collect(t, reader, metrics)
	})
	return metrics, spans, statuses
}

func encoded(attributes []attribute.KeyValue) string {
	set := attribute.NewSet(slices.DeleteFunc(slices.Clone(attributes),
		func(a attribute.KeyValue) bool { return a.Key == "interlock.lock.path" })...)
	return strings.ReplaceAll(set.Encoded(attribute.DefaultEncoder()), "interlock.", "")
}

func collect(t *testing.T, reader *metric.ManualReader, metrics map[string]string) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	note := func(name string, set attribute.Set, value string) {
		path, ok := set.Value("interlock.lock.path")
		if !ok || path.AsString() != "/l" {
			t.Errorf("%s is of the lock %q", name, path.AsString())
		}
		metrics[strings.TrimSpace(name+" "+encoded(set.ToSlice()))] = value
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					note(m.Name, p.Attributes, fmt.Sprintf("%d %s", p.Value, m.Unit))
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					note(m.Name, p.Attributes, fmt.Sprintf("%d in %v %s", p.Count, p.Sum, m.Unit))
				}
			}
		}
	}
}

const (
	acquire = "interlock.acquire.duration "
	hold    = "interlock.hold.duration "
	release = "interlock.release.duration "
	active  = "interlock.lease.active"

	exclusive = "lock.mode=exclusive,lock.node=/l/n"
)

func TestUnlocked(t *testing.T) {
	metrics, spans, statuses := recorded(t, lock.Attempt{Places: 1}, func(c *contender) {
		for _, kind := range []lock.EventKind{
			lock.Queued, lock.Waiting, lock.Forfeited, lock.Queued, lock.Granted, lock.Revoked,
			lock.Ended, lock.Removed,
			lock.Removed, // a second node
		} {
			c.emit(kind, nil)
		}
	})
	want(t, metrics, map[string]string{
		acquire + "outcome=granted": "1 in 5 s",
		hold + "outcome=unlocked":   "1 in 2 s",
		release + "outcome=removed": "1 in 1 s",
		active:                      "0 {lease}",
		"interlock.lease.revoked":   "1 {lease}",
	})
	want(t, spans, []string{
		"interlock.acquire 0s-5s " + exclusive + ",lock.token=7,outcome=granted " +
			"interlock.queued@1s interlock.forfeited@3s interlock.queued@4s",
		"interlock.hold 5s-7s " + exclusive + ",lock.token=7,outcome=unlocked " +
			"interlock.revoked@6s",
		"interlock.release 7s-8s " + exclusive + ",outcome=removed",
	})
	want(t, statuses, []codes.Code{codes.Unset, codes.Unset, codes.Unset})
}

func TestLost(t *testing.T) {
	lost := fmt.Errorf("%w: gone", lock.ErrLost)
	metrics, spans, statuses := recorded(t, lock.Attempt{Places: 3}, func(c *contender) {
		c.emit(lock.Queued, nil)
		c.emit(lock.Queued, nil) // Its session was lost.
		c.emit(lock.Granted, nil)
		c.emit(lock.Retried, zk.ErrConnectionClosed)
		c.emit(lock.Ended, lost)
		c.emit(lock.Abandoned, zk.ErrNoAuth)
	})
	want(t, metrics, map[string]string{
		acquire + "outcome=granted":                      "1 in 3 s",
		hold + "error.type=lost,outcome=lost":            "1 in 2 s",
		release + "error.type=no_auth,outcome=abandoned": "1 in 1 s",
		active: "0 {lease}",
		"interlock.request.retried error.type=connection": "1 {request}",
		"interlock.node.abandoned error.type=no_auth":     "1 {node}",
	})
	const places = "lock.mode=exclusive,lock.node=/l/n,lock.places=3,"
	want(t, spans, []string{
		"interlock.acquire 0s-3s " + places + "lock.token=7,outcome=granted " +
			"interlock.queued@1s interlock.queued@2s",
		"interlock.hold 3s-5s error.type=lost," + places + "lock.token=7,outcome=lost",
		"interlock.release 5s-6s error.type=no_auth," + places + "outcome=abandoned",
	})
	want(t, statuses, []codes.Code{codes.Unset, codes.Error, codes.Error})
}

func TestDowngraded(t *testing.T) {
	_, spans, _ := recorded(t, lock.Attempt{Places: 1}, func(c *contender) {
		c.emit(lock.Granted, nil)
		c.emit(lock.Downgraded, nil)
		c.emit(lock.Ended, nil)
		c.emit(lock.Downgraded, nil) // too late
	})
	want(t, spans, []string{
		"interlock.acquire 0s-1s " + exclusive + ",lock.token=7,outcome=granted",
		"interlock.hold 1s-3s " + exclusive + ",lock.token=7,outcome=unlocked " +
			"interlock.downgraded@2s",
	})
}

func TestFailures(t *testing.T) {
	for _, tc := range []struct {
		err              error
		outcome, errType string
		status           codes.Code
	}{
		{lock.ErrNotAcquired, "busy", "", codes.Unset},
		{context.DeadlineExceeded, "cancelled", "timeout", codes.Error},
		{context.Canceled, "cancelled", "canceled", codes.Error},
		{fmt.Errorf("x: %w", zk.ErrNoAuth), "failed", "no_auth", codes.Error},
		{zk.ErrClosing, "failed", "client_closed", codes.Error},
		{errors.New("no"), "failed", "_OTHER", codes.Error},
	} {
		metrics, spans, statuses := recorded(t, lock.Attempt{Shared: true, Places: 1},
			func(c *contender) {
				c.emit(lock.Failed, tc.err)
				c.emit(lock.Removed, nil) // It never held the lock.
			})
		of := ""
		if tc.errType != "" {
			of = "error.type=" + tc.errType + ","
		}
		want(t, metrics, map[string]string{acquire + of + "outcome=" + tc.outcome: "1 in 1 s"})
		want(t, spans, []string{"interlock.acquire 0s-1s " + of +
			"lock.mode=shared,lock.node=/l/n,outcome=" + tc.outcome})
		want(t, statuses, []codes.Code{tc.status})
	}
}

func want[T any](t *testing.T, got, want T) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%v\nwant\n%v", got, want)
	}
}

// Without providers nothing is reported and nothing fails.
func TestNoProviders(t *testing.T) {
	o, err := lockotel.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []lock.EventKind{lock.Granted, lock.Failed, lock.Ended, lock.Retried} {
		o.Observe(lock.Event{Kind: kind, Attempt: new(lock.Attempt), Context: t.Context()})
	}
}
