package reportcard

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/cmd/internal/judge"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/shrink"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
)

// A Searcher searches the locks of a card.
type Searcher struct {
	T    *testing.T
	Seed uint64
	// Schedules, if not 0, is the maximum for each search.
	Schedules int
	// Out is the directory for recordings. It is created if it does not exist.
	Out      string
	Progress *judge.Progress
	// ClaimsOnly leaves out the search for violations of what a lock does not claim.
	ClaimsOnly bool
	// Searched, if set, is called with the report of each search for violations of what the lock
	// claims, before its failures are shrunk. It must not keep the report.
	Searched func(*Row, *campaign.Campaign, report.Report)
}

// Card searches the rows and writes the recordings of the counterexamples. If the context ends, the
// card is partial. An error names the lock: it is nondeterministic, or a recording could not be
// written.
func (s *Searcher) Card(ctx context.Context, rows []Row) (*Card, error) {
	card := &Card{
		Version: cardVersion, Seed: s.Seed, Properties: properties(rows), Locks: []*Lock{},
	}
	for i := range rows {
		began, place := time.Now(), fmt.Sprintf("%d of %d  %s", i+1, len(rows),
			rows[i].Subject.Name)
		l, err := s.lock(ctx, &rows[i], card.Properties, place)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", rows[i].Subject.Name, err)
		}
		card.Locks = append(card.Locks, l)
		card.Partial = card.Partial || ctx.Err() != nil
		if len(l.Searches) > 0 {
			s.Progress.Say("%s: %d hold, %d violated, %.1f s", place, len(l.Kept()),
				len(l.Broken()), time.Since(began).Seconds())
		}
	}
	return card, nil
}

// Scenario returns the scenario of a search of the row's lock, or an error that says what the lock
// or its service lacks.
func (r *Row) Scenario(s *Search) (*scenarios.Scenario, error) {
	plan, err := faults.Parse(s.Faults)
	if err != nil {
		return nil, err
	}
	scenario := &scenarios.Scenario{
		Subject: r.Subject, Clients: cmp.Or(s.Clients, 3),
		Cycles: cmp.Or(s.Cycles, 2), Faults: plan, Servers: s.Servers,
	}
	if s.MaxPause > 0 {
		scenario.Severity = faults.DefaultSeverity()
		scenario.Severity.Pause = s.MaxPause
	}
	if r.Subject.Real {
		scenario.Client = scenarios.Real
	}
	return scenario, scenario.Validate()
}

// lock searches a row, whose place is that in the card.
func (s *Searcher) lock(ctx context.Context, row *Row, columns []Property, place string) (*Lock,
	error,
) {
	l := &Lock{
		Name: row.Subject.Name, Group: row.Group, Production: row.Production,
		Summary: row.Subject.Summary, Searches: []Searched{},
	}
	for _, p := range columns {
		l.Cells = append(l.Cells, Cell{Property: p.Name})
	}
	r := &rowSearch{
		Searcher: s, Lock: l, row: row, columns: columns, place: place,
		names: make(map[string]bool), evidence: make([]report.Evidence, len(l.Cells)),
	}
	for i := range row.Searches {
		if ctx.Err() != nil {
			break
		}
		if err := r.search(ctx, &row.Searches[i]); err != nil {
			return nil, err
		}
	}
	if len(row.Searches) > 0 && !s.ClaimsOnly && ctx.Err() == nil {
		if err := r.searchUnclaimed(ctx); err != nil {
			return nil, err
		}
	}
	for i := range l.Cells {
		cell, e := &l.Cells[i], &r.evidence[i]
		e.Claimed, e.Violated = r.claimed(cell.Property), len(cell.Counterexamples) > 0
		e.OutOfContract = cell.OutOfContract != nil
		e.Exercised = e.Exercised || cell.Exercised > 0
		if cell.Verdict = e.Verdict(); cell.Verdict != report.Holds {
			cell.Reach = ""
		}
	}
	return l, nil
}

