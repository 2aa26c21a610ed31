package main

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// referee is the package whose test compares the exhaustive search with plain runs.
const referee = "cmd/internal/testkit/referee"

// witnessLimit bounds the search for a witness of one defect.
const witnessLimit = time.Hour

// A witnesses is a search for random locks that reveal the defects of the exhaustive search.
type witnesses struct {
	locks int // on one server
	each  int // of each other dimension
}

func (w *witnesses) define() {
	flag.IntVar(&w.locks, "locks", 1000, "with -witnesses: number of random locks on one server")
	flag.IntVar(&w.each, "each", 50,
		"with -witnesses: number of random locks of each other dimension")
}

// run looks for a witness of every selected defect.
func (w *witnesses) run(directory string, names *regexp.Regexp) error {
	defects, err := read(searchDefects)
	if err != nil {
		return err
	}
	defects = slices.DeleteFunc(defects, func(d defect) bool { return !names.MatchString(d.name) })
	found := 0
	for _, result := range each(directory, defects, w.find) {
		switch {
		case strings.HasPrefix(result, "WRONG"):
			return errors.New("the referee could not be run")
		case !strings.HasPrefix(result, notFound):
			found++
		}
	}
	fmt.Printf("%d of %d defects have a witness\n", found, len(defects))
	return nil
}

// find inserts the defect and returns what the referee reports of the first lock that reveals it.
func (w *witnesses) find(d defect, directory string) string {
	program, err := d.build(directory, "test", "-c", "./"+referee)
	if err != nil {
		return "WRONG: " + err.Error()
	}
	program, err = filepath.Abs(program)
	if err != nil {
		return "WRONG: " + err.Error()
	}
	output, err := commandIn(referee, witnessLimit, program, "-test.timeout=0",
		"-test.run=^TestSearchAgreesWithPlainRuns$", "-first",
		fmt.Sprint("-locks=", w.locks), fmt.Sprint("-each=", w.each))
	if err == nil {
		return fmt.Sprintf("%s by %d locks", notFound, w.locks)
	}
	return output
}
