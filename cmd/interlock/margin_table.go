package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/search/report"
)

// lockColumn is the width of the column of names of locks.
const lockColumn = 20

// writeMarginTable writes the smallest margins of several locks in seconds, and a dash for a margin
// that no schedule of the lock has measured. If there is none at all, it writes nothing.
func writeMarginTable(w io.Writer, checked []*checkedLock) {
	if !slices.ContainsFunc(checked, func(one *checkedLock) bool {
		return one.margins != check.Margins{}
	}) {
		return
	}
	fmt.Fprintf(w, "\n%-*s", lockColumn, "smallest margin (s)")
	for _, name := range check.MarginNames {
		fmt.Fprintf(w, "  %s", name)
	}
	fmt.Fprintln(w)
	for _, one := range checked {
		fmt.Fprintf(w, "%-*s", lockColumn, one.report.Lock)
		for i, name := range check.MarginNames {
			seconds := "-"
			if m := &one.margins[i]; m.Times > 0 {
				seconds = report.MarginSeconds(m.Smallest)
			}
			fmt.Fprintf(w, "  %*s", len(name), seconds)
		}
		fmt.Fprintln(w)
	}
}
