package conform

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// The facts on file are written in Python's notation, which the functions here produce.

// truth writes True or False.
func truth(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// quote writes a string in single quotes.
func quote(s string) string {
	quoted := strconv.Quote(s)
	return "'" + quoted[1:len(quoted)-1] + "'"
}

// quoteBytes writes what was read from a connection, or null data.
func quoteBytes(b []byte) string {
	if b == nil {
		return "None"
	}
	return "b" + quote(string(b))
}

// list writes items in brackets.
func list[T any](items []T, write func(T) string) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = write(item)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// eventList writes the type and the path of events.
func eventList(events []wire.Event) string {
	return list(events, func(e wire.Event) string {
		return fmt.Sprintf("(%d, %s)", e.Type,
			quote(e.Path))
	})
}

// resultList writes the results of a multi, or the code of one that was refused as a whole.
func resultList(r reply) string {
	if r.err != nil || r.Code != wire.OK {
		return fmt.Sprintf("err %v bodylen %d", r, r.length)
	}
	return list(r.Results, resultText)
}

func resultText(r wire.Result) string {
	switch r.Op {
	case wire.OpCreate:
		return fmt.Sprintf("(%d, 0, %s)", r.Op, quote(r.Path))
	case wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		return fmt.Sprintf("(%d, 0, %s, %d)", r.Op, quote(r.Path), r.Stat.Version)
	case wire.OpSetData:
		return fmt.Sprintf("(%d, 0, %d)", r.Op, r.Stat.Version)
	case wire.OpError:
		return fmt.Sprintf("(%d, %d, %d)", r.Op, r.Code, r.Code)
	}
	return fmt.Sprintf("(%d, 0)", r.Op)
}
