package guarantee

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/models"
)

// The errors of requests without an effect.
const (
	noNode     = "no node"
	nodeExists = "node exists"
)

// A servedRequest is a request that a server has served, with the indexes of its events.
type servedRequest struct {
	send, serve, reply int // 0 if there is no such event
	event              *history.Event
	changes            []int // the events of its changes
	synced             int   // the Send of the process's previous request if that was a sync, or 0
}

// TreeOperations returns the operations for [models.Tree]: the writes, and the reads that cannot be
// stale. With one server these are all reads, and with several those that follow a sync of the same
// process.
//   - The ensemble's events show the changes of a write, so a write whose reply was lost returns
//     when it took effect.
//   - The end of a session deletes its nodes.
//   - Of a read a history shows only whether the znode exists.
//   - It omits lists of children, and requests refused for a reason other than the existence of the
//     znode.
func TreeOperations(events []history.Event) []porcupine.Operation {
	var operations []porcupine.Operation
	add := func(process int32, verb models.Verb, path string, out models.Output, from, to int) {
		operations = append(operations, porcupine.Operation{
			ClientId: max(0, int(process)-1),
			Input:    models.Input{Process: process, Verb: verb, Path: path}, Output: out,
			Call: int64(from), Return: int64(to),
		})
	}
	several := slices.ContainsFunc(events, func(e history.Event) bool {
		return e.Server > 1 ||
			e.Kind == history.Applied
	})
	owned := make(map[int]bool) // the changes that a request has made
	for _, r := range requests(events) {
		back := r.reply
		if back == 0 {
			back = r.serve
		}
		for _, i := range r.changes {
			owned[i] = true
			add(r.event.Process, verbOf(events[i].Kind), events[i].Path, models.Output{}, r.send,
				back)
		}
		switch verb, out, from := requestOutcome(&r, several); {
		case from >= 0:
			add(r.event.Process, verb, r.event.Path, out, from, back)
		}
	}
	for i := range events {
		if k := events[i].Kind; (k == history.NodeCreated || k == history.NodeDeleted ||
			k == history.NodeChanged) &&
			!owned[i] {
			add(events[i].Process, verbOf(k), events[i].Path, models.Output{}, i, i)
		}
	}
	for _, path := range initialNodes(events) {
		add(0, models.Create, path, models.Output{}, -1, -1)
	}
	return operations
}

func verbOf(k history.Kind) models.Verb {
	switch k {
	case history.NodeCreated:
		return models.Create
	case history.NodeDeleted:
		return models.Delete
	}
	return models.Write
}

// requestOutcome returns the operation that a request shows besides its changes, and the index from
// which on it can have taken effect, -1 if there is none.
func requestOutcome(r *servedRequest, several bool) (models.Verb, models.Output, int) {
	refused := models.Output{Refused: true}
	switch e := r.event; e.Op {
	case "create":
		if e.Err == nodeExists {
			return models.Create, refused, r.send
		}
	case "delete":
		if e.Err == noNode {
			return models.Delete, refused, r.send
		}
	case "set":
		if e.Err == noNode {
			return models.Write, refused, r.send
		}
	default:
		exists, ok := readResult(e)
		from := r.send
		if several {
			from = r.synced
		}
		if !ok || r.reply == 0 || several && r.synced == 0 {
			break
		}
		if exists {
			return models.Read, models.Output{Version: models.Present}, from
		}
		return models.Read, models.Output{Version: models.Absent}, from
	}
	return 0, models.Output{}, -1
}

// readResult returns whether a read has found its znode. It returns false for ok if the request is
// not such a read or its error does not decide.
func readResult(e *history.Event) (exists, ok bool) {
	switch e.Op {
	case "exists", "exists+watch", "get", "get+watch":
		return e.Err == "", e.Err == "" || e.Err == noNode
	}
	return false, false
}

// isWrite reports whether an operation changes znodes. A reply to any other operation may show the
// zxid of the process's last write.
func isWrite(op string) bool {
	switch op {
	case "create", "createContainer", "createTTL", "delete", "set", "multi", "close":
		return true
	}
	return false
}

