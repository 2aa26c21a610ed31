package timeline

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/cause"
)

// A teller describes events in words.
type teller struct {
	graph *cause.Graph
	names *Names
	of    Primitive
	named map[string]bool // the paths of the znodes that were named
}

// node names a znode.
func (t *teller) node(node string) string {
	t.named[node] = true
	return t.names.Of(node)
}

// sentence describes an event and names its process.
func (t *teller) sentence(i int) string {
	e := &t.graph.Events[i]
	switch {
	case e.Kind == history.LockCall && i+1 < len(t.graph.Events) &&
		t.graph.Events[i+1].Process == e.Process && t.graph.Events[i+1].FailsToOpen():
		return process(e.Process) + t.of.In(" cannot ask for the lock: its Open has failed")
	case e.Kind <= history.Finished:
		return t.ofLock(e)
	case e.Kind.AtServer():
		return t.ofServer(i)
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
	sent := -1
	switch t.graph.Events[i].Kind {
	case history.Send, history.Reply, history.NodeCreated, history.NodeDeleted, history.NodeChanged:
		if r := t.graph.Request(i); r != nil {
			sent = r.Send
		}
	case history.Command, history.Answer, history.KeySet, history.KeyDeleted:
		sent = t.graph.Command(i)
	case history.Executed:
		if len(t.graph.Changes(i)) > 0 {
			sent = t.graph.Command(i)
		}
	}
	if sent < 0 {
		return ""
	}
	if f := t.graph.Events[sent].Facts; f != nil && f.Line != "" {
		return printable(path.Base(f.Line))
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
		asks := p + t.of.In(" asks for the lock"+mode(e))
		if e.Attempt > 1 {
			return fmt.Sprintf("%s, attempt %d", asks, e.Attempt)
		}
		return asks
	case history.LockReturn:
		has := p + t.of.In(" HAS THE LOCK"+mode(e))
		switch {
		case e.Err != "":
			return p + t.of.In(" gets no lock: ") + e.Err
		case e.Path != "":
			has += " by " + t.node(e.Path)
		}
		return has + t.of.In(token(e))
	case history.Enter:
		return p + " ENTERS its critical section" + mode(e)
	case history.Leave:
		return p + " leaves its critical section"
	case history.Lost:
		return p + t.of.In(" is notified that it has lost the lock")
	case history.UnlockCall:
		return p + t.of.In(" unlocks")
	case history.UnlockReturn:
		if e.Err != "" {
			return p + t.of.In("'s unlock fails: ") + e.Err
		}
		return p + t.of.In("'s unlock succeeds")
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
	return ", valid for " + history.FormatSpan(e.Validity)
}

// ofHolder describes an event of a holder.
func (t *teller) ofHolder(e *history.Event) string {
	p := process(e.Process)
	switch {
	case e.Kind == history.ReenterCall:
		return p + t.of.In(", the holder, asks for the lock again")
	case e.Kind == history.ReenterReturn && e.Err != "":
		return p + "'s second call of Lock fails: " + e.Err
	case e.Kind == history.ReenterReturn:
		return p + t.of.In(" HAS THE LOCK a second time")
	case e.Kind == history.Extended && e.Err != "":
		return p + t.of.In(" cannot extend its lock: ") + e.Err
	case e.Kind == history.Extended:
		return p + t.of.In(" EXTENDS its lock") + validity(e)
	case e.Kind == history.Observed && e.Zxid == 0:
		return p + " observes that nobody leads"
	case e.Kind == history.Observed:
		return fmt.Sprintf("%s observes that %s leads in term %d", p, e.Name, e.Zxid)
	case e.Kind == history.Forfeited:
		return p + " gives up its place in the queue"
	case e.Kind == history.TimedCall && e.Validity == 0:
		return p + t.of.In(" tries to lock")
	case e.Kind == history.TimedCall:
		return p + t.of.In(" tries to lock for ") + history.FormatSpan(e.Validity)
	case e.Kind == history.TimedReturn && e.Err != "":
		return p + "'s try ends" + failed(e)
	case e.Kind == history.TimedReturn:
		return p + "'s try succeeds"
	case e.Kind == history.Exited:
		return p + t.of.In(" unlocks once, and still holds the lock") + failed(e)
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

// ofEnsemble describes an event in the ensemble.
func (t *teller) ofEnsemble(i int) string {
	e := &t.graph.Events[i]
	p, znode := process(e.Process), t.node(e.Path)
	switch e.Kind {
	case history.Serve:
		return "the server handles " + p + "'s " + t.request(i) + failed(e)
	case history.NodeCreated:
		return t.created(i)
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
		return t.changed(i)
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
		if timeout := t.graph.Timeout(e.Session); timeout > 0 {
			return p + "'s session expires (timeout " + history.FormatSpan(timeout) + ")"
		}
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
			text += ", phase " + faults.PhaseKey(e.Op)
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
func (t *teller) ofServer(i int) string {
	e := &t.graph.Events[i]
	p, server := process(e.Process), "the server"
	if e.Server != 0 {
		server = fmt.Sprintf("s%d", e.Server)
	}
	switch e.Kind {
	case history.Command:
		return fmt.Sprintf("%s sends %s to %s", p, e.Op, server)
	case history.Executed:
		if changes := t.graph.Changes(i); len(changes) > 0 {
			return fmt.Sprintf("%s changed at %s by %s's %s", t.keys(i, changes), server, p, e.Op)
		}
		return fmt.Sprintf("%s executes %s of %s: %s", server, e.Op, p, e.Name)
	case history.Answer:
		return fmt.Sprintf("%s learns from %s: %s gives %s", p, server, e.Op, e.Name)
	case history.KeySet:
		done := "set"
		if of := t.graph.KeyOf(i, e.Path); of != 0 && of != e.Process {
			done = "overwritten"
		}
		return fmt.Sprintf("%s %s at %s by %s", t.keys(i, t.graph.Changes(i)), done, server, p)
	case history.KeyDeleted:
		return fmt.Sprintf("key %q deleted at %s by %s", e.Path, server, p)
	case history.KeyExpired:
		return fmt.Sprintf("key %q EXPIRES at %s", e.Path, server)
	case history.KeyLost:
		return fmt.Sprintf("key %q IS LOST at %s", e.Path, server)
	}
	return e.Kind.String()
}

// keys names the keys that an event changes, each with the process that had set it if that is
// another.
func (t *teller) keys(i int, changes []history.Change) string {
	names := make([]string, len(changes))
	for n, c := range changes {
		names[n] = fmt.Sprintf("key %q", c.Path)
		if of := t.graph.KeyOf(i, c.Path); of != 0 && of != t.graph.Events[i].Process {
			names[n] += " of " + process(of)
		}
	}
	return strings.Join(names, ", ")
}
