package timeline

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/cause"
)

// A teller describes events in words.
type teller struct {
	graph *cause.Graph
	names *Names
	named map[string]bool // the paths of the znodes that were named
}

// node names a znode.
func (t *teller) node(path string) string {
	t.named[path] = true
	return t.names.Of(path)
}

// sentence describes an event and names its process.
func (t *teller) sentence(i int) string {
	e := &t.graph.Events[i]
	switch {
	case e.Kind <= history.Finished:
		return t.ofLock(e)
	case e.Kind.AtServer():
		return ofServer(e)
	case e.Kind >= history.ReenterCall:
		return t.ofHolder(e)
	case e.Kind <= history.SessionState:
		return t.ofClient(i)
	case e.Kind <= history.Leading:
		return t.ofEnsemble(i)
	}
	return t.ofHarness(e)
}

// source returns the source line that sent the request of an event, or "" if it is unknown.
func (t *teller) source(i int) string {
	e := &t.graph.Events[i]
	switch e.Kind {
	case history.Send, history.Reply, history.NodeCreated, history.NodeDeleted, history.NodeChanged:
		if r := t.graph.Request(i); r != nil {
			if f := t.graph.Events[r.Send].Facts; f != nil && f.Line != "" {
				return printable(path.Base(f.Line))
			}
		}
	}
	return ""
}

func process(number int32) string { return history.ProcessName(number) }

// failed returns how a text ends that tells of an error, or "".
func failed(e *history.Event) string {
	if e.Err == "" {
		return ""
	}
	return ": " + e.Err
}

// ofLock describes an event between a process and its lock.
func (t *teller) ofLock(e *history.Event) string {
	p := process(e.Process)
	switch e.Kind {
	case history.LockCall:
		asks := p + " asks for the lock" + mode(e)
		if e.Attempt > 1 {
			return fmt.Sprintf("%s, attempt %d", asks, e.Attempt)
		}
		return asks
	case history.LockReturn:
		switch {
		case e.Err != "":
			return p + " gets no lock: " + e.Err
		case e.Path != "":
			return p + " HAS THE LOCK" + mode(e) + " by " + t.node(e.Path) + token(e)
		}
		return p + " HAS THE LOCK" + mode(e) + token(e)
	case history.Enter:
		return p + " ENTERS its critical section" + mode(e)
	case history.Leave:
		return p + " leaves its critical section"
	case history.Lost:
		return p + " is notified that it has lost the lock"
	case history.UnlockCall:
		return p + " unlocks"
	case history.UnlockReturn:
		if e.Err != "" {
			return p + "'s unlock fails: " + e.Err
		}
		return p + "'s unlock succeeds"
	case history.Finished:
		return p + " is finished"
	}
	return p + " " + e.Kind.String()
}

// mode describes the mode of an attempt that shares the lock.
func mode(e *history.Event) string {
	if e.Shared() {
		return " (shared)"
	}
	return ""
}

// token describes the fencing token of a grant.
func token(e *history.Event) string {
	if e.Zxid == 0 {
		return ""
	}
	return ", token " + strconv.FormatInt(e.Zxid, 10)
}

// validity describes the validity time of a grant or an extension.
func validity(e *history.Event) string {
	if e.Validity == 0 {
		return ""
	}
	return ", valid for " + e.Validity.String()
}

// ofHolder describes an event of a holder.
func (t *teller) ofHolder(e *history.Event) string {
	p := process(e.Process)
	switch {
	case e.Kind == history.ReenterCall:
		return p + ", the holder, asks for the lock again"
	case e.Kind == history.ReenterReturn && e.Err != "":
		return p + " is refused a second time: " + e.Err
	case e.Kind == history.ReenterReturn:
		return p + " HAS THE LOCK a second time"
	case e.Kind == history.Extended && e.Err != "":
		return p + " cannot extend its lock: " + e.Err
	case e.Kind == history.Extended:
		return p + " EXTENDS its lock" + validity(e)
	case e.Kind == history.Observed && e.Zxid == 0:
		return p + " observes that nobody leads"
	case e.Kind == history.Observed:
		return fmt.Sprintf("%s observes that %s leads in term %d", p, e.Name, e.Zxid)
	case e.Kind == history.TimedCall && e.Validity == 0:
		return p + " tries to lock"
	case e.Kind == history.TimedCall:
		return p + " tries to lock for " + e.Validity.String()
	case e.Kind == history.TimedReturn && e.Err != "":
		return p + "'s try ends" + failed(e)
	case e.Kind == history.TimedReturn:
		return p + "'s try succeeds"
	case e.Kind == history.Exited:
		return p + " unlocks once, and still holds the lock" + failed(e)
	case e.Kind == history.ResourceRead:
		return fmt.Sprintf("%s reads version %d of the resource", p, e.Zxid) + failed(e)
	case e.Kind == history.ResourceWrite && e.Err != "":
		return p + "'s write of the resource is refused: " + e.Err
	case e.Kind == history.ResourceWrite && e.Zxid != 0:
		return fmt.Sprintf("%s WRITES version %d of the resource", p, e.Zxid)
	case e.Kind == history.ResourceWrite:
		return p + " WRITES the resource"
	}
	return p + " " + e.Kind.String()
}

