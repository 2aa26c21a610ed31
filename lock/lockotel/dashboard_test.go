package lockotel_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/prometheus/otlptranslator"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/go-zookeeper/zk"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/lock/lockotel"
)

// series returns the metric of each series that Prometheus makes of them, and the names of labels.
func series(t *testing.T) (of map[string]string, labels []string) {
	t.Helper()
	of = make(map[string]string)
	reader := metric.NewManualReader()
	o, err := lockotel.New(metric.NewMeterProvider(metric.WithReader(reader)), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []lock.EventKind{
		lock.Queued, lock.Granted, lock.Revoked, lock.Retried, lock.Ended, lock.Abandoned,
	} {
		o.Observe(lock.Event{
			Kind: kind, Attempt: new(lock.Attempt), Context: t.Context(), Err: zk.ErrNoAuth,
		})
	}
	attempt := new(lock.Attempt)
	for _, kind := range []lock.EventKind{lock.Granted, lock.Ended, lock.Removed} {
		o.Observe(lock.Event{Kind: kind, Attempt: attempt, Context: t.Context()})
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	namer := otlptranslator.MetricNamer{WithMetricSuffixes: true}
	for _, m := range all.ScopeMetrics[0].Metrics {
		from := otlptranslator.Metric{Name: m.Name, Unit: m.Unit}
		suffixes := []string{""}
		switch sum, ok := m.Data.(metricdata.Sum[int64]); {
		case !ok:
			from.Type = otlptranslator.MetricTypeHistogram
			suffixes = []string{"_bucket", "_sum", "_count"}
		case sum.IsMonotonic:
			from.Type = otlptranslator.MetricTypeMonotonicCounter
		default:
			from.Type = otlptranslator.MetricTypeNonMonotonicCounter
		}
		name, err := namer.Build(from)
		if err != nil {
			t.Fatal(err)
		}
		for _, suffix := range suffixes {
			of[name+suffix] = m.Name
		}
	}
	for _, name := range []string{"interlock.lock.path", "interlock.outcome", "error.type"} {
		label, err := (&otlptranslator.LabelNamer{}).Build(name)
		if err != nil {
			t.Fatal(err)
		}
		labels = append(labels, label)
	}
	return of, labels
}

// A dashboard is what the test reads of docs/grafana.json.
type dashboard struct {
	Panels []struct {
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr string }
	}
	Templating struct {
		List []struct {
			Name  string
			Query any
		}
	}
}

var (
	names   = regexp.MustCompile(`\b(?:interlock|error)_[a-z_]+`)
	metrics = regexp.MustCompile(`\b(interlock_[a-z_]+)[{,]`)
	filters = regexp.MustCompile(`\{[^}]*\}|by \([^)]*\)`)
)

// Every metric and label that the dashboard queries is one of lockotel, in the names of Prometheus,
// and it shows every metric.
func TestDashboard(t *testing.T) {
	content, err := os.ReadFile("../../docs/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(content, &d); err != nil {
		t.Fatal(err)
	}
	known, labels := series(t)
	shown := make(map[string]bool)
	occupied := make(map[[2]int]string)
	for _, p := range d.Panels {
		at := [2]int{p.GridPos.X, p.GridPos.Y}
		if occupied[at] != "" || len(p.Targets) == 0 {
			t.Errorf("%s: at the place of %s, or empty", p.Title, occupied[at])
		}
		occupied[at] = p.Title
		for _, target := range p.Targets {
			for _, filter := range filters.FindAllString(target.Expr, -1) {
				for _, label := range names.FindAllString(filter, -1) {
					if !slices.Contains(labels, label) {
						t.Errorf("%s: no label %s", p.Title, label)
					}
				}
			}
			queried := metrics.FindAllStringSubmatch(filters.ReplaceAllStringFunc(target.Expr,
				func(string) string { return "{" }), -1)
			if len(queried) == 0 {
				t.Errorf("%s queries no metric: %s", p.Title, target.Expr)
			}
			for _, name := range queried {
				if known[name[1]] == "" {
					t.Errorf("%s: no metric %s", p.Title, name[1])
				}
				shown[known[name[1]]] = true
			}
		}
	}
	for _, name := range known {
		if !shown[name] {
			t.Errorf("no panel shows %s", name)
		}
	}
	if len(known) != 3*3+4 {
		t.Errorf("%d series", len(known))
	}
}
