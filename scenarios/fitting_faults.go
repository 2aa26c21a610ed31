package scenarios

import (
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/sim"
)

// An UnfitFaultsError is the error of a scenario whose plan names a fault that cannot strike.
type UnfitFaultsError struct {
	error
	Needs faults.Need // what the scenario lacks, or ""
}

// lacks returns what the faults that the plan names need and the scenario does not have, or "".
func (s *Scenario) lacks() faults.Need {
	for k := range faults.Kinds {
		if s.Faults.Names(k) && !s.Has(k.Needs()) {
			return k.Needs()
		}
	}
	return ""
}

// faultsFit returns an error if the plan names a fault that cannot strike in the scenario.
func (s *Scenario) faultsFit() error {
	for k := range faults.Kinds {
		if s.Faults.Names(k) && !s.Has(k.Needs()) {
			return fmt.Errorf("the fault %v needs %s", k, k.Needs())
		}
		if s.Faults.Names(k) && !s.Subject.EffectiveService().Supports(k) {
			return fmt.Errorf("the service of the lock %s has no fault %v", s.Subject.Name, k)
		}
	}
	if aim, ok := s.Faults.TimedInstant(); ok {
		_, timers := s.Subject.EffectiveService().New().(sim.Timers)
		switch {
		case !timers:
			return fmt.Errorf("the fault %v cannot strike: the service of the lock %s has no "+
				"such timer", aim, s.Subject.Name)
		case aim.Instant == faults.BeforePing && s.Client != Model:
			return fmt.Errorf("the fault %v needs %s: another client keeps its own time", aim,
				faults.ModelClient)
		}
	}
	clients := s.Clients
	if s.Faults.Allows(faults.Restart) {
		clients = sim.ClientsMax // Processes that join have the next numbers.
	}
	for _, entry := range s.Faults.Entries() {
		if err := entry.Fits(clients, s.EffectiveServers()); err != nil {
			return err
		}
		if entry.Kind > faults.Any && !slices.ContainsFunc(s.FaultKinds(), entry.Kind.Covers) {
			return fmt.Errorf("no fault of the group %v can strike the lock %s", entry.Kind,
				s.Subject.Name)
		}
	}
	return nil
}

// Has reports whether the scenario has what a fault needs.
func (s *Scenario) Has(need faults.Need) bool {
	switch need {
	case faults.SeveralServers:
		return s.EffectiveServers() > 1
	case faults.ModelClient:
		return s.Client == Model
	case faults.RealClient:
		return s.Client.Library()
	}
	return true
}

// Strikes reports whether faults of the kind may strike.
func (s *Scenario) Strikes(kind faults.Kind) bool {
	return s.Faults.Allows(kind) && (s.Faults.Names(kind) || s.Has(kind.NeedsInAny())) &&
		s.Has(kind.Needs()) && s.Subject.EffectiveService().Supports(kind)
}

// FaultKinds returns the kinds of faults that may strike: the plan allows them and the scenario has
// what they need.
func (s *Scenario) FaultKinds() []faults.Kind {
	var kinds []faults.Kind
	for kind := range faults.Kinds {
		if s.Strikes(kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}