// ofClient describes a message between a process and the ensemble.
func (t *teller) ofClient(i int) string {
	e := &t.graph.Events[i]
	p := process(e.Process)
	switch e.Kind {
	case history.Send:
		return p + " sends " + t.request(i) + t.arguments(e)
	case history.Reply:
		return t.reply(p, i)
	case history.WatchEvent:
		if e.Watch == 0 {
			return fmt.Sprintf("%s's watch on %s ends%s", p, t.node(e.Path), failed(e))
		}
		return fmt.Sprintf("%s learns from watch %d: %s %s", p, e.Watch, t.node(e.Path),
			strings.ReplaceAll(e.Name, "-", " "))
	case history.SessionState:
		switch e.Name {
		case "expired":
			return p + " learns that its session has expired"
		case "disconnected":
			return p + " learns that its connection is lost"
		case "has-session":
			if t.renewed(i) {
				return p + " is connected again, with a new session"
			}
			return p + " is connected again, with its session"
		}
		return p + "'s client: " + strings.ReplaceAll(e.Name, "-", " ")
	}
	return p + " " + e.Kind.String()
}

// renewed reports whether the session of a SessionState differs from the last one that the client
// library reported.
func (t *teller) renewed(i int) bool {
	e := &t.graph.Events[i]
	for n := i - 1; n >= 0; n-- {
		o := &t.graph.Events[n]
		if o.Process == e.Process && (o.Kind == history.SessionState && o.Session != 0 ||
			o.Kind == history.SessionOpened && o.Session != e.Session) {
			return o.Session != e.Session
		}
	}
	return false
}

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
	if e.Facts.Version != nil {
		fmt.Fprintf(&text, " if its version is %d", *e.Facts.Version)
	}
	if e.Facts.Data != "" {
		text.WriteString(", data " + shortened(e.Facts.Data))
	}
	t.operations(&text, e.Facts.Operations)
	return text.String()
}

// operations describes the operations of a multi.
func (t *teller) operations(text *strings.Builder, all []history.Operation) {
	for n, one := range all {
		lead := " · "
		if n == 0 {
			lead = ": "
		}
		text.WriteString(lead + one.Op + " " + t.node(one.Path))
		if one.Version != nil {
			fmt.Fprintf(text, " of version %d", *one.Version)
		}
		if one.Err != "" {
			text.WriteString(" (" + one.Err + ")")
		}
	}
}

// dataShown is the number of characters of data that a line shows.
const dataShown = 24

// shortened returns data in quotes, cut if it is long.
func shortened(data string) string {
	if runes := []rune(data); len(runes) > dataShown {
		return strconv.Quote(string(runes[:dataShown])) + "…"
	}
	return strconv.Quote(data)
}