// A rowSearch is the state of the searches of a lock.
type rowSearch struct {
	*Searcher
	*Lock
	row      *Row
	columns  []Property
	place    string
	names    map[string]bool   // of recordings
	evidence []report.Evidence // by cell, without violations
}

func (r *rowSearch) claimed(p history.Property) bool { return r.row.Subject.Claimed(p) }

// run runs a search of the lock, which may differ from that of the row in what it claims and
// distinguishes. If the search is exhaustive, run adds up what its schedules test.
func (r *rowSearch) run(ctx context.Context, s *Search, lock scenarios.Subject,
	tested *check.Vacuity,
) (*campaign.Campaign, report.Report, error) {
	scenario, err := r.row.Scenario(s)
	if err != nil {
		return nil, nil, err
	}
	scenario.Subject = lock
	c := &campaign.Campaign{
		Scenario: *scenario, Seed: r.Seed, Schedules: s.Schedules,
		Workers: runtime.GOMAXPROCS(0), KeepGoing: true,
	}
	if r.Schedules > 0 && (c.Schedules == 0 || c.Schedules > r.Schedules) {
		c.Schedules = r.Schedules
	}
	if scenario.Client == scenarios.Real || s.Exhaustive {
		c.Workers = 1
	}
	if s.Coverage != "" {
		c.RequiredCoverage, err = faults.ParseCoverageCells(s.Coverage, c.FaultKinds())
		if err != nil {
			return nil, nil, err
		}
	}
	search := &judge.Search{Campaign: c}
	if s.Exhaustive {
		limits := lock.EffectiveLimits()
		search.Exhaustive = &exhaustive.Search{
			Scenario: *scenario, FairSuffixes: true, Schedules: c.Schedules, KeepGoing: true,
			IdleTicks:   exhaustive.DefaultIdleTicks(scenario),
			MemoryLimit: exhaustive.DefaultMemoryLimit(),
			Each: func(result *engine.Result) {
				// The fair phase begins in every state, so runs to an end pass all states.
				if !result.Pruned {
					tested.Add(result.Events, limits)
				}
			},
		}
	}
	r.Progress.Begin(c, fmt.Sprintf("%s, faults %v: ", r.place, scenario.Faults))
	found := search.Run(ctx, r.T, r.Progress)
	if differs := found.Common().Nondeterministic; differs != nil {
		return nil, nil, differs
	}
	return c, found, nil
}

// search searches for violations of what the lock claims, and shrinks the first of each property.
func (r *rowSearch) search(ctx context.Context, s *Search) error {
	lock := r.row.Subject
	if r.row.ways != nil {
		lock.Distinguish = distinguish(r.row.ways)
	}
	var tested check.Vacuity
	c, found, err := r.run(ctx, s, lock, &tested)
	if err != nil {
		return err
	}
	r.Searches = append(r.Searches, searchedOf(c, found))
	if r.Searched != nil {
		r.Searched(r.row, c, found)
	}
	r.weigh(c.Scenario.String(), found, &tested)
	fresh := &report.Runs{
		Distinct: slices.DeleteFunc(firstOfEach(found.Common().Distinct), r.redundant),
	}
	begin := func(index int) {
		if r.Progress.Terminal {
			r.Progress.Shrinking(fresh, index)
		}
	}
	for group := range judge.Shrink(ctx, r.T, c, fresh, begin) {
		if group.Err != nil {
			return group.Err
		}
		if err := r.keep(group); err != nil {
			return err
		}
	}
	return nil
}

