package main

import (
	"fmt"
	"io"
	"iter"
	"math"
	"slices"

	"github.com/interlock-sim/interlock/internal/search/report"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/history/models"
	"github.com/interlock-sim/interlock/history/production"
)

// A judgement is the verdict of verify on a property or a model.
type judgement struct {
	Name      string         `json:"name"`
	Verdict   report.Verdict `json:"verdict"`
	Exercised int            `json:"exercised"`           // how often the history tests it
	Event     *int           `json:"event,omitempty"`     // the index of the violating event
	Signature string         `json:"signature,omitempty"` // the signature of the violation
	Detail    string         `json:"detail,omitempty"`
	Guarantee string         `json:"guarantee,omitempty"` // the broken guarantee of watches
	// all violations, with those above
	Violations []judgedViolation `json:"violations,omitempty"`

	violation *history.Violation
	all       []*history.Violation
}

// A judgedViolation is one of the violations of a judgement.
type judgedViolation struct {
	Event  int    `json:"event"` // its index
	Detail string `json:"detail"`
	// the names that recorders have given to its processes
	Processes []string `json:"processes,omitempty"`
}

// list prints all violations.
func (j *judgement) list(w io.Writer) {
	for _, v := range j.Violations {
		fmt.Fprintf(w, "  %-25sat event %d: %s\n", "", v.Event, v.Detail)
	}
}

// nameProcesses adds the names of processes to the violations.
func (j *judgement) nameProcesses(processes *production.Processes) {
	for i, v := range j.all {
		for _, number := range [...]int32{v.Evidence.Process, v.Evidence.Other} {
			if name := processes.Name(number); name != "" {
				j.Violations[i].Processes = append(j.Violations[i].Processes, name)
			}
		}
	}
}

// notJudged is the verdict on a property that cannot be judged without a common clock and the
// events of an ensemble.
const notJudged = "not judged within clocks"

// judge judges the properties and the models.
func (f *verifyFlags) judge(events []history.Event, properties []history.Property,
	clocks *production.Clocks,
) []judgement {
	locks := locksOf(events, clocks)
	var vacuity check.Vacuity
	for one := range locks {
		vacuity.Add(one.Events, history.Limits{Places: production.Places(one.Events)})
	}
	var judgements []judgement
	for _, property := range properties {
		j := judgement{
			Name: string(property), Verdict: report.Holds,
			Exercised: vacuity.Of(property),
		}
		switch {
		case clocks == nil:
			j = j.conclude(judgeInOrder(property, locks))
		case slices.Contains(production.WithinClocks, property):
			j = f.judgeWithin(j, property, events, clocks)
		default:
			j.Verdict = notJudged
		}
		judgements = append(judgements, j)
	}
	for _, m := range check.Models() {
		if slices.Contains(f.models, m.Name) {
			judgements = append(judgements, f.judgeModel(&m, locks))
		}
	}
	return judgements
}

// locksOf returns the history of each lock. A simulated run has one lock.
func locksOf(events []history.Event, clocks *production.Clocks) iter.Seq[*production.LockHistory] {
	if clocks == nil && opensSession(events) {
		one := &production.LockHistory{Events: events}
		return func(yield func(*production.LockHistory) bool) { yield(one) }
	}
	return production.ByLock(events)
}

// opensSession reports whether a history has events of an ensemble.
func opensSession(events []history.Event) bool {
	return slices.ContainsFunc(events,
		func(e history.Event) bool { return e.Kind == history.SessionOpened })
}

// judgeInOrder judges a property of each lock by the order of the events. It returns the first
// violation of each.
func judgeInOrder(property history.Property,
	locks iter.Seq[*production.LockHistory],
) (all []*history.Violation, decided bool) {
	var checker check.Checker
	decided = true
	for one := range locks {
		v := one.Judge(func(events []history.Event) *history.Violation {
			return checker.Check(property, events)
		})
		if v != nil {
			all = append(all, v)
			continue
		}
		decided = decided && (property != history.Linearizable || !checker.Undecided())
	}
	return all, decided
}

// judgeWithin judges a property within the uncertainty of the clocks. A violation that only a long
// pause explains is out of contract.
func (f *verifyFlags) judgeWithin(j judgement, property history.Property, events []history.Event,
	clocks *production.Clocks,
) judgement {
	limits := models.Limits{Time: f.limit}
	all, decided := production.AllWithin(property, events, *clocks, limits)
	j = j.conclude(all, decided)
	if len(all) > 0 || property != history.ClientMutualExclusion {
		return j
	}
	always := *clocks
	always.Pause = math.MaxInt64
	if all, _ := production.AllWithin(property, events, always, limits); len(all) > 0 {
		j.describe(all)
		j.Verdict = report.OutOfContract
	}
	return j
}

// judgeModel judges the history of each lock by a model.
func (f *verifyFlags) judgeModel(m *check.ModelOperations,
	locks iter.Seq[*production.LockHistory],
) judgement {
	j := judgement{Name: "model " + m.Name, Verdict: report.Holds}
	var all []*history.Violation
	decided := true
	for one := range locks {
		j.Exercised += len(m.Operations(one.Events))
		v := one.Judge(func(events []history.Event) *history.Violation {
			v, known := f.checkModel(m, events)
			decided = decided && known
			return v
		})
		if v != nil {
			all = append(all, v)
		}
	}
	return j.conclude(all, decided)
}

// checkModel checks the history of one lock against a model.
func (f *verifyFlags) checkModel(m *check.ModelOperations,
	events []history.Event,
) (v *history.Violation, decided bool) {
	if m.Besides != nil {
		v = m.Besides(events)
	}
	operations := m.Operations(events)
	verdict := models.Check(m.Model, operations, models.Limits{Time: f.limit})
	if verdict == models.Violated && v == nil {
		v = &history.Violation{
			Property: history.Property("model " + m.Name),
			Event:    len(events) - 1,
			Reason:   "no linearization of the operations satisfies the model",
			Detail:   fmt.Sprintf("%d operations", len(operations)),
		}
	}
	return v, verdict != models.Unknown
}

// conclude returns the judgement with the verdict of a check.
func (j judgement) conclude(all []*history.Violation, decided bool) judgement {
	switch {
	case len(all) > 0:
		j.Verdict, j.violation = report.Violated, all[0]
		j.describe(all)
	case !decided:
		j.Verdict = report.Unknown
	case j.Exercised == 0:
		j.Verdict = report.NotExercised
	}
	return j
}

// describe copies the descriptions of violations into the judgement.
func (j *judgement) describe(all []*history.Violation) {
	j.all = all
	v := all[0]
	j.Event, j.Signature, j.Detail = &v.Event, v.Signature(), v.Detail
	if v.Guarantee != nil {
		j.Guarantee = v.Guarantee.Error()
	}
	for _, v := range all {
		j.Violations = append(j.Violations, judgedViolation{Event: v.Event, Detail: v.Detail})
	}
}
