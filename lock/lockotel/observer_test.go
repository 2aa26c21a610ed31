package lockotel_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/lock/lockotel"
)

// recorded returns the metrics, with their attributes, and the spans that the events produce.
func recorded(t *testing.T, observe func(context.Context,
	lock.Observer),
) (metrics map[string]string, spans tracetest.SpanStubs) {
	t.Helper()
	reader, exporter := metric.NewManualReader(), tracetest.NewInMemoryExporter()
	tracers := trace.NewTracerProvider(trace.WithSyncer(exporter))
	o, err := lockotel.New(metric.NewMeterProvider(metric.WithReader(reader)), tracers)
	if err != nil {
		t.Fatal(err)
	}
	ctx, parent := tracers.Tracer("test").Start(context.Background(), "parent")
	observe(ctx, o)
	parent.End()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		t.Fatal(err)
	}
	metrics = make(map[string]string)
	note := func(name string, set attribute.Set, value any) {
		metrics[name+" "+set.Encoded(attribute.DefaultEncoder())] = fmt.Sprint(value)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					note(m.Name, p.Attributes, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					note(m.Name, p.Attributes, fmt.Sprintf("%d in %v %s", p.Count, p.Sum, m.Unit))
				}
			}
		}
	}
	return metrics, exporter.GetSpans()
}

func TestObserver(t *testing.T) {
	lost := fmt.Errorf("%w: gone", lock.ErrLost)
	for _, tc := range []struct {
		name    string
		event   lock.Event
		metrics map[string]string
		span    string
		status  codes.Code
	}{
		{
			"granted",
			lock.Event{Kind: lock.Granted, Elapsed: 2 * time.Second, Token: 7},
			map[string]string{
				"lock.acquire.duration lock.outcome=granted,lock.path=/l": "1 in 2 s",
				"lock.held lock.path=/l":                                  "1",
			},
			"lock.acquire", codes.Unset,
		},
		{
			"busy",
			lock.Event{Kind: lock.Failed, Elapsed: time.Second, Err: lock.ErrNotAcquired},
			map[string]string{"lock.acquire.duration lock.outcome=busy,lock.path=/l": "1 in 1 s"},
			"lock.acquire", codes.Error,
		},
		{
			"timeout",
			lock.Event{Kind: lock.Failed, Elapsed: time.Second, Err: context.DeadlineExceeded},
			map[string]string{"lock.acquire.duration " +
				"lock.outcome=cancelled,lock.path=/l": "1 in 1 s"},
			"lock.acquire", codes.Error,
		},
		{
			"refused",
			lock.Event{Kind: lock.Failed, Elapsed: time.Second, Err: errors.New("no")},
			map[string]string{"lock.acquire.duration lock.outcome=failed,lock.path=/l": "1 in 1 s"},
			"lock.acquire", codes.Error,
		},
		{
			"unlocked",
			lock.Event{Kind: lock.Ended, Elapsed: time.Second, Token: 7},
			map[string]string{
				"lock.hold.duration lock.outcome=unlocked,lock.path=/l": "1 in 1 s",
				"lock.held lock.path=/l":                                "-1",
			},
			"lock.hold", codes.Unset,
		},
		{
			"lost",
			lock.Event{Kind: lock.Ended, Elapsed: time.Second, Err: lost},
			map[string]string{
				"lock.hold.duration lock.outcome=lost,lock.path=/l": "1 in 1 s",
				"lock.held lock.path=/l":                            "-1",
			},
			"lock.hold", codes.Error,
		},
		{
			"retried",
			lock.Event{Kind: lock.Retried, Err: lost},
			map[string]string{"lock.retries lock.path=/l": "1"},
			"", 0,
		},
		{
			"revoked",
			lock.Event{Kind: lock.Revoked},
			map[string]string{"lock.revocations lock.path=/l": "1"},
			"", 0,
		},
		{
			"abandoned",
			lock.Event{Kind: lock.Abandoned},
			map[string]string{"lock.abandoned lock.path=/l": "1"},
			"", 0,
		},
		{"queued", lock.Event{Kind: lock.Queued}, map[string]string{}, "", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			metrics, spans := recorded(t, func(ctx context.Context, o lock.Observer) {
				tc.event.Path, tc.event.Node, tc.event.Context = "/l", "/l/n", ctx
				o.Observe(tc.event)
			})
			if fmt.Sprint(metrics) != fmt.Sprint(tc.metrics) {
				t.Errorf("metrics %v, want %v", metrics, tc.metrics)
			}
			parent := spans[len(spans)-1]
			if spans = spans[:len(spans)-1]; tc.span == "" {
				if len(spans) != 0 {
					t.Errorf("spans %v, want none", spans)
				}
				return
			}
			if len(spans) != 1 {
				t.Fatalf("%d spans, want 1", len(spans))
			}
			span := spans[0]
			if span.Name != tc.span || span.Status.Code != tc.status ||
				span.Parent.SpanID() != parent.SpanContext.SpanID() ||
				span.EndTime.Sub(span.StartTime) != tc.event.Elapsed {
				t.Errorf("span %+v", span)
			}
		})
	}
}

// Without providers nothing is reported and nothing fails.
func TestNoProviders(t *testing.T) {
	o, err := lockotel.New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []lock.EventKind{lock.Granted, lock.Failed, lock.Ended, lock.Retried} {
		o.Observe(lock.Event{Kind: kind, Context: context.Background()})
	}
}