// weigh adds what a search shows of the properties that the lock claims, except the violations
// within the contract.
func (r *rowSearch) weigh(scenario string, found report.Report, tested *check.Vacuity) {
	runs := found.Common()
	all, isExhaustive := found.(*report.Exhaustive)
	for i := range r.Cells {
		cell, e := &r.Cells[i], &r.evidence[i]
		p := cell.Property
		if !r.claimed(p) {
			continue
		}
		e.Schedules += runs.Schedules
		e.Undecided = e.Undecided || p == history.Linearizable && runs.Unknown > 0
		if cell.OutOfContract == nil {
			cell.OutOfContract = outOfContract(p, scenario, runs)
		}
		switch {
		case !isExhaustive:
			cell.Exercised += found.Exercised(p)
		case found.Exercised(p)+tested.Of(p) > 0:
			e.Exercised = true
			if reach := all.Reach(p); reach != report.SchedulesRun {
				cell.Reach = reach
			}
		}
	}
}

// firstOfEach returns the first failure of each property, and of each way to break exclusion. It
// leaves out runs that break exclusion in several ways at once.
func firstOfEach(failures report.DistinctFailures) report.DistinctFailures {
	var first report.DistinctFailures
	for _, f := range failures {
		_, way := cutWay(f.Signature)
		if !strings.Contains(way, waySeparator) &&
			!slices.ContainsFunc(first, func(other report.DistinctFailure) bool {
				_, otherWay := cutWay(other.Signature)
				return other.Property == f.Property && otherWay == way
			}) {
			f.Candidates = nil // One counterexample of each is enough, whatever its cause.
			first = append(first, f)
		}
	}
	return first
}

// redundant reports whether a failure needs no counterexample, because its cell has one that breaks
// the property in the same way. Of a lock without known ways, each fault counts as one.
func (r *rowSearch) redundant(f report.DistinctFailure) bool {
	signature, way := cutWay(f.Signature)
	return r.row.ways != nil && r.has(f.Property, &Counterexample{Signature: signature, Way: way})
}

const (
	wayPrefix    = "by way of " // begins the part of a signature that names ways
	waySeparator = "; "
)

// distinguish returns a function that tells violations of exclusion apart by their ways.
func distinguish(ways func([]history.Event) []string) func(*history.Violation,
	[]history.Event) string {
	return func(v *history.Violation, events []history.Event) string {
		if !slices.Contains(exclusion, v.Property) {
			return ""
		}
		names := ways(events)
		if len(names) == 0 {
			return ""
		}
		return wayPrefix + strings.Join(names, waySeparator)
	}
}

// cutWay returns a signature without the part that names ways, and that part.
func cutWay(signature string) (without, way string) {
	without, way, _ = strings.Cut(signature, ": "+wayPrefix)
	return without, way
}

func searchedOf(c *campaign.Campaign, found report.Report) Searched {
	runs := found.Common()
	s := Searched{
		Scenario: c.Scenario.String(), Schedules: runs.Schedules, Interrupted: runs.Interrupted,
	}
	schedules := fmt.Sprintf("%d schedules", runs.Schedules)
	e, ok := found.(*report.Exhaustive)
	if !ok {
		s.Scope = (&report.Scope{Scenario: &c.Scenario}).Sampled(schedules)
		return s
	}
	s.Exhaustive, s.Complete = true, e.Complete
	if s.Scope = e.Scope.String(); !e.Complete {
		s.Scope = e.Scope.Exhaustive(schedules + " of an incomplete exhaustive search")
	}
	return s
}

// keep adds a counterexample to the cells that it shows, and writes it, unless each of them has one
// with the same signature, way and faults.
func (r *rowSearch) keep(group *shrink.Group) error {
	c, err := plain(engine.NewRunner(r.T), group.Counterexample)
	if err != nil {
		return err
	}
	name := ""
	for _, f := range group.Failures {
		shown := &Counterexample{
			Scenario: c.Scenario.String(), Faults: c.Scenario.Faults.String(),
			Decisions: len(c.Recording.Deviations), TraceHash: c.Recording.TraceHash,
		}
		shown.Signature, shown.Way = cutWay(f.Signature)
		if why := c.Why(shown.Signature); why != nil {
			shown.Why = why.Text
		}
		if r.has(f.Property, shown) {
			continue
		}
		if name == "" {
			name = r.name(f.Property, shown.Faults)
		}
		shown.Recording = name
		cell := r.Cell(f.Property)
		cell.Counterexamples = append(cell.Counterexamples, shown)
	}
	if name == "" {
		return nil
	}
	if err := os.MkdirAll(r.Out, 0o755); err != nil {
		return err
	}
	return c.Recording.Write(name)
}

