package conform

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// An observation is one thing that a client observes: an event, a reply, the response to its first
// record, or the end of its connection.
type observation struct {
	event     *wire.Event
	reply     *wire.Reply
	op        wire.Op // of the request that the reply answers
	length    int     // of the reply's body, including undecoded bytes
	connected *wire.ConnectResponse
	end       string
}

func (o observation) String() string {
	switch {
	case o.event != nil:
		return "event " + eventText(*o.event)
	case o.reply != nil:
		return replyText(o.op, o.reply, o.length)
	case o.connected != nil:
		return connectedText(o.connected, o.length)
	}
	return "connection: " + o.end
}

func connectedText(r *wire.ConnectResponse, length int) string {
	text := fmt.Sprintf("session %d, timeout %d, %d bytes", r.SessionID, r.TimeoutMillis, length)
	if r.Password != nil {
		text += ", another password"
	}
	if r.ReadOnly {
		text += ", read-only"
	}
	return text
}

func eventText(e wire.Event) string {
	name := strconv.Itoa(int(e.Type))
	switch e.Type {
	case wire.EventCreated:
		name = "NodeCreated"
	case wire.EventDeleted:
		name = "NodeDeleted"
	case wire.EventDataChanged:
		name = "NodeDataChanged"
	case wire.EventChildrenChanged:
		name = "NodeChildrenChanged"
	}
	text := name + " " + e.Path
	if e.State != wire.StateSyncConnected {
		text += fmt.Sprintf(", state %d", e.State)
	}
	if e.Zxid != -1 {
		text += fmt.Sprintf(", zxid %d", e.Zxid)
	}
	return text
}

// replyText formats the fields of a reply's type.
func replyText(op wire.Op, r *wire.Reply, length int) string {
	text := fmt.Sprintf("%v: zxid %d, %s", op, r.Zxid, codeText(r.Code))
	if r.Path != "" {
		text += ", " + pathText(r.Path)
	}
	if op == wire.OpGetData && r.Code == wire.OK {
		text += ", data " + dataText(r.Data)
	}
	if len(r.ACL) > 0 {
		text += ", " + aclText(r.ACL)
	}
	if len(r.Children) > 0 {
		text += ", [" + strings.Join(r.Children, " ") + "]"
	}
	if op == wire.OpGetAllChildrenNumber {
		text += fmt.Sprintf(", number %d", r.Number)
	}
	for _, i := range r.Identities {
		text += ", " + i.Scheme + ":" + i.ID
	}
	text += statText(r.Stat)
	for i := range r.Results {
		text += "; " + resultText(&r.Results[i])
	}
	return text + fmt.Sprintf(", %d bytes", length)
}

func resultText(r *wire.Result) string {
	if r.Op == wire.OpError {
		return codeText(r.Code)
	}
	text := r.Op.String()
	if r.Path != "" {
		text += " " + r.Path
	}
	if r.Op == wire.OpGetData {
		text += " data " + dataText(r.Data)
	}
	if len(r.Children) > 0 {
		text += " [" + strings.Join(r.Children, " ") + "]"
	}
	return text + statText(r.Stat)
}

func codeText(c wire.Code) string {
	if c == wire.OK {
		return "ok"
	}
	return fmt.Sprintf("%v (%d)", c, int32(c))
}

func statText(s wire.Stat) string {
	if s == (wire.Stat{}) {
		return ""
	}
	text := fmt.Sprintf(", stat czxid %d mzxid %d pzxid %d version %d cversion %d aversion %d "+
		"owner %d length %d children %d",
		s.Czxid, s.Mzxid, s.Pzxid, s.Version, s.Cversion, s.Aversion, s.EphemeralOwner,
		s.DataLength, s.NumChildren)
	if s.Ctime == otherTime {
		text += ", ctime is not that of czxid"
	}
	if s.Mtime == otherTime {
		text += ", mtime is not that of mzxid"
	}
	return text
}

func dataText(data []byte) string {
	if data == nil {
		return "null"
	}
	return strconv.Quote(string(data))
}

func aclText(acl []wire.ACL) string {
	if slices.Equal(acl, open) {
		return "open"
	}
	entries := make([]string, len(acl))
	for i, a := range acl {
		entries[i] = fmt.Sprintf("%s:%s:%d", pathText(a.Scheme), pathText(a.ID), a.Perms)
	}
	return "acl [" + strings.Join(entries, " ") + "]"
}

var flagNames = map[int32]string{
	wire.Persistent: "persistent", wire.Ephemeral: "ephemeral",
	wire.PersistentSequential: "persistent sequential",
	wire.EphemeralSequential:  "ephemeral sequential", wire.Container: "container",
	wire.PersistentTTL:    "persistent with TTL",
	wire.PersistentSeqTTL: "persistent sequential with TTL",
}

// requestText formats the fields of a request's type.
func requestText(r *wire.Request) string {
	text := r.Op.String()
	if r.Path != "" {
		text += " " + pathText(r.Path)
	}
	switch r.Op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		flags, ok := flagNames[r.Flags]
		if !ok {
			flags = fmt.Sprintf("flags %d", r.Flags)
		}
		text += fmt.Sprintf(" %s, data %s, %s", flags, dataText(r.Data), aclText(r.ACL))
		if r.Op == wire.OpCreateTTL {
			text += fmt.Sprintf(", TTL %d", r.TTLMillis)
		}
	case wire.OpSetData:
		text += fmt.Sprintf(" version %d, data %s", r.Version, dataText(r.Data))
	case wire.OpSetACL:
		text += fmt.Sprintf(" version %d, %s", r.Version, aclText(r.ACL))
	case wire.OpDelete, wire.OpCheck:
		text += fmt.Sprintf(" version %d", r.Version)
	case wire.OpAddWatch, wire.OpRemoveWatches, wire.OpCheckWatches:
		text += fmt.Sprintf(" mode %d", r.Mode)
	case wire.OpAuth:
		text += fmt.Sprintf(" %s %s", r.Scheme, r.Data)
	case wire.OpSetWatches, wire.OpSetWatches2:
		text += watchesText(r.Watches)
	case wire.OpMulti, wire.OpMultiRead:
		text += operationsText(r.Ops)
	}
	if r.Watch {
		text += ", watch"
	}
	return text
}

func operationsText(ops []wire.Request) string {
	texts := make([]string, len(ops))
	for i := range ops {
		texts[i] = requestText(&ops[i])
	}
	return " {" + strings.Join(texts, "; ") + "}"
}

func watchesText(w *wire.Watches) string {
	text := fmt.Sprintf(" since zxid %d", w.RelativeZxid)
	for _, list := range []struct {
		name  string
		paths []string
	}{
		{"data", w.Data},
		{"exist", w.Exist},
		{"child", w.Child},
		{"persistent", w.Persistent},
		{"recursive", w.Recursive},
	} {
		if len(list.paths) > 0 {
			texts := make([]string, len(list.paths))
			for i, path := range list.paths {
				texts[i] = pathText(path)
			}
			text += fmt.Sprintf(", %s [%s]", list.name, strings.Join(texts, " "))
		}
	}
	return text
}

// pathText quotes a path if it contains unprintable characters.
func pathText(path string) string {
	if path == wire.Null {
		return "null"
	}
	if quoted := strconv.Quote(path); quoted[1:len(quoted)-1] != path {
		return quoted
	}
	return path
}
