package conform

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// The facts on file are in Python notation, which the functions below produce.

// pyBool formats a boolean as True or False.
func pyBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// pyString formats a string in single quotes.
func pyString(s string) string {
	quoted := strconv.Quote(s)
	return "'" + quoted[1:len(quoted)-1] + "'"
}

// pyBytes formats bytes, or None for nil.
func pyBytes(b []byte) string {
	if b == nil {
		return "None"
	}
	return "b" + pyString(string(b))
}

// pyList formats items in brackets.
func pyList[T any](items []T, write func(T) string) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = write(item)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// pyEvents formats the types and paths of events.
func pyEvents(events []wire.Event) string {
	return pyList(events, func(e wire.Event) string {
		return fmt.Sprintf("(%d, %s)", e.Type, pyString(e.Path))
	})
}

// pyResults formats the results of a multi, or the code of a multi without results.
func pyResults(r reply) string {
	if r.err != nil || r.Code != wire.OK {
		return fmt.Sprintf("err %v bodylen %d", r, r.length)
	}
	return pyList(r.Results, pyResult)
}

// pyResult formats the type of a result and those of its fields that facts have.
func pyResult(r wire.Result) string {
	if r.Op == wire.OpError {
		return fmt.Sprintf("(%d, %d, %d)", r.Op, r.Code, r.Code)
	}
	text := fmt.Sprintf("(%d, 0", r.Op)
	for _, field := range operation.Of(r.Op).Result {
		switch field {
		case wire.FieldPath:
			text += ", " + pyString(r.Path)
		case wire.FieldStat:
			text += fmt.Sprintf(", %d", r.Stat.Version)
		}
	}
	return text + ")"
}
