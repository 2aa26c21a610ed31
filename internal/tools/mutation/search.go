package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/internal/base/file"
)

// searchedLocks are the bundled locks that are built on package lock.
var searchedLocks = [...]string{
	"mutex", "rwmutex", "semaphore", "trylock", "reentrant", "multi", "guarded", "session",
	"no-deadline", "deadline-retry", "pair", "sequence-overflow", "prefixed",
	"refused",
	"readers-writers", "semaphore-3", "election", "double-barrier", "barrier",
}

// A search is a search for the published defects with interlock check, which gets nothing but the
// name of a lock, the number of schedules and the seed. It checks every lock with a few schedules,
// then every lock with more of them and another seed, and so on. The schedules of a sweep do not
// depend on the speed of the machine. The seed of a check is the number of its sweep.
type search struct {
	budget time.Duration // maximum processor time of the checks for a defect; 0 for no bound
	sweeps int           // maximum, 0 for no bound
	quick  bool          // only the defects that are marked quick, in one sweep
	least  int           // that must be found for the search to pass; all if quick
	json   string        // file for the results; none if empty
}

// An outcome is the result of the search for a defect, in the JSON of -json.
type outcome struct {
	Defect string `json:"defect"`
	Found  bool   `json:"found"`
	Result string `json:"result"` // how, or after how many schedules the search gave up
}

// hangTime is the processor time after which a check that exceeds its limit counts as a hang. Other
// checks of a first sweep take a few seconds.
const hangTime = 30 * time.Second

// The schedules of a check in the first sweep, and the factor from one sweep to the next.
const (
	sweepSchedules = 1000
	sweepGrowth    = 4
)

// define defines the flags of a search.
func (s *search) define() {
	flag.DurationVar(&s.budget, "budget", time.Minute, "with -search: processor time per defect")
	flag.IntVar(&s.sweeps, "sweeps", 0, "with -search: maximum number of sweeps, 0 for unlimited")
	flag.IntVar(&s.least, "least", 0, "with -search: number of defects that must be found")
	flag.BoolVar(&s.quick, "quick", false,
		"with -search: one sweep for the defects marked quick, which must all be found")
	flag.StringVar(&s.json, "json", "", "with -search: file to which to write the results")
}

// run searches for every selected published defect.
func (s *search) run(directory string, names *regexp.Regexp) error {
	defects, err := read(lockDefects)
	if err != nil {
		return err
	}
	defects = slices.DeleteFunc(defects, func(d defect) bool {
		return !strings.HasPrefix(d.name, "TestDefects/") || d.kind == "control" ||
			!names.MatchString(d.String()) || s.quick && !d.quick
	})
	if !s.quick {
		if err := s.control(directory); err != nil {
			return err
		}
	}
	found, outcomes := 0, make([]outcome, 0, len(defects))
	for d, result := range each(directory, defects, s.find) {
		if strings.HasPrefix(result, "WRONG") {
			return errors.New("a search could not be run")
		}
		o := outcome{
			Defect: strings.TrimPrefix(d.name, "TestDefects/"),
			Found:  !strings.HasPrefix(result, notFound), Result: result,
		}
		if o.Found {
			found++
		}
		outcomes = append(outcomes, o)
	}
	if err := s.write(outcomes); err != nil {
		return err
	}
	fmt.Printf("%d of %d defects found by interlock check\n", found, len(defects))
	least := s.least
	if s.quick {
		least = len(defects)
	}
	if found < least || len(defects) == 0 {
		return fmt.Errorf("too few defects were found: %d, want at least %d", found, max(1, least))
	}
	return nil
}

// control returns an error if the first sweep finds a defect in the locks as they are: it would
// count for every defect that is not found before.
func (s *search) control(directory string) error {
	once := search{sweeps: 1}
	how := once.find(defect{}, filepath.Join(directory, "control"))
	if !strings.HasPrefix(how, notFound) {
		return fmt.Errorf("a lock without a defect: %s", how)
	}
	return nil
}

