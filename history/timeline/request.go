package timeline

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/cause"
)

// request describes the request of an event: its operation and its znode.
func (t *teller) request(i int) string {
	e := &t.graph.Events[i]
	r := t.graph.Request(i)
	if r == nil {
		return strings.TrimRight(e.Op+" "+t.node(e.Path), " ")
	}
	znode := r.Path
	if len(r.Changes) == 1 {
		znode = t.graph.Events[r.Changes[0]].Path // The server has completed a sequential name.
	} else if e.Kind == history.Reply && e.Path != "" && e.Op == "create" {
		znode = e.Path
	}
	return strings.TrimRight(r.Op+" "+t.node(znode), " ")
}

// arguments describes the facts of a request beside its znode.
func (t *teller) arguments(e *history.Event) string {
	if e.Facts == nil {
		return ""
	}
	var text strings.Builder
	switch {
	case e.Op == "set":
		text.WriteString(" to " + quoted(e.Facts.Data))
	case e.Facts.Data != "":
		text.WriteString(" with " + quoted(e.Facts.Data))
	}
	text.WriteString(condition(e.Op, e.Facts.Version))
	t.operations(&text, e.Facts.Operations)
	return text.String()
}

// condition tells which version a set or a delete requires. A delete rarely requires one.
func condition(op string, version *int32) string {
	switch {
	case version != nil:
		return fmt.Sprintf(", with a check of version %d", *version)
	case op == "set":
		return ", without a version check"
	}
	return ""
}

// operations describes the operations of a multi.
func (t *teller) operations(text *strings.Builder, all []history.Operation) {
	for n, one := range all {
		lead := " · "
		if n == 0 {
			lead = ": "
		}
		text.WriteString(lead + one.Op + " " + t.node(one.Path))
		if one.Data != "" {
			text.WriteString(" with " + quoted(one.Data))
		}
		if one.Version != nil {
			fmt.Fprintf(text, " of version %d", *one.Version)
		}
		if one.Err != "" {
			text.WriteString(" (" + one.Err + ")")
		}
	}
}

// dataShown is the number of columns of data that a line shows, beside the quotes.
const dataShown = 32

// quoted returns data in quotes, with escapes for what is no text. Long data is cut.
func quoted(data string) string {
	whole := strconv.Quote(data)
	if utf8.RuneCountInString(whole)-len(`""`) <= dataShown {
		return whole
	}
	end := 0
	for end < len(data) {
		_, size := utf8.DecodeRuneInString(data[end:])
		if utf8.RuneCountInString(strconv.Quote(data[:end+size]))-len(`""`) > dataShown {
			break
		}
		end += size
	}
	return strconv.Quote(data[:end]) + "…"
}

// reply describes what a process learns from a reply.
func (t *teller) reply(p string, i int) string {
	e, r := &t.graph.Events[i], t.graph.Request(i)
	what := t.request(i)
	if e.Err != "" && e.Err != "no node" {
		return t.failure(p, i, what)
	}
	var text strings.Builder
	f := e.Facts
	switch {
	case r != nil && cause.Listing(r.Op):
		text.WriteString(p + " lists " + t.node(r.Path))
		if listed, ok := t.graph.Listed(i); ok {
			text.WriteString(": " + t.children(listed, e.Process, i))
			for _, missed := range t.graph.Missed(i) {
				text.WriteString(", without " + t.node(missed) +
					", which its server had not applied")
			}
		}
	case e.Err != "":
		text.WriteString(p + "'s " + what + ": no such node")
	case f != nil && f.Exists != nil && cause.ReadsData(e.Op) && f.Data == "" &&
		!t.graph.SetsData(r):
		text.WriteString(p + "'s " + what + ": it exists, empty")
	case f != nil && f.Exists != nil && cause.ReadsData(e.Op):
		text.WriteString(p + "'s " + what + ": " + quoted(f.Data))
		if f.Stat != nil {
			text.WriteString(version(f.Stat.Version))
		}
	case f != nil && f.Exists != nil:
		text.WriteString(p + "'s " + what + ": it exists")
		if f.Stat != nil && f.Stat.Version > 0 {
			text.WriteString(version(f.Stat.Version))
		}
	default:
		text.WriteString(p + "'s " + what + ": done")
		if f != nil && f.Stat != nil && e.Op == "set" {
			text.WriteString(version(f.Stat.Version))
		}
		if f != nil {
			t.operations(&text, f.Operations)
		}
	}
	if r != nil && r.Watch != nil {
		text.WriteString("; " + armed(r.Watch))
	}
	return text.String()
}

