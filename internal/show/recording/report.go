package recording

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/history/timeline"
	"github.com/interlock-sim/interlock/internal/run/engine"
)

// A reportedViolation is the form of a violation in report.json.
type reportedViolation struct {
	Property  history.Property `json:"property"`
	Signature string           `json:"signature"`
	Detail    string           `json:"detail"`
	Why       string           `json:"why"` // in words
	Event     int              `json:"event"`
	Evidence  history.Evidence `json:"evidence,omitzero"`

	Likelihood *explain.Likelihood `json:"likelihood,omitempty"`
}

// ReadReport reads the report of a counterexample from its directory: the history, and why it
// breaks properties, both as they were recorded.
func (r *Recording) ReadReport(directory string) (*explain.Report, error) {
	path := filepath.Join(directory, reportName)
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var reported struct {
		Scenario   string              `json:"scenario"`
		Primitive  timeline.Primitive  `json:"primitive"`
		Violations []reportedViolation `json:"violations"`
	}
	if err := json.Unmarshal(content, &reported); err != nil {
		return nil, fmt.Errorf("%s: %w", path, inTermsOfJSON(err))
	}
	events, err := r.readTrace(filepath.Join(directory, traceName))
	if err != nil {
		return nil, err
	}
	violations := make([]*history.Violation, len(reported.Violations))
	for i, v := range reported.Violations {
		violations[i] = &history.Violation{
			Property: v.Property, Event: v.Event, Detail: v.Detail, Evidence: v.Evidence,
			Reason: strings.TrimPrefix(v.Signature, string(v.Property)+": "),
		}
	}
	report := explain.NewReport(reported.Scenario, reported.Primitive, events, violations)
	for i, v := range reported.Violations {
		report.Whys[i].Text = v.Why
	}
	if len(violations) > 0 {
		report.Likelihood = reported.Violations[0].Likelihood
	}
	return report, nil
}

// readTrace reads the history of the recorded run.
func (r *Recording) readTrace(path string) ([]history.Event, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	log, err := history.Read(file)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case engine.TraceHash(log.Hash()) != r.TraceHash:
		return nil, fmt.Errorf("%s is not the history of the schedule: its trace hash is %v, "+
			"not %v", path, engine.TraceHash(log.Hash()), r.TraceHash)
	}
	return log.Events(), nil
}