// write writes the outcomes to the file of -json, if there is one.
func (s *search) write(outcomes []outcome) error {
	if s.json == "" {
		return nil
	}
	return file.WriteJSON(s.json, outcomes)
}

// notFound begins the result of a search that finds no violation.
const notFound = "not found"

// find inserts the defect and describes how interlock check finds it. A panic and a hang count as
// found, and nothing does beyond the budget.
func (s *search) find(d defect, directory string) string {
	// The binaries and counterexamples of all defects together would take gigabytes.
	defer os.RemoveAll(directory)
	program, err := d.build(directory, "build", "./cmd/interlock")
	if err != nil {
		return "WRONG: " + err.Error()
	}
	var spent time.Duration
	ran, schedules, sweeps := 0, sweepSchedules, s.sweeps
	if s.quick {
		sweeps = 1
	}
	for sweep := 1; sweeps == 0 || sweep <= sweeps; sweep++ {
		for _, lock := range searchedLocks {
			if s.budget > 0 && spent >= s.budget {
				return fmt.Sprintf("%s in %d schedules, %.1f s", notFound, ran, spent.Seconds())
			}
			arguments := []string{
				"check", "--workers=1", "--quiet", "--lock=" + lock,
				"--seed=" + strconv.Itoa(sweep),
				"--schedules=" + strconv.Itoa(schedules), "--budget=" + commandLimit.String(),
			}
			output, used, err := measured(directory, program, arguments...)
			if why := cutShort(used, err); why != "" {
				return "WRONG: " + why
			}
			spent += used
			if how := finding(output, err); how != "" {
				how = fmt.Sprintf("%s, %s, sweep %d%s, %.1f s", how, lock, sweep,
					place(output, ran), spent.Seconds())
				if s.budget > 0 && spent > s.budget {
					how = notFound + " in time: " + how
				}
				return how
			}
			ran += schedules
		}
		schedules *= sweepGrowth
	}
	return fmt.Sprintf("%s in %d schedules, %.1f s", notFound, ran, spent.Seconds())
}

// place says in which schedule a check has found a defect, by the number that the check prints, and
// how many schedules ran before: those of earlier checks, and those of this one. A check that hangs
// prints no number, so only those of earlier checks count.
func place(output string, earlier int) string {
	number, err := strconv.Atoi(firstMatch(`found in schedule (\d+)`, output))
	if err != nil {
		return fmt.Sprintf(", after %d schedules of earlier checks", earlier)
	}
	return fmt.Sprintf(", schedule %d, after %d schedules", number, earlier+number)
}

// cutShort returns why a check shows nothing: something else ended it, or the machine was too busy
// to tell a hang from a slow check. It returns "" for a check that counts.
func cutShort(used time.Duration, err error) string {
	var exit *exec.ExitError
	switch {
	case errors.Is(err, context.DeadlineExceeded) && used < hangTime:
		return fmt.Sprintf("only %.1f s of processor time in %v", used.Seconds(), commandLimit)
	case errors.As(err, &exit) && !exit.Exited():
		return "a check was killed: " + exit.Error()
	}
	return ""
}

// finding says in which way a check has found a defect, and "" if it has found nothing.
func finding(output string, err error) string {
	var exit *exec.ExitError
	switch violated := firstMatch(`\nVIOLATION ([a-z-]+)`, output); {
	case violated != "":
		return "violates " + violated
	case strings.Contains("\n"+output, "\npanic: "):
		return "panics"
	case err != nil && !errors.As(err, &exit):
		return "hangs"
	case err != nil:
		return "fails: " + output[strings.LastIndexByte(strings.TrimSpace(output), '\n')+1:]
	}
	return ""
}

// measured runs a program and returns its output and processor time.
func measured(directory, program string, arguments ...string) (string, time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	defer cancel()
	c := exec.CommandContext(ctx, program, arguments...)
	c.Dir = directory
	var output bytes.Buffer
	c.Stdout, c.Stderr = &output, &output
	err := c.Run()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return output.String(), c.ProcessState.UserTime() + c.ProcessState.SystemTime(), err
}