func version(number int32) string { return fmt.Sprintf(" (version %d)", number) }

// failure describes the reply to a request that was refused, or the error that took its place.
func (t *teller) failure(p string, i int, what string) string {
	e, r := &t.graph.Events[i], t.graph.Request(i)
	if r != nil && r.Op == "set" {
		what += t.arguments(&t.graph.Events[r.Send])
	}
	text := p + " gets no answer to " + what + failed(e)
	if e.Zxid != 0 {
		comma := ""
		if strings.Contains(what, ", ") {
			comma = ","
		}
		text = p + "'s " + what + comma + " is refused" + failed(e)
	}
	switch {
	case r == nil || len(r.Changes) == 0:
	case r.Changes[0] > i:
		text += " (it was carried out later)"
	default:
		text += " (it was carried out)"
	}
	return text
}

// created describes the creation of a znode. It shows the data only if a process reads them.
func (t *teller) created(i int) string {
	e := &t.graph.Events[i]
	text := t.node(e.Path) + " created by " + process(e.Process)
	if w, known := t.graph.Written(i); known && w.Data != "" && t.graph.Reads(e.Path) {
		text += " with " + quoted(w.Data)
	}
	return text
}

// changed describes a change of the data of a znode.
func (t *teller) changed(i int) string {
	e := &t.graph.Events[i]
	w, known := t.graph.Written(i)
	text := t.node(e.Path) + " changed by " + process(e.Process)
	if known {
		text = t.node(e.Path) + " set to " + quoted(w.Data) + " by " + process(e.Process)
	}
	if number, ok := t.graph.Version(i); ok {
		text += version(number)
	}
	if known {
		text += condition("set", w.Version)
	}
	return text
}

// children lists znodes in the order of their numbers, and marks those of the reader itself and
// those that are gone by the time of the event.
func (t *teller) children(listed []string, reader int32, at int) string {
	if len(listed) == 0 {
		return "nothing"
	}
	names := make([]string, len(listed))
	for n, child := range Sorted(listed) {
		names[n] = t.node(child)
		created := t.graph.Created(child, at)
		switch {
		case created < 0:
		case !t.graph.Live(child, at):
			names[n] += " (gone by now)"
		case t.graph.Events[created].Process == reader:
			names[n] += " (own" + t.unknown(created, at) + ")"
		}
	}
	return strings.Join(names, " · ")
}

// unknown tells of a znode whose create had failed for its creator before an event, although it was
// carried out. It says that the creator does not know the znode if the server has chosen the number
// in its name, and the name carries no id either.
func (t *teller) unknown(created, at int) string {
	r := t.graph.Request(created)
	switch {
	case r == nil || r.Op != "create" || r.Reply < 0 || r.Reply > at ||
		t.graph.Events[r.Reply].Err == "":
		return ""
	case r.Path == t.graph.Events[created].Path,
		strings.HasPrefix(path.Base(r.Path), protectedPrefix):
		return ", its create got no reply"
	}
	return ", but no reply has told it the name"
}

// protectedPrefix begins the names of the znodes that carry an id of their creator, so that it
// recognizes them after a lost reply.
const protectedPrefix = "_c_"

// armed says which watch a request has set.
func armed(w *cause.Watch) string {
	if w.Kind == "exist" {
		return fmt.Sprintf("watch %d set, for its creation", w.Number)
	}
	return fmt.Sprintf("watch %d set", w.Number)
}
