package subjects

import (
	"slices"
	"strings"
)

// number returns the digits in which a sequential node's name ends. They compare as the numbers do, because they all
// have ten digits; the recipe knows nothing of numbers that have wrapped.
func number(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }

func sortByNumber(names []string) {
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(number(a), number(b)) })
}
