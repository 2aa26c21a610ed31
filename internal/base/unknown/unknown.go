// Package unknown describes names that a user got wrong.
package unknown

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Name returns the error for a name that is none of the known ones. It suggests the most similar
// known names, or lists all if none is similar. Kind says what the name is of, such as "lock".
func Name[T ~string](kind, name string, known []T) error {
	texts := make([]string, len(known))
	for i, one := range known {
		texts[i] = string(one)
	}
	if like := Alike(name, texts); like != nil {
		return fmt.Errorf("unknown %s %q: did you mean %s?", kind, name,
			strings.Join(like, " or "))
	}
	return fmt.Errorf("unknown %s %q; known are %s", kind, name, strings.Join(texts, ", "))
}

// Alike returns the known names at the least edit distance from the name, and none if each one
// needs more than two edits or a third of its letters.
func Alike(name string, known []string) (like []string) {
	least := 2
	for _, one := range known {
		d := distance(name, one)
		if d > least || 3*d > utf8.RuneCountInString(one) {
			continue
		}
		if d < least {
			least, like = d, nil
		}
		like = append(like, one)
	}
	return like
}

// distance returns how many letters must be inserted, deleted, replaced or swapped with the next to
// turn one text into the other (optimal string alignment). It takes time proportional to the
// product of their lengths.
func distance(from, to string) int {
	a, b := []rune(from), []rune(to)
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(replaced, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
