package check

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// MarshalJSON writes the number of tests of each property.
func (x *Vacuity) MarshalJSON() ([]byte, error) {
	counts := make(map[history.Property]int)
	for i := range propertyTable {
		counts[propertyTable[i].name] = x.counts[i]
	}
	return json.Marshal(counts)
}

// UnmarshalJSON reads what MarshalJSON writes. It refuses other properties.
func (x *Vacuity) UnmarshalJSON(text []byte) error {
	var counts map[history.Property]int
	if err := json.Unmarshal(text, &counts); err != nil {
		return err
	}
	for p, count := range counts {
		i := slices.IndexFunc(propertyTable[:], func(row property) bool { return row.name == p })
		if i < 0 {
			return fmt.Errorf("unknown property %q", p)
		}
		x.counts[i] = count
	}
	return nil
}
