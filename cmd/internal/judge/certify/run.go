package certify

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/cmd/internal/judge"
	"github.com/interlock-sim/interlock/cmd/internal/judge/costs"
	"github.com/interlock-sim/interlock/cmd/internal/judge/reportcard"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/show/recording"
)

// A Runner runs plans.
type Runner struct {
	T        *testing.T
	Out      string // directory for counterexamples
	Progress *judge.Progress
	// Old, if set, is the certificate to compare with.
	Old *Certificate
}

// Run runs the plan. If the context ends, the certificate is partial. An error names the lock or
// the recording that could not be judged.
func (r *Runner) Run(ctx context.Context, p *Plan) (*Certificate, error) {
	c := &Certificate{
		Version: certificateVersion, Failures: []Failure{}, MustFail: []Replayed{},
		MustPass: []Replayed{}, Tests: []Tested{},
	}
	var err error
	if c.Versions, err = versions(); err != nil {
		return nil, err
	}
	if c.Sources, err = p.sources(ctx); err != nil {
		return nil, err
	}
	if err := r.search(ctx, p, c); err != nil {
		return nil, err
	}
	if c.Tests, err = r.test(ctx, p); err != nil {
		return nil, err
	}
	if c.MustFail, err = r.replayAll(ctx, p, mustFailKey); err != nil {
		return nil, err
	}
	if c.MustPass, err = r.replayAll(ctx, p, mustPassKey); err != nil {
		return nil, err
	}
	c.Partial = ctx.Err() != nil
	if r.Old != nil {
		c.Against = compare(r.Old, c)
	}
	c.judge(p)
	c.leaveOut()
	c.Hash = c.sum()
	return c, nil
}

// search runs the searches of the plan, and measures the locks.
func (r *Runner) search(ctx context.Context, p *Plan, c *Certificate) error {
	var rows []reportcard.Row
	for i := range p.Locks {
		g := &p.Locks[i]
		for n := range g.Names {
			row, err := g.row(n)
			if err != nil {
				return err
			}
			rows = append(rows, *row)
		}
	}
	searcher := &reportcard.Searcher{
		T: r.T, Seed: p.Seed, Out: r.Out, Progress: r.Progress, ClaimsOnly: true,
		Searched: func(row *reportcard.Row, of *campaign.Campaign, found report.Report) {
			c.lock(row.Subject.Name).cover(of, found)
			c.strike(found.Common().Coverage.ByName(of.FaultKinds()), of.NeverStruck(found))
		},
	}
	var err error
	if c.Card, err = searcher.Card(ctx, rows); err != nil {
		return err
	}
	nameCounterexamples(c.Card)
	for i := range rows {
		l := c.lock(rows[i].Subject.Name)
		if ctx.Err() != nil {
			return nil
		}
		if l.Cost, err = r.measure(&rows[i]); err != nil {
			l.Unmeasured = err.Error()
		}
	}
	return nil
}

// nameCounterexamples names the counterexamples of a card relative to the directory that has them,
// so that a certificate does not depend on that directory.
func nameCounterexamples(card *reportcard.Card) {
	for _, l := range card.Locks {
		for i := range l.Cells {
			for _, e := range l.Cells[i].Counterexamples {
				e.Recording = filepath.Base(e.Recording)
			}
		}
	}
}

// lock returns what is measured of a lock.
func (c *Certificate) lock(name string) *Lock {
	i := slices.IndexFunc(c.Locks, func(l *Lock) bool { return l.Name == name })
	if i < 0 {
		i = len(c.Locks)
		c.Locks = append(c.Locks, &Lock{Name: name, Measured: judge.NewMeasured()})
	}
	return c.Locks[i]
}

// cover adds what a sampled search covered: the faults that struck, the margins, the required cells
// in which no fault struck, and the sometimes conditions that it never reached.
func (l *Lock) cover(c *campaign.Campaign, found report.Report) {
	sampled, ok := found.(*report.Campaign)
	if !ok {
		return
	}
	for _, condition := range c.NeverReached(sampled) {
		l.NeverReached = append(l.NeverReached, fmt.Sprintf("%s, in %v", condition, &c.Scenario))
	}
	l.Add(sampled, faults.Phase.Key)
	for _, cell := range c.MissingCoverage(found) {
		l.Missing = append(l.Missing, fmt.Sprintf("%v in %v", cell, &c.Scenario))
	}
}

// measure measures the costs of a lock.
func (r *Runner) measure(row *reportcard.Row) (*Cost, error) {
	scenario, err := row.Scenario(&reportcard.Search{Faults: "none"})
	if err != nil {
		return nil, err
	}
	runner := engine.NewRunner(r.T)
	cycle, err := costs.Cycle(runner, *scenario)
	if err != nil {
		return nil, err
	}
	c := &Cost{Requests: cycle.Requests, RoundTrips: cycle.RoundTrips}
	if h, waited := costs.Release(runner, *scenario); waited {
		c.HandOff, c.HandOffRoundTrips = &h.Latency, &h.RoundTrips
	}
	if after := costs.Crash(runner, *scenario); after.Granted {
		c.Recovery = &after.Delay
	}
	return c, nil
}

// replayAll runs the recordings of a key of the plan again.
func (r *Runner) replayAll(ctx context.Context, p *Plan, key string) ([]Replayed, error) {
	names, err := p.recordings(key)
	if err != nil {
		return nil, err
	}
	began, all := time.Now(), []Replayed{}
	r.Progress.Begin(nil, "")
	for i, name := range names {
		if ctx.Err() != nil {
			break
		}
		path := p.File(name)
		sayReplayed(r.Progress, time.Since(began), i, len(names), path)
		one, err := r.replay(path)
		if err != nil {
			return nil, err
		}
		one.Recording = name
		all = append(all, *one)
	}
	return all, nil
}

// sayReplayed says at intervals how many of the recordings have been run again.
func sayReplayed(p *judge.Progress, elapsed time.Duration, replayed, total int, next string) {
	if p.Due(elapsed) {
		p.Say("replayed %d of %d recordings, next %s", replayed, total, next)
	}
}

// replay runs the recording in a file again. The result does not name the file.
func (r *Runner) replay(path string) (*Replayed, error) {
	recorded, err := recording.Read(path)
	if err != nil {
		return nil, err
	}
	subject, err := bundled.Named(recorded.Lock)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s and %s have recordings of bundled locks only; those "+
			"of your own are replayed by their tests", path, err, mustFailKey, mustPassKey)
	}
	scenario, err := recorded.Scenario(subject)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	result := engine.NewRunner(r.T).Run(scenario, &engine.Replay{Deviations: recorded.Deviations})
	shown := slices.ContainsFunc(result.Violations, func(v *history.Violation) bool {
		return recorded.Signature == "" || v.Signature() == recorded.Signature
	})
	return &Replayed{Lock: recorded.Lock, Signature: recorded.Signature, Shown: shown}, nil
}
