package referee

import (
	"encoding/json"
	"maps"
	"slices"
)

// Shrink returns a lock with the same verdict, each of whose reductions has another verdict.
func (r *Referee) Shrink(l *Lock, verdict Verdict) *Lock {
	for smaller := l; smaller != nil; {
		l, smaller = smaller, nil
		for _, candidate := range l.reductions() {
			if r.Judge(candidate).Verdict == verdict {
				smaller = candidate
				break
			}
		}
	}
	return l
}

// reductions returns the locks whose JSON lacks one element: an operation, a reaction, a client.
func (l *Lock) reductions() (smaller []*Lock) {
	var whole map[string]any
	if err := json.Unmarshal([]byte(l.String()), &whole); err != nil {
		panic(err) // impossible: it is the text of an object
	}
	keep := func(reduced any) {
		whole := reduced.(map[string]any)
		for _, needed := range []string{"clients", "cycles"} {
			if n, ok := whole[needed].(float64); !ok || n < 1 {
				return
			}
		}
		text, err := json.Marshal(whole)
		if err != nil {
			panic(err) // impossible: it was decoded from JSON
		}
		var c Lock
		if json.Unmarshal(text, &c) == nil && len(c.Programs) > 0 {
			c.breakingWalk = l.breakingWalk
			smaller = append(smaller, &c)
		}
	}
	reduce(whole, keep)
	return smaller
}

// fixed are the fields that no reduction removes.
var fixed = []string{"dimension", "claim", "service", "search", "do", "places", "threads"}

// reduce calls the function with each value that lacks one element, or has a smaller number.
func reduce(value any, keep func(any)) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if slices.Contains(fixed, name) {
				continue
			}
			with := func(part any) {
				changed := maps.Clone(value)
				changed[name] = part
				keep(changed)
			}
			if name == "faults" {
				if value[name] != "none" {
					with("none")
				}
				continue
			}
			without := maps.Clone(value)
			delete(without, name)
			keep(without)
			reduce(value[name], with)
		}
	case []any:
		for i := range value {
			keep(slices.Delete(slices.Clone(value), i, i+1))
			reduce(value[i], func(part any) {
				changed := slices.Clone(value)
				changed[i] = part
				keep(changed)
			})
		}
	case float64:
		if value > 1 {
			keep(value - 1)
		}
	}
}
