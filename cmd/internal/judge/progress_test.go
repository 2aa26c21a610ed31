package judge

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// On a terminal progress overwrites one line; elsewhere it prints a line every two seconds.
func TestProgress(t *testing.T) {
	campaign := &campaign.Campaign{
		Scenario: scenarios.Scenario{
			Subject: subjects.Mutex(), Clients: 3, Cycles: 2,
			Faults: faults.Default(),
		},
		Schedules: 1000, Budget: 10 * time.Second,
	}
	tell := func(p *Progress) {
		for _, seconds := range []int{1, 2, 5, 6, 10} {
			p.Show(&report.Campaign{Histories: 3, Runs: report.Runs{
				Schedules: 50 * seconds, States: 7, Depth: 9,
				Elapsed: time.Duration(seconds) * time.Second,
			}})
		}
		p.Clear()
	}
	var plain, terminal strings.Builder
	p := NewProgress(&plain)
	p.Begin(campaign, "")
	tell(p)
	// After 5 s the budget ends before the schedules would, and at 10 s it is used up.
	want := "100 schedules, 50/s, 7 states, depth 9, 3 distinct histories, 0 faults injected, 8s " +
		"left\n" +
		"250 schedules, 50/s, 7 states, depth 9, 3 distinct histories, 0 faults injected, 5s " +
		"left\n" +
		"500 schedules, 50/s, 7 states, depth 9, 3 distinct histories, 0 faults injected, 0s left\n"
	if plain.String() != want {
		t.Errorf("plain: %q", plain.String())
	}
	tell(&Progress{w: &terminal, campaign: campaign, Terminal: true})
	lines := strings.Split(terminal.String(), "\r\x1b[K")
	if len(lines) != 7 || lines[0] != "" || lines[6] != "" ||
		!strings.HasPrefix(lines[1], "50 schedules, ") || len(lines[1]) != 79 {
		t.Errorf("terminal: %q", lines)
	}
}

func TestProgressLeft(t *testing.T) {
	for _, test := range []struct {
		schedules int
		budget    time.Duration
		ran       int
		left      time.Duration
		known     bool
	}{
		{schedules: 100, ran: 25, left: 6 * time.Second, known: true},
		{budget: 10 * time.Second, ran: 25, left: 8 * time.Second, known: true},
		{
			schedules: 100, budget: 10 * time.Second, ran: 80, left: 500 * time.Millisecond,
			known: true,
		},
		{schedules: 100, budget: 10 * time.Second, ran: 0, left: 8 * time.Second, known: true},
		{schedules: 100, ran: 0},
		{},
	} {
		p := &Progress{campaign: &campaign.Campaign{
			Schedules: test.schedules,
			Budget:    test.budget,
		}}
		left, known := p.remaining(&report.Runs{Schedules: test.ran, Elapsed: 2 * time.Second})
		if left != test.left || known != test.known {
			t.Errorf("%+v: %v, %v", test, left, known)
		}
	}
}