// requests returns the served requests in the order of their service.
func requests(events []history.Event) []servedRequest {
	type key struct{ process, request int32 }
	sent, all := make(map[key]int), []servedRequest(nil)
	place := make(map[key]int)       // indexes in all
	synced := make(map[int32]int)    // of each process, as servedRequest.synced
	changes := make(map[int64][]int) // of each transaction, until its request is served
	for i := range events {
		e := &events[i]
		k := key{e.Process, e.Request}
		switch e.Kind {
		case history.Send:
			sent[k] = i
		case history.NodeCreated, history.NodeDeleted, history.NodeChanged:
			changes[e.Zxid] = append(changes[e.Zxid], i)
		case history.SessionExpired:
			delete(changes, e.Zxid)
		case history.Serve:
			r := servedRequest{send: sent[k], serve: i, event: e, synced: synced[e.Process]}
			if made := changes[e.Zxid]; len(made) > 0 && events[made[0]].Process == e.Process &&
				e.Err == "" && isWrite(e.Op) {
				r.changes = made
				delete(changes, e.Zxid)
			}
			place[k] = len(all)
			all = append(all, r)
			synced[e.Process] = 0
			if e.Op == "sync" && e.Err == "" {
				synced[e.Process] = r.send
			}
		case history.Reply:
			if n, ok := place[k]; ok && e.Err == all[n].event.Err {
				all[n].reply = i
			}
		}
	}
	return all
}

// initialNodes returns the paths of the znodes that existed when the history began.
func initialNodes(events []history.Event) []string {
	var paths []string
	met := make(map[string]bool)
	for i := range events {
		e := &events[i]
		there := false
		switch exists, ok := readResult(e); {
		case e.Kind == history.NodeCreated:
		case e.Kind == history.NodeDeleted, e.Kind == history.NodeChanged:
			there = true
		case e.Kind == history.Serve && ok:
			there = exists
		default:
			continue
		}
		if !met[e.Path] && there {
			paths = append(paths, e.Path)
		}
		met[e.Path] = true
	}
	return paths
}

const reasonBackwards = "a session has read states of the tree out of order"

// SessionReads decides that every session reads the states of the tree in order, however old.
// For each read of a session there is a state in which its znode exists or not, as the read has
// found, and that is no older than the state of the previous read and the last write of the
// session. A new session may begin with any state. The check is part of the check against
// [models.Tree] and no property of a lock.
//
// Source: the single system image of the ZooKeeper Programmer's Guide.
//
// It takes time linear in the events, times the number of changes of one znode.
func SessionReads(events []history.Event) *history.Violation {
	type change struct {
		index  int
		exists bool
	}
	changes := make(map[string][]change)
	for _, path := range initialNodes(events) {
		changes[path] = []change{{-1, true}}
	}
	written := make(map[int64]int) // the last change of each transaction
	seen := make(map[int32]int)    // the last change that the process's session has read
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case history.NodeCreated, history.NodeDeleted:
			changes[e.Path] = append(changes[e.Path], change{i, e.Kind == history.NodeCreated})
			written[e.Zxid] = i
		case history.SessionOpened:
			seen[e.Process] = -1
		case history.Serve:
			exists, ok := readResult(e)
			if !ok {
				if last, ok := written[e.Zxid]; ok && e.Err == "" &&
					events[last].Process == e.Process {
					seen[e.Process] = max(seen[e.Process], last) // the session's own write
				}
				continue
			}
			all := changes[e.Path]
			// The znode is absent until its first change, then in the state of each change until
			// the next.
			now, found := -1, false
			for n := -1; n < len(all) && !found; n++ {
				until, state, from := i, false, -1
				if n+1 < len(all) {
					until = all[n+1].index
				}
				if n >= 0 {
					state, from = all[n].exists, all[n].index
				}
				if until > seen[e.Process] && state == exists {
					now, found = max(from, seen[e.Process]), true
				}
			}
			if !found {
				return &history.Violation{
					Property: "tree", Event: i, Reason: reasonBackwards,
					Detail: fmt.Sprintf("c%d: %s %s returns %v after a read of the change at "+
						"event %d",
						e.Process, e.Op, e.Path, exists, seen[e.Process]),
				}
			}
			seen[e.Process] = now
		}
	}
	return nil
}
