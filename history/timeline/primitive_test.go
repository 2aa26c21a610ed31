package timeline_test

import (
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/timeline"
)

// A timeline of a barrier or an election says so, and does not reword errors.
func TestPrimitives(t *testing.T) {
	barrier := []history.Property{history.Progress, history.NoEarlyPass}
	for _, tc := range []struct {
		claims []history.Property
		shares bool
		want   string
	}{
		{history.FencedLock(), false, `c1 asks for the lock
c1 HAS THE LOCK, token 3
c2 asks for the lock (shared)
c2 HAS THE LOCK (shared), token 3
c1 is notified that it has lost the lock
c1 unlocks
c1's unlock fails: the lock was lost
has the lock`},
		{barrier, true, `c1 calls Lock at the barrier
c1 HAS SET THE BARRIER, token 3
c2 calls LockShared at the barrier
c2 PASSES THE BARRIER, token 3
c1 is notified that it has lost its place at the barrier
c1 calls Unlock
c1's Unlock fails: the lock was lost
has set or passed the barrier`},
		{barrier, false, `c1 calls Lock at the barrier
c1 PASSES THE BARRIER, token 3
c1 is notified that it has lost its place at the barrier
c1 calls Unlock
c1's Unlock fails: the lock was lost
has passed the barrier`},
		{append(history.FencedLock(), history.OneLeaderPerTerm), false, `c1 runs for leader
c1 LEADS, term 3
c1 is notified that it leads no more
c1 resigns
c1's resignation fails: the lock was lost
leads`},
	} {
		lines := timeline.Timeline{Width: 130, Of: timeline.PrimitiveOf(tc.claims, tc.shares)}
		for _, e := range []history.Event{
			{Kind: history.LockCall, Process: 1},
			{Kind: history.LockReturn, Process: 1, Zxid: 3},
			{Kind: history.LockCall, Process: 2, Op: history.SharedMode},
			{Kind: history.LockReturn, Process: 2, Op: history.SharedMode, Zxid: 3},
			{Kind: history.Lost, Process: 1},
			{Kind: history.UnlockCall, Process: 1},
			{Kind: history.UnlockReturn, Process: 1, Err: "the lock was lost"},
		} {
			if !e.Shared() || strings.Contains(tc.want, "c2") {
				lines.Events = append(lines.Events, e)
			}
		}
		text, err := written(lines.Write)
		if err != nil {
			t.Fatal(err)
		}
		for row := range strings.Lines(tc.want) {
			if row = strings.TrimSpace(row); !strings.Contains(text, "  "+row+"\n") &&
				!strings.Contains(text, "┃ "+row+", as far as it knows") {
				t.Errorf("%q: no row %q in\n%s", lines.Of, row, text)
			}
		}
	}
}
