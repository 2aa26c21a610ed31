// Package explain says in words why a history breaks a property: who did what, and what the code
// relied on and did not have. It says only what the history shows.
package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/cause"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/history/timeline"
)

// An Explanation explains the violations of a history. Its zero value explains nothing.
type Explanation struct {
	Whys []Why // one for each violation, in their order
	Show []int // the indexes of the events that mattered, in order; see [cause.Graph.Slice]
}

// A Why is the explanation of one violation.
type Why struct {
	Violation *history.Violation
	Text      string // one paragraph
	Events    []int  // the indexes of the events that the text is about, in order
	demands   string // what the property demands, or "" if that is unknown
	detail    string // the first sentences, if they say no more than the detail of the violation
}

// A generator writes the text of an explanation. It returns false if it knows no more than the
// reason of the violation.
type generator func(*story) bool

// generators holds the generator of each property. A property without one is explained by the
// reason and the detail of its violation.
var generators = map[history.Property]generator{
	history.ServerMutualExclusion: (*story).serverMutualExclusion,
	history.ClientMutualExclusion: (*story).clientMutualExclusion,
	history.Fencing:               (*story).fencing,
	history.NoLostUpdate:          (*story).noLostUpdate,
	history.FIFO:                  (*story).fifo,
	history.NoLostWatch:           (*story).noLostWatch,
	history.Progress:              (*story).progress,
	history.NoStarvation:          (*story).noStarvation,
	history.NoLivelock:            (*story).noLivelock,
	history.NoSpuriousFailure:     (*story).noSpuriousFailure,
	history.NoLeakedNodes:         (*story).noLeakedNodes,
	history.LossNotification:      (*story).lossNotification,
	history.SessionLoss:           (*story).sessionLoss,
	history.Reentrancy:            (*story).reentrancy,
	history.NoHerd:                (*story).noHerd,
	history.MonotonicToken:        (*story).monotonicToken,
	history.Linearizable:          (*story).linearizable,
	history.OwnRelease:            (*story).ownRelease,
	history.Validity:              (*story).validity,
	history.Extension:             (*story).extension,
	history.Promptness:            (*story).promptness,
	history.NoEarlyPass:           (*story).noEarlyPass,
	history.OneLeaderPerTerm:      (*story).oneLeaderPerTerm,
	history.TermsInOrder:          (*story).termsInOrder,
	history.Quiescence:            (*story).quiescence,
	history.Margin:                (*story).margin,
	history.ZooKeeperConsistency:  (*story).zookeeperConsistency,
	noPanic:                       (*story).noPanic,
	noGoroutineLeak:               (*story).noGoroutineLeak,
}

// Of explains the violations of a history of a lock, the most important first. Events that show the
// facts of [history.Facts] are explained in more detail. For other primitives, see [NewReport].
func Of(events []history.Event, violations []*history.Violation) *Explanation {
	return explain(timeline.Lock, events, violations)
}

func explain(primitive timeline.Primitive, events []history.Event, violations []*history.Violation,
) *Explanation {
	x := new(Explanation)
	graph, names, told := cause.New(events), timeline.NewNames(events), ""
	for n, v := range violations {
		s := &story{
			Graph: graph, names: names, primitive: primitive, v: v, before: violations[:n],
			all: violations, told: told,
		}
		if generate := generators[v.Property]; generate == nil || !s.has(v) || !generate(s) {
			s.text.Reset()
			s.first = ""
			s.say("%s: %s.", upper(v.Reason), s.detail())
			s.cited = append(s.cited, v.Event)
		}
		if n == 0 {
			s.sayFaults()
			s.sayAssumptions()
		}
		told += s.whole()
		slices.Sort(s.cited)
		s.cited = slices.DeleteFunc(slices.Compact(s.cited), func(i int) bool {
			return i < 0 || i >= len(events)
		})
		x.Whys = append(x.Whys, Why{
			v, s.whole(), s.cited, primitive.In(demand(v.Property)), s.known,
		})
		if n == 0 {
			x.Show = s.cited
		} else if v.Event == violations[0].Event {
			x.Show = append(x.Show, s.cited...)
		}
	}
	x.Show = graph.Complete(graph.Slice(x.Show), timeline.Waits(graph.Events, violations))
	for _, why := range x.Whys {
		x.Show = append(x.Show, why.Events...)
	}
	slices.Sort(x.Show)
	x.Show = slices.Compact(x.Show)
	return x
}

