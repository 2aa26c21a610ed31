package recording

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/history/timeline"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/sim"
)

// ListDeviations lists deviations in lines, each with the first event of its step in parentheses if
// the result knows it. Ticks in a row share a line. The first tick, and the beginning of the fair
// phase, come with what they mean. Of many, it lists the first. The deviations are the run's.
func ListDeviations(r *engine.Result, deviations []engine.Deviation) string {
	var text strings.Builder
	glosses := map[sim.StepKind]string{
		sim.Tick: " (time passes until the next deadline)",
		sim.Fair: " (from here on no fault strikes, and the default policy decides)",
	}
	for i, lines := 0, 0; i < len(deviations); lines++ {
		if more := len(deviations) - i; lines == listedMax && more > 1 {
			fmt.Fprintf(&text, "  and %d more\n", more)
			break
		}
		first, ticks := deviations[i], 1
		for first.Step.Kind == sim.Tick && i+ticks < len(deviations) &&
			deviations[i+ticks].Step.Kind == sim.Tick {
			ticks++
		}
		gloss := glosses[first.Step.Kind]
		delete(glosses, first.Step.Kind)
		if ticks == 1 {
			fmt.Fprintf(&text, "  %s: %v%s\n",
				explain.StepName(r.Starts, len(r.Events), first.Index), first.Step, gloss)
		} else {
			text.WriteString(timeline.Wrap(listTicks(r, deviations[i:i+ticks])+gloss,
				explain.DescribedWidth, "  "))
		}
		i += ticks
	}
	return text.String()
}

// listedMax is how many lines of deviations are listed.
const listedMax = 50

// listTicks names several ticks.
func listTicks(r *engine.Result, deviations []engine.Deviation) string {
	var steps, events []int
	for _, d := range deviations {
		steps = append(steps, d.Index)
		if event, known := explain.FirstEvent(r.Starts, len(r.Events), d.Index); known {
			events = append(events, event)
		}
	}
	text := "steps " + numbers(steps)
	if len(events) == len(steps) {
		text += " (events " + numbers(events) + ")"
	}
	return text + ": tick"
}

// numbers lists ascending numbers, three or more in a row as a range: "1, 3 to 7 and 9".
func numbers(all []int) string {
	var parts []string
	for i := 0; i < len(all); {
		n := 1
		for i+n < len(all) && all[i+n] == all[i]+n {
			n++
		}
		if n < 3 {
			n = 1
			parts = append(parts, strconv.Itoa(all[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d to %d", all[i], all[i+n-1]))
		}
		i += n
	}
	if last := len(parts) - 1; last > 0 {
		return strings.Join(parts[:last], ", ") + " and " + parts[last]
	}
	return strings.Join(parts, "")
}