// reply describes what a process learns from a reply.
func (t *teller) reply(p string, i int) string {
	e, r := &t.graph.Events[i], t.graph.Request(i)
	what := t.request(i)
	if e.Err != "" && e.Err != "no node" {
		text := p + " gets no answer to " + what + failed(e)
		if e.Zxid != 0 {
			text = p + "'s " + what + " is refused" + failed(e)
		}
		if r != nil && len(r.Changes) > 0 {
			text += " (it was carried out)"
		}
		return text
	}
	var text strings.Builder
	f := e.Facts
	switch {
	case r != nil && cause.Listing(r.Op):
		text.WriteString(p + " lists " + t.node(r.Path))
		if listed, ok := t.graph.Listed(i); ok {
			text.WriteString(": " + t.children(listed, e.Process, i))
		}
	case e.Err != "":
		text.WriteString(p + "'s " + what + ": no such node")
	case f != nil && f.Exists != nil:
		text.WriteString(p + "'s " + what + ": it exists")
		if f.Data != "" {
			text.WriteString(", data " + shortened(f.Data))
		}
		if f.Stat != nil && f.Stat.Version > 0 {
			fmt.Fprintf(&text, ", version %d", f.Stat.Version)
		}
	default:
		text.WriteString(p + "'s " + what + ": done")
		if f != nil {
			t.operations(&text, f.Operations)
		}
	}
	if r != nil && r.Watch != nil {
		text.WriteString("; " + armed(r.Watch))
	}
	return text.String()
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
// carried out. It says that the creator does not know the znode if the name carries no id either.
func (t *teller) unknown(created, at int) string {
	r := t.graph.Request(created)
	switch {
	case r == nil || r.Op != "create" || r.Reply < 0 || r.Reply > at ||
		t.graph.Events[r.Reply].Err == "":
		return ""
	case strings.HasPrefix(path.Base(r.Path), protectedPrefix):
		return ", its create got no reply"
	}
	return ", which it does not know"
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

// ofEnsemble describes an event in the ensemble.
func (t *teller) ofEnsemble(i int) string {
	e := &t.graph.Events[i]
	p, znode := process(e.Process), t.node(e.Path)
	switch e.Kind {
	case history.Serve:
		return "the server handles " + p + "'s " + t.request(i) + failed(e)
	case history.NodeCreated:
		return znode + " created by " + p
	case history.NodeDeleted:
		if end := t.graph.SessionEnd(i); end >= 0 {
			how := "expires"
			if t.graph.Events[end].Kind == history.SessionClosed {
				how = "closes"
			}
			return p + "'s session " + how + ": " + znode + " deleted"
		}
		return znode + " deleted by " + p
	case history.NodeChanged:
		return znode + " changed by " + p
	case history.WatchArmed:
		switch e.Name {
		case "exist":
			znode += ", by exists on a node that does not exist"
		case "child":
			znode = "the children of " + znode
		}
		return fmt.Sprintf("%s's watch %d set on %s", p, e.Watch, znode)
	case history.WatchFired:
		return fmt.Sprintf("%s's watch %d fires: %s %s", p, e.Watch, znode,
			strings.ReplaceAll(e.Name, "-", " "))
	case history.WatchGone:
		return fmt.Sprintf("%s's watch %d on %s ends with its connection", p, e.Watch, znode)
	case history.SessionOpened:
		return fmt.Sprintf("%s's session %#x opens", p, e.Session)
	case history.SessionExpired:
		return p + "'s session expires"
	case history.SessionClosed:
		return p + "'s session closes"
	case history.Logged:
		return fmt.Sprintf("s%d logs zxid %s", e.Server, history.FormatZxid(e.Zxid))
	case history.Leading:
		return fmt.Sprintf("s%d LEADS from zxid %s on", e.Server, history.FormatZxid(e.Zxid))
	case history.Applied:
		return fmt.Sprintf("s%d applies zxid %s", e.Server, history.FormatZxid(e.Zxid))
	}
	return e.Kind.String()
}

// ofHarness describes an event of the harness.
func (t *teller) ofHarness(e *history.Event) string {
	target := ""
	switch {
	case e.Server != 0 && e.Peer != 0:
		target = fmt.Sprintf("s%d-s%d", e.Server, e.Peer)
	case e.Process != 0 && e.Peer != 0:
		target = fmt.Sprintf("%s-s%d", history.ProcessName(e.Process), e.Peer)
	case e.Server != 0:
		target = fmt.Sprintf("s%d", e.Server)
	case e.Process != 0:
		target = process(e.Process)
	case e.Peer != 0:
		target = fmt.Sprintf("s%d", e.Peer)
	}
	switch e.Kind {
	case history.Fault:
		text := strings.TrimRight("FAULT "+e.Name+" "+target, " ")
		if e.Op != "" {
			text += ", phase " + e.Op
		}
		return text
	case history.Healed:
		if e.Server != 0 && e.Peer == 0 {
			return target + " works again"
		}
		return "the link of " + target + " works again"
	case history.Resumed:
		return target + " resumes after its pause"
	case history.Crashed:
		return target + " CRASHES"
	case history.Tick:
		return "time passes"
	case history.FairPhase:
		return "no more faults, and a fair order, from here on"
	}
	return e.Kind.String()
}

// ofServer describes a message between a process and a server that is no ZooKeeper, and an event in
// such a server.
func ofServer(e *history.Event) string {
	p, server := process(e.Process), "the server"
	if e.Server != 0 {
		server = fmt.Sprintf("s%d", e.Server)
	}
	switch e.Kind {
	case history.Command:
		return fmt.Sprintf("%s sends %s to %s", p, e.Op, server)
	case history.Executed:
		return fmt.Sprintf("%s executes %s of %s: %s", server, e.Op, p, e.Name)
	case history.Answer:
		return fmt.Sprintf("%s learns from %s: %s gives %s", p, server, e.Op, e.Name)
	case history.KeySet:
		return fmt.Sprintf("%s set at %s by %s", e.Path, server, p)
	case history.KeyDeleted:
		return fmt.Sprintf("%s deleted at %s by %s", e.Path, server, p)
	case history.KeyExpired:
		return fmt.Sprintf("%s EXPIRES at %s", e.Path, server)
	case history.KeyLost:
		return fmt.Sprintf("%s IS LOST at %s", e.Path, server)
	}
	return e.Kind.String()
}
