package production

import (
	"fmt"

	"github.com/interlock-sim/interlock/history"
)

// Processes holds the names that recorders have given to processes. The zero value has none.
type Processes struct {
	names   map[int32]string
	numbers map[string][]int32
}

// processesMax is the highest number of a process in a history.
const processesMax = 10_000

// NumberProcesses numbers the processes of several histories, so that each Started event and the
// events after it in its history have a number of their own. Processes of histories without such
// an event keep their numbers. It returns new histories.
func NumberProcesses(logs ...*history.Log) ([]*history.Log, *Processes, error) {
	taken := make(map[int32]bool)
	for _, log := range logs {
		for i := range log.Events() {
			e := &log.Events()[i]
			if e.Kind == history.Started {
				break
			}
			process, _ := history.ProcessOf(e.Process)
			taken[process] = true
		}
	}
	numbered := make([]*history.Log, len(logs))
	p := &Processes{make(map[int32]string), make(map[string][]int32)}
	next := int32(0)
	for n, log := range logs {
		events, number := make([]history.Event, 0, log.Len()), int32(0)
		for _, e := range log.Events() {
			if e.Kind == history.Started {
				for next++; taken[next]; next++ {
				}
				number = next
				p.add(number, e.Name)
			}
			if number != 0 && e.Process != 0 {
				e.Process = number
			}
			events = append(events, e)
		}
		numbered[n] = history.NewLog(events)
	}
	if next > processesMax {
		return nil, nil, fmt.Errorf("the histories are of more than %d processes", processesMax)
	}
	return numbered, p, nil
}

func (p *Processes) add(number int32, name string) {
	if name != "" {
		p.names[number] = name
		p.numbers[name] = append(p.numbers[name], number)
	}
}

// Name returns the name of the process with the number, or of the process of a thread with the
// number. It returns "" if the process has none.
func (p *Processes) Name(number int32) string {
	process, _ := history.ProcessOf(number)
	return p.names[process]
}

// Find returns the numbers of the processes with the name. Otherwise c1 is process 1. It returns
// none if the name is neither.
func (p *Processes) Find(name string) []int32 {
	if numbers := p.numbers[name]; numbers != nil {
		return numbers
	}
	number, ok := history.ParseProcessName(name)
	if _, thread := history.ProcessOf(number); !ok || thread > 1 {
		return nil
	}
	return []int32{number}
}