// Write writes the explanations in lines of at most the given width.
func (x *Explanation) Write(w io.Writer, width int) error {
	for n, why := range x.Whys {
		lead := ""
		if n > 0 {
			lead = "\n"
		}
		if _, err := fmt.Fprintf(w, "%s%s\n%s%s", lead, why.Violation.Property,
			why.demand(width), timeline.Wrap(why.Text, width, "  ")); err != nil {
			return err
		}
	}
	return nil
}

// demand returns a line that says what the property demands, or "" if that is unknown.
func (w *Why) demand(width int) string {
	if w.demands == "" {
		return ""
	}
	return timeline.Wrap("demands: "+w.demands, width, "  ")
}

// demand returns what a property demands, or "" if that is unknown.
func demand(p history.Property) string {
	switch p {
	case noPanic:
		return "no process panics while it uses the lock"
	case noGoroutineLeak:
		return "all goroutines of a process end when the run ends"
	}
	return check.Statement(p)
}

// A story is an explanation under way.
type story struct {
	*cause.Graph
	names     *timeline.Names
	primitive timeline.Primitive // generators write of a lock; lead and say reword their formats
	v         *history.Violation
	before    []*history.Violation // explained already
	all       []*history.Violation
	told      string // what earlier explanations say
	first     string // the first sentence; see lead
	held      string // what a znode that still exists at the end keeps from happening
	known     string // the text that says no more than the detail of the violation
	timed     bool   // the text tells the timeout of sessions
	text      strings.Builder
	cited     []int
}

func (s *story) has(v *history.Violation) bool { return 0 <= v.Event && v.Event < len(s.Events) }

// lead sets the first sentence, unless it is set already: what the code did wrong.
func (s *story) lead(format string, arguments ...any) {
	if s.first == "" {
		s.first = fmt.Sprintf(s.primitive.In(format), arguments...)
	}
}

// whole returns the text.
func (s *story) whole() string {
	if s.first == "" || s.text.Len() == 0 {
		return s.first + s.text.String()
	}
	return s.first + " " + s.text.String()
}

// say adds a sentence.
func (s *story) say(format string, arguments ...any) {
	if s.text.Len() > 0 {
		s.text.WriteByte(' ')
	}
	fmt.Fprintf(&s.text, s.primitive.In(format), arguments...)
}

// sayDetail begins the text with what the detail of the violation says.
func (s *story) sayDetail(format string, arguments ...any) {
	s.say(format, arguments...)
	s.known = s.text.String()
}

// at cites an event, as "event 9".
func (s *story) at(event int) string {
	s.cited = append(s.cited, event)
	return fmt.Sprintf("event %d", event)
}

// in cites an event in parentheses, as "(event 9)".
func (s *story) in(event int) string { return "(" + s.at(event) + ")" }

// show adds events that the text is about without a number.
func (s *story) show(events ...int) { s.cited = append(s.cited, events...) }

// node returns the short name of a znode.
func (s *story) node(path string) string { return s.names.Of(path) }

func (s *story) detail() string { return s.quote(s.v.Detail) }

// message returns what the program under test has reported.
func (s *story) message() string { return s.quote(s.v.Evidence.Message) }

func (s *story) quote(text string) string {
	return strings.ReplaceAll(s.names.In(text), "\n", "; ")
}

// earlier returns the first earlier event of the evidence, and false if there is none.
func (s *story) earlier() (event int, known bool) {
	if len(s.v.Evidence.Events) == 0 {
		return 0, false
	}
	event = s.v.Evidence.Events[0]
	return event, event >= 0 && event < len(s.Events)
}

func process(number int32) string { return history.ProcessName(number) }

// upper returns a text with its first letter in upper case.
func upper(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// and joins names, as "a, b and c".
func and(names []string) string {
	switch last := len(names) - 1; last {
	case -1:
		return "nothing"
	case 0:
		return names[0]
	default:
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
}
