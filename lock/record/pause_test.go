package record

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A recorder that had no sign of life records a pause, before any later event.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var history bytes.Buffer
		r := New(&history, "billing-1")
		time.Sleep(time.Second) // The recorder goes on.
		r.mu.Lock()
		r.alive -= int64(late) + 1 // as if it had not run
		r.write(event{At: r.time(), Kind: "lock-call", Attempt: 1})
		r.mu.Unlock()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for line := range strings.Lines(history.String()) {
			_, kind, _ := strings.Cut(line, `"kind":"`)
			kinds = append(kinds, kind[:strings.IndexByte(kind, '"')])
		}
		if got := strings.Join(kinds, " "); got != "started fault resumed lock-call" {
			t.Errorf("recorded %s", got)
		}
	})
}
