package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/search/strategy"
)

// newHelp returns the command help, which prints the help of another command or a topic.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND | TOPIC]",
		Short: "Show the help of a command or a topic",
		RunE: func(_ *cobra.Command, arguments []string) error {
			command, rest, err := root.Find(arguments)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return unknownCommand(command, rest)
			}
			command.InitDefaultHelpFlag()
			command.InitDefaultVersionFlag()
			return command.Help()
		},
	}
}

// newStrategiesTopic returns the help topic strategies. A command that runs nothing is a topic.
func newStrategiesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "strategies",
		Short: "How check chooses schedules",
		Long:  strategiesHelp(),
	}
}

// checkTopic returns an error if an argument follows a help topic: cobra ignores it.
func checkTopic(root *cobra.Command, arguments []string) (*cobra.Command, error) {
	command, rest, err := root.Find(arguments)
	if err != nil || !command.IsAdditionalHelpTopicCommand() {
		return command, nil
	}
	rest = slices.DeleteFunc(slices.Clone(rest),
		func(argument string) bool { return strings.HasPrefix(argument, "-") })
	return command, unknownCommand(command, rest)
}

// strategiesHelp returns the text of the topic.
func strategiesHelp() string {
	var text strings.Builder
	text.WriteString("The flag --strategy of interlock check says how schedules are chosen:\n\n")
	for _, name := range strategy.Names() {
		writeEntry(&text, name, strategy.Summary(name))
	}
	text.WriteString(exhaustiveHelp)
	return text.String()
}

// writeEntry writes a name and its description, wrapped at 80 columns.
func writeEntry(text *strings.Builder, name, description string) {
	line := fmt.Sprintf("  %-11s", name)
	for word := range strings.FieldsSeq(description) {
		if len(line)+1+len(word) > 80 {
			fmt.Fprintln(text, line)
			line = strings.Repeat(" ", 13)
		}
		line += " " + word
	}
	fmt.Fprintln(text, line)
}

const exhaustiveHelp = `  exhaustive  every schedule of the scenario, each state once

Except in an exhaustive search, faults and the passing of time are random.

Exhaustive search

Only --schedules, --budget and --states bound the search; --states bounds the
stored states and so its memory. It uses all processors and about 200 bytes of
memory per state. It ends before its memory exceeds the machine's, or
GOMEMLIMIT. docs/exploration.md gives its exact scope.

  --symmetry          treats processes that sent only syncs as interchangeable
  --fair-suffixes     checks liveness from every state, as if from there on no
                      fault struck and the order were fair; without it,
                      liveness is checked at the end of schedules only
  --idle-ticks N      lets time pass up to N times per schedule where nothing
                      waits for it, as while messages are in flight; by default
                      0, or 1 for locks on Redis and SQL, whose data expire
  --max-deviations N  runs only schedules that deviate from the default policy
                      at most N times, those with fewer deviations first; they
                      can be divided by --shard
  --bitstate MIB      notes visited states in that many MiB, and says how many
                      it is expected to omit; never complete
  --checkpoint FILE   resumes from FILE if it exists; the same program must have
                      written it. The search saves its progress there once a
                      minute, and when a bound or Ctrl-C ends it`

// newFaultsTopic returns the help topic faults.
func newFaultsTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "faults",
		Short: "Fault plans and the kinds of faults",
		Long:  faultsHelp(),
	}
}

// helpWidth is the number of columns to which generated help is wrapped.
const helpWidth = 80

func faultsHelp() string {
	var text strings.Builder
	text.WriteString(`The flag --faults of interlock check is a fault plan: which faults may
strike in a schedule, and how often. A plan is none, or default (any=2), or a
list such as expire=1,cut@hold=2 of

  KIND=N               at most N faults of the kind
  KIND@PHASE=N         only while the process is in the phase of the lock
  KIND:TARGET=N        only at the target
  KIND:TARGET@PHASE=N  both, as in kill-server:leader@hold=1
  KIND@INSTANT=N       only at the instant, also as KIND:TARGET@PHASE@INSTANT=N
  GROUP=N              at most N faults of the group, also GROUP@PHASE=N
  no:KIND              the groups leave the kind out, as in any=2,no:jump-clock

Phases: ` + strings.Join(faults.PhaseKeys(), ", ") + `.
Instants: ` + strings.Join(faults.InstantKeys(), ", ") + `.

Targets:

  a client  c1                    cut:c1=1
  a server  s2, leader, follower  kill-server:s2=1
  a link    both of its ends      unreachable:c1-leader=1,
                                  partition-link-oneway:s1-s3=1 (from s1 to s3)
            one of its ends       partition-link:leader=1

Each kind strikes one client, one server or one link:

`)
	width := 0
	for kind := range faults.Kinds {
		width = max(width, len(kind.String()))
	}
	for kind := range faults.Kinds {
		writeTerm(&text, width, kind.String(), kind.Meaning())
	}
	text.WriteString("\nA group stands for those of its kinds that the lock's service has:\n\n")
	for group := range faults.Groups {
		meaning := "any kind except " + strings.Join(namedOnly(), ", ")
		if group != faults.Any {
			meaning = group.Meaning() + ": " + strings.Join(coveredBy(group), ", ")
		}
		writeTerm(&text, width, group.String(), meaning)
	}
	text.WriteString(`
--max-pause, --clock-drift and --link-latency set the severity of pauses, clock
faults and slow links.
--require-coverage takes all, or a list of KIND and KIND@PHASE; the check fails
if one of them has never struck.`)
	return text.String()
}

// namedOnly returns the kinds of faults that "any" does not cover.
func namedOnly() (names []string) {
	for kind := range faults.Kinds {
		if !faults.Any.Covers(kind) {
			names = append(names, kind.String())
		}
	}
	return names
}

// coveredBy returns the kinds of faults that a group covers.
func coveredBy(group faults.Kind) (names []string) {
	for kind := range faults.Kinds {
		if group.Covers(kind) {
			names = append(names, kind.String())
		}
	}
	return names
}

// writeTerm writes a term and its description, which is wrapped with a hanging indent.
func writeTerm(text *strings.Builder, width int, term, description string) {
	fmt.Fprintf(text, "  %-*s ", width, term)
	column := width + 3
	for word := range strings.FieldsSeq(description) {
		if column+1+len(word) > helpWidth {
			fmt.Fprintf(text, "\n%*s", width+3, "")
			column = width + 3
		}
		text.WriteString(" " + word)
		column += 1 + len(word)
	}
	text.WriteByte('\n')
}
