package otlp_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdkresource "go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/protobuf/encoding/protojson"

	trace "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/interlock-sim/interlock/cmd/internal/otlp"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/models"
	"github.com/interlock-sim/interlock/history/production"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/lock/lockotel"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

const sessionTimeout = 10 * time.Second

// A process of a service has a session of its own, and reports the spans of its locks.
type process struct {
	*testing.T
	session  *lock.Session
	spans    *collector
	provider *sdktrace.TracerProvider
	observed lock.Option
}

// startServer starts a simulated ZooKeeper and returns its addresses.
func startServer(t *testing.T) []string {
	t.Helper()
	server, err := tcp.Start(tcp.Config{}, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return server.Addresses()
}

func startProcess(t *testing.T, name string, servers []string) *process {
	t.Helper()
	p := &process{T: t, spans: new(collector)}
	exporter, err := otlptrace.New(t.Context(), p.spans)
	if err != nil {
		t.Fatal(err)
	}
	p.provider = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(sdkresource.NewSchemaless(
			attribute.String("service.name", "billing"),
			attribute.String("service.instance.id", name))))
	observer, err := lockotel.New(nil, p.provider)
	if err != nil {
		t.Fatal(err)
	}
	p.observed = lock.WithObserver(observer)
	p.session, err = lock.Dial(t.Context(), servers, sessionTimeout,
		lock.WithClientOption(zk.WithLogInfo(false)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.session.Close() })
	return p
}

func (p *process) mutex() *lock.Mutex {
	m, err := lock.NewMutex(p.session, "/locks/billing", p.observed)
	if err != nil {
		p.Fatal(err)
	}
	return m
}

func (p *process) lock(m *lock.Mutex) *lock.Lease {
	lease, err := m.Lock(context.Background())
	if err != nil {
		p.Fatal(err)
	}
	return lease
}

func (p *process) unlock(lease *lock.Lease) {
	if err := lease.Unlock(context.Background()); err != nil {
		p.Error(err)
	}
}

// json returns the spans so far in OTLP JSON.
func (p *process) json() string {
	if err := p.provider.ForceFlush(context.Background()); err != nil {
		p.Fatal(err)
	}
	return p.spans.json(p.T)
}

// A collector is a client of the exporter that keeps what it gets.
type collector struct{ data trace.TracesData }

func (*collector) Start(context.Context) error { return nil }
func (*collector) Stop(context.Context) error  { return nil }

func (c *collector) UploadTraces(_ context.Context, spans []*trace.ResourceSpans) error {
	c.data.ResourceSpans = append(c.data.ResourceSpans, spans...)
	return nil
}

var ids = regexp.MustCompile(`("(?:traceId|spanId|parentSpanId)":")([^"]*)"`)

// json returns what the collector has, as the file exporter of the OpenTelemetry Collector writes
// it: on one line, with hexadecimal ids and numbers of enumerations.
func (c *collector) json(t *testing.T) string {
	t.Helper()
	encoded, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(&c.data)
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer // protojson varies its white space.
	if err := json.Compact(&compact, encoded); err != nil {
		t.Fatal(err)
	}
	return ids.ReplaceAllStringFunc(compact.String(), func(field string) string {
		parts := ids.FindStringSubmatch(field)
		id, err := base64.StdEncoding.DecodeString(parts[2])
		if err != nil {
			t.Fatal(err)
		}
		return parts[1] + hex.EncodeToString(id) + `"`
	}) + "\n"
}

// merged reads OTLP JSON as interlock verify does.
func merged(t *testing.T, texts ...string) *history.Log {
	t.Helper()
	var spans otlp.Spans
	for _, text := range texts {
		if err := spans.Read(strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	logs, _, incomplete := spans.Histories()
	if incomplete > 0 {
		t.Errorf("%d leases without an attempt", incomplete)
	}
	logs, _, err := production.NumberProcesses(logs...)
	if err != nil {
		t.Fatal(err)
	}
	return production.Merge(logs...)
}

// violated returns the properties that the history violates, within exact clocks.
func violated(t *testing.T, log *history.Log) (all []history.Property) {
	t.Helper()
	for _, p := range production.WithinClocks {
		v, decided := production.Within(p, log.Events(), production.Clocks{}, models.Limits{})
		if !decided {
			t.Errorf("%s: undecided", p)
		}
		if v != nil {
			all = append(all, p)
		}
	}
	return all
}
