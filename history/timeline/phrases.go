package timeline

import "github.com/interlock-sim/interlock/history/cause"

// Phrases describe the events of a history as a timeline does, for other forms of a timeline.
type Phrases struct{ teller teller }

// NewPhrases returns the phrases of a history.
func NewPhrases(graph *cause.Graph, names *Names, of Primitive) *Phrases {
	return &Phrases{teller{graph, names, of, make(map[string]bool)}}
}

// Event describes an event in words. The text has printable characters only.
func (p *Phrases) Event(event int) string { return printable(p.teller.sentence(event)) }

// Source returns the source line that sent the request of an event, such as recipe.go:439, or "" if
// it is unknown.
func (p *Phrases) Source(event int) string { return p.teller.source(event) }
