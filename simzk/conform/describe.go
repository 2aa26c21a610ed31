package conform

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-sim/interlock/simzk/operation"
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
	o := operation.Of(op)
	text := fmt.Sprintf("%s: zxid %d, %s", operation.Name(op), r.Zxid, codeText(r.Code))
	if r.Path != "" {
		text += ", " + pathText(r.Path)
	}
	if slices.Contains(o.Reply, wire.FieldData) && r.Code == wire.OK {
		text += ", data " + dataText(r.Data)
	}
	if len(r.ACL) > 0 {
		text += ", " + aclText(r.ACL)
	}
	if len(r.Children) > 0 {
		text += ", [" + strings.Join(r.Children, " ") + "]"
	}
	if slices.Contains(o.Reply, wire.FieldNumber) {
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
	text := operation.Name(r.Op)
	if r.Path != "" {
		text += " " + r.Path
	}
	if slices.Contains(operation.Of(r.Op).Result, wire.FieldData) {
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
	text := operation.Name(r.Op)
	if r.Path != "" {
		text += " " + pathText(r.Path)
	}
	var details []string
	for _, field := range describedFields {
		if slices.Contains(operation.Of(r.Op).Request, field) {
			details = append(details, fieldText(field, r))
		}
	}
	if len(details) > 0 {
		text += " " + strings.Join(details, ", ")
	}
	if r.Watch {
		text += ", watch"
	}
	return text
}

// describedFields are the fields that a description of a request shows behind its path, in this
// order.
var describedFields = [...]wire.Field{
	wire.FieldFlags, wire.FieldVersion, wire.FieldMode, wire.FieldData, wire.FieldACL,
	wire.FieldTTL, wire.FieldCredentials, wire.FieldWatches, wire.FieldAllWatches,
	wire.FieldOperations,
}

func fieldText(field wire.Field, r *wire.Request) string {
	switch field {
	case wire.FieldFlags:
		return flagsText(r.Flags)
	case wire.FieldVersion:
		return fmt.Sprintf("version %d", r.Version)
	case wire.FieldMode:
		return fmt.Sprintf("mode %d", r.Mode)
	case wire.FieldData:
		return "data " + dataText(r.Data)
	case wire.FieldACL:
		return aclText(r.ACL)
	case wire.FieldTTL:
		return fmt.Sprintf("TTL %d", r.TTLMillis)
	case wire.FieldCredentials:
		return fmt.Sprintf("%s %s", r.Scheme, r.Data)
	case wire.FieldWatches, wire.FieldAllWatches:
		return watchesText(r.Watches)
	case wire.FieldOperations:
		return operationsText(r.Ops)
	}
	panic("conform: a field without a description")
}

func flagsText(flags int32) string {
	if name, ok := flagNames[flags]; ok {
		return name
	}
	return fmt.Sprintf("flags %d", flags)
}

func operationsText(ops []wire.Request) string {
	texts := make([]string, len(ops))
	for i := range ops {
		texts[i] = requestText(&ops[i])
	}
	return "{" + strings.Join(texts, "; ") + "}"
}

func watchesText(w *wire.Watches) string {
	text := fmt.Sprintf("since zxid %d", w.RelativeZxid)
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
