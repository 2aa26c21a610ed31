// Package otlp reads the spans that package lock/lockotel records, as OTLP JSON, and converts them
// to histories.
package otlp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode"

	"google.golang.org/protobuf/encoding/protojson"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/interlock-sim/interlock/history"
)

// scope is the instrumentation scope of the spans. Others are ignored.
const scope = "github.com/interlock-sim/interlock/lock/lockotel"

// The names of spans, and of their events and attributes, as in lock/lockotel.
const (
	acquireSpan = "interlock.acquire"
	holdSpan    = "interlock.hold"
	releaseSpan = "interlock.release"

	queuedEvent     = "interlock.queued"
	downgradedEvent = "interlock.downgraded"

	modeKey    = "interlock.lock.mode"
	placesKey  = "interlock.lock.places"
	nodeKey    = "interlock.lock.node"
	tokenKey   = "interlock.lock.token"
	outcomeKey = "interlock.outcome"
)

// Spans are the spans of several processes. The zero value has none.
type Spans struct {
	processes []*process
	known     map[processKey]*process
}

// A process is what recorded spans with the same identity.
type process struct {
	name  string
	spans []*trace.Span
	ids   map[string]bool // of the spans
}

// A processKey identifies a process; see [identify].
type processKey struct{ namespace, service, instance string }

// IsJSON reports whether the reader's text is OTLP JSON and not a history, by its first key. It
// consumes nothing.
func IsJSON(r *bufio.Reader) bool {
	for size := 64; ; size *= 2 {
		beginning, err := r.Peek(size)
		text := bytes.TrimLeftFunc(beginning, unicode.IsSpace)
		if rest, ok := bytes.CutPrefix(text, []byte("{")); ok {
			if rest = bytes.TrimLeftFunc(rest, unicode.IsSpace); len(rest) > len(firstKey) {
				return bytes.HasPrefix(rest, []byte(firstKey))
			}
		} else if len(text) > 0 {
			return false
		}
		if err != nil {
			return false
		}
	}
}

const firstKey = `"resourceSpans"`

// Read adds the spans of lock/lockotel in OTLP JSON: one TracesData or several, such as one on each
// line. A span that it has read before is left out, because exporters may send it twice.
//
// It returns an error that gives the line of the TracesData if that is not OTLP JSON, or if the
// resource of a span does not identify its process: it needs service.instance.id, or host.name and
// process.pid, because each process has a clock of its own. If the text ends within a TracesData,
// Read adds those before it, and returns an error that wraps [history.ErrTorn].
func (s *Spans) Read(r io.Reader) error {
	content, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	for {
		var document json.RawMessage
		began := decoder.InputOffset()
		err := decoder.Decode(&document)
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			err = history.ErrTorn
		case err == nil:
			err = s.add(document)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", lineAt(content, began), err)
		}
	}
}

// lineAt returns the number of the line of the first text after an offset.
func lineAt(content []byte, offset int64) int {
	rest := bytes.TrimLeftFunc(content[offset:], unicode.IsSpace)
	return 1 + bytes.Count(content[:len(content)-len(rest)], []byte("\n"))
}

func (s *Spans) add(document []byte) error {
	var data trace.TracesData
	// Ids are hexadecimal in OTLP JSON. They are decoded as base64, and remain distinct.
	options := protojson.UnmarshalOptions{DiscardUnknown: true}
	if err := options.Unmarshal(document, &data); err != nil {
		return fmt.Errorf("not OTLP JSON: %w", err)
	}
	for _, resource := range data.GetResourceSpans() {
		attributes := resource.GetResource().GetAttributes()
		for _, scoped := range resource.GetScopeSpans() {
			if scoped.GetScope().GetName() != scope || len(scoped.GetSpans()) == 0 {
				continue
			}
			p, err := s.process(attributes)
			if err != nil {
				return err
			}
			p.add(scoped.GetSpans())
		}
	}
	return nil
}

func (p *process) add(spans []*trace.Span) {
	for _, span := range spans {
		id := string(span.GetTraceId()) + string(span.GetSpanId())
		if !p.ids[id] {
			p.spans = append(p.spans, span)
		}
		p.ids[id] = id != ""
	}
}

// process returns the process with the attributes of a resource.
func (s *Spans) process(attributes []*common.KeyValue) (*process, error) {
	key, err := identify(attributes)
	if err != nil {
		return nil, err
	}
	p := s.known[key]
	if p == nil {
		p = &process{name: key.instance, ids: make(map[string]bool)}
		s.processes = append(s.processes, p)
		if s.known == nil {
			s.known = make(map[processKey]*process)
		}
		s.known[key] = p
	}
	return p, nil
}

// identify returns the identity of a process. The triplet is unique by OpenTelemetry's semantic
// conventions for services.
func identify(attributes []*common.KeyValue) (processKey, error) {
	key := processKey{
		text(attributes, "service.namespace"), text(attributes, "service.name"),
		text(attributes, "service.instance.id"),
	}
	if key.instance != "" {
		return key, nil
	}
	host, id := text(attributes, "host.name"), number(attributes, "process.pid")
	if host == "" || id == 0 {
		return key, errors.New("a resource does not identify its process: " +
			"set service.instance.id, or host.name and process.pid")
	}
	key.instance = fmt.Sprintf("%s/%d", host, id)
	return key, nil
}

func text(attributes []*common.KeyValue, key string) string {
	return value(attributes, key).GetStringValue()
}

func number(attributes []*common.KeyValue, key string) int64 {
	return value(attributes, key).GetIntValue()
}

func value(attributes []*common.KeyValue, key string) *common.AnyValue {
	for _, a := range attributes {
		if a.GetKey() == key {
			return a.GetValue()
		}
	}
	return nil
}
