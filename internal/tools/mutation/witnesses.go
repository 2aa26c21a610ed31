package main

import (
	"context"
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
	locks     int
	dimension string // of the locks
}

func (w *witnesses) define() {
	flag.IntVar(&w.locks, "locks", 1000, "with -witnesses: number of random locks")
	flag.StringVar(&w.dimension, "dimension", "one server",
		"with -witnesses: dimension of the locks, as in internal/testkit/referee/dimensions.go")
}

// run looks for a witness of every selected defect.
func (w *witnesses) run(directory string, names *regexp.Regexp) error {
	defects, err := read(searchDefects)
	if err != nil {
		return err
	}
	defects = slices.DeleteFunc(defects, func(d defect) bool {
		return !names.MatchString(d.String())
	})
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

// find inserts the defect and returns the verdict on a lock that reveals it, and the lock.
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
		"-dimension="+w.dimension, fmt.Sprint("-locks=", w.locks), fmt.Sprint("-each=", w.locks))
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		return notFound
	}
	shrunk := firstMatch(`seed \d+, shrunk: .*\n.*`, output)
	if shrunk == "" {
		return fmt.Sprintf("WRONG: %v\n%s", err, output)
	}
	return shrunk
}
