package explain

import "github.com/interlock-sim/interlock/history"

// Generated returns the properties with a generator.
func Generated() []history.Property {
	var all []history.Property
	for p := range generators {
		all = append(all, p)
	}
	return all
}
