package timeline

import (
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/cause"
)

// A Sentence describes an event in words.
type Sentence struct {
	Text   string
	Source string // the source line that sent its request, or ""
}

// Sentences describes the events of a history, in the words that a timeline uses.
func Sentences(events []history.Event) []Sentence {
	t := teller{cause.New(events), NewNames(events), make(map[string]bool)}
	all := make([]Sentence, len(events))
	for i := range events {
		all[i] = Sentence{printable(t.sentence(i)), t.source(i)}
	}
	return all
}