// plain returns a counterexample of the lock as others run it, which distinguishes no ways.
func plain(runner *engine.Runner, c *recording.Counterexample) (*recording.Counterexample, error) {
	if c.Scenario.Subject.Distinguish == nil {
		return c, nil
	}
	scenario := c.Scenario
	scenario.Subject.Distinguish = nil
	signature, _ := cutWay(c.Recording.Signature)
	return recording.NewCounterexample(runner, scenario, c.Recording.Deviations, signature,
		c.Recording.Seed, c.Recording.Schedule)
}

// exclusion are the properties of which one is violated if two processes hold the lock.
var exclusion = []history.Property{
	history.ServerMutualExclusion, history.ClientMutualExclusion, history.Linearizable,
}

// has reports whether the cell of a property has a counterexample that breaks it in the same way
// and, if the lock has no known ways, with the same faults.
func (r *rowSearch) has(p history.Property, shown *Counterexample) bool {
	return slices.ContainsFunc(r.Cell(p).Counterexamples, func(e *Counterexample) bool {
		return e.Signature == shown.Signature && e.Way == shown.Way &&
			(e.Faults == shown.Faults || r.row.ways != nil)
	})
}

// name returns the file of a new recording.
func (r *rowSearch) name(p history.Property, plan string) string {
	base := fmt.Sprintf("%s-%s-%s", r.Name, p, slug(plan))
	name := base
	for n := 2; r.names[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	r.names[name] = true
	return filepath.Join(r.Out, name+".json")
}

// searchUnclaimed searches for violations of what the lock does not claim. A lock that protects no
// resource gets one that checks nothing, and costs are judged as those of a queue.
func (r *rowSearch) searchUnclaimed(ctx context.Context) error {
	first := r.row.Searches[0]
	bound := unclaimedMax
	if r.row.Subject.Servers >= 3 {
		bound = unclaimedMaxServers
	}
	first.Exhaustive, first.Schedules = false, min(cmp.Or(first.Schedules, bound), bound)
	subject := r.row.Subject
	var unclaimed []history.Property
	for _, p := range r.columns {
		if !p.EveryLock && !subject.Claimed(p.Name) {
			unclaimed = append(unclaimed, p.Name)
		}
	}
	if len(unclaimed) == 0 {
		return nil
	}
	if subject.Guard == scenarios.NoResource {
		subject.Guard = scenarios.Unguarded
	}
	if slices.Contains(unclaimed, history.NoHerd) {
		listens := subject.Limits.Listens
		subject.Limits = history.DefaultLimits
		subject.Limits.Listens = listens
	}
	subject.Claims = unclaimed
	c, found, err := r.run(ctx, &first, subject, nil)
	if err != nil {
		return err
	}
	r.Unclaimed = new(searchedOf(c, found))
	for _, f := range firstOfEach(found.Common().Distinct) {
		if cell := r.Cell(f.Property); !r.claimed(f.Property) {
			cell.Refuted = &Refutation{f.Signature, f.Schedules, f.First.Schedule}
		}
	}
	return nil
}

// The bounds of the schedules of the search for violations of what a lock does not claim.
const (
	unclaimedMax        = 500
	unclaimedMaxServers = 200 // of a lock of three servers or more, whose schedules take longer
)

// outOfContract returns the first violation of the property out of contract in the runs of a
// scenario, or nil.
func outOfContract(p history.Property, scenario string, runs *report.Runs) *OutOfContract {
	for _, f := range runs.DistinctOutOfContract {
		if f.Property == p {
			signature, _ := cutWay(f.Signature)
			return &OutOfContract{scenario, Refutation{signature, f.Schedules, f.First.Schedule}}
		}
	}
	return nil
}
