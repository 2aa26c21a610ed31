package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/cmd/internal/yamlfile"
	"github.com/interlock-sim/interlock/faults"
)

// A huntPlan declares what to hunt.
type huntPlan struct {
	Locks []huntGroup `yaml:"locks"`

	file *yamlfile.File // nil if the flags are the plan
}

// A huntGroup is a set of locks that are hunted in the same way. What is not nil is fixed in all
// configurations.
type huntGroup struct {
	// Names are those of the locks; all stands for all locks that the plan does not name.
	Names    []string       `yaml:"names"`
	Weight   *int           `yaml:"weight"` // to that of other locks; 1 if nil
	Clients  *int           `yaml:"clients"`
	Cycles   *int           `yaml:"cycles"`
	Servers  *int           `yaml:"servers"`
	Faults   *string        `yaml:"faults"`
	MaxPause *time.Duration `yaml:"max_pause"`
}

// huntWeightMax bounds the weights of a plan.
const huntWeightMax = 1000

// readHuntPlan reads a plan. The error names the file and the line.
func readHuntPlan(path string) (*huntPlan, error) {
	p := new(huntPlan)
	var err error
	if p.file, err = yamlfile.Read(path, p, "locks"); err != nil {
		return nil, err
	}
	if len(p.Locks) == 0 {
		return nil, p.file.At(errors.New("the plan needs locks"))
	}
	for i := range p.Locks {
		g := &p.Locks[i]
		switch {
		case len(g.Names) == 0:
			return nil, p.file.At(errors.New("locks need names"), "locks", i)
		case g.Weight != nil && (*g.Weight < 1 || *g.Weight > huntWeightMax):
			return nil, p.file.At(fmt.Errorf("weight must be from 1 to %d, not %d", huntWeightMax,
				*g.Weight), "locks", i, "weight")
		}
		if g.MaxPause != nil {
			severity := faults.DefaultSeverity()
			severity.Pause = *g.MaxPause
			if err := severity.Validate(); err != nil {
				return nil, p.file.At(err, "locks", i, "max_pause")
			}
		}
		for n, name := range g.Names {
			if _, err := bundled.Named(name); err != nil && name != allLocks {
				return nil, p.file.At(err, "locks", i, "names", n)
			}
		}
	}
	return p, nil
}

// named returns an error about the name of a lock.
func (p *huntPlan) named(err error, group, name int) error {
	if p.file == nil {
		return fmt.Errorf("--lock: %w", err)
	}
	return p.file.At(err, "locks", group, "names", name)
}

// fixed returns an error of a flag of check, as an error of what a group fixes.
func (p *huntPlan) fixed(err error, group int) error {
	if p.file == nil {
		return err
	}
	text := strings.ReplaceAll(strings.TrimPrefix(err.Error(), "--"), "(see --", "(see ")
	flag := text[:max(0, strings.IndexAny(text, " :"))]
	key := strings.ReplaceAll(flag, "-", "_")
	return p.file.At(errors.New(key+text[len(flag):]), "locks", group, key)
}

// fix sets the flags of check that the group fixes, and returns which.
func (g *huntGroup) fix(check *checkFlags) map[string]bool {
	given := make(map[string]bool)
	for name, number := range map[string]struct{ flag, value *int }{
		"clients": {&check.clients, g.Clients},
		"cycles":  {&check.cycles, g.Cycles},
		"servers": {&check.servers, g.Servers},
	} {
		if number.value != nil {
			*number.flag, given[name] = *number.value, true
		}
	}
	if g.Faults != nil {
		check.faults, given["faults"] = *g.Faults, true
	}
	if g.MaxPause != nil {
		check.severity.Pause, given["max-pause"] = *g.MaxPause, true
	}
	return given
}
