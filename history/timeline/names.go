package timeline

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/interlock-sim/interlock/history"
)

// Names are short names of the znodes of a history, such as c1#0: the creator, and the number at
// the end of the name that the server assigned. In a directory with znodes of several kinds the
// kind comes first, as in READ/c1#0. A znode without such a number, or whose creator the history
// does not show, is named by the last element of its path. The zero value has no names.
type Names struct {
	short map[string]string // by path
	order []string          // the paths with a name that differs from theirs, in order of creation
	long  *strings.Replacer // from paths and last elements to names
}

// sequence matches the number of a sequential znode.
var sequence = regexp.MustCompile(`[0-9]{10}$`)

// Sequential reports whether a path ends with the number of a sequential znode.
func Sequential(node string) bool { return sequence.MatchString(node) }

// guid matches the unique part of a node's name, with or without dashes.
var guid = regexp.MustCompile(`(?i)[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}`)

// NewNames returns the names of the znodes that a history creates.
func NewNames(events []history.Event) *Names {
	n := &Names{short: make(map[string]string)}
	same := make(map[string][]string) // the znodes with a name
	severalKinds := mixed(events)
	for i := range events {
		e := &events[i]
		if e.Kind != history.NodeCreated || n.short[e.Path] != "" || e.Process == 0 {
			continue
		}
		number := sequence.FindString(e.Path)
		if number == "" {
			continue
		}
		if number = strings.TrimLeft(number, "0"); number == "" {
			number = "0"
		}
		name := history.ProcessName(e.Process) + "#" + number
		if severalKinds[path.Dir(e.Path)] && kind(e.Path) != "" {
			name = kind(e.Path) + "/" + name
		}
		n.short[e.Path] = name
		n.order = append(n.order, e.Path)
		same[name] = append(same[name], e.Path)
	}
	for name, paths := range same {
		if len(paths) > 1 {
			n.distinguish(name, paths)
		}
	}
	n.long = n.replacer()
	return n
}

// mixed returns the directories with sequential znodes of several kinds. A kind is no random part
// of a name, so several processes have created znodes of one kind there.
func mixed(events []history.Event) map[string]bool {
	creator, shared := make(map[[2]string]int32), make(map[string]bool)
	kinds := make(map[string]int)
	for i := range events {
		e := &events[i]
		if e.Kind != history.NodeCreated || !Sequential(e.Path) || kind(e.Path) == "" {
			continue
		}
		directory := path.Dir(e.Path)
		key := [2]string{directory, kind(e.Path)}
		if creator[key] == 0 {
			creator[key] = e.Process
			kinds[directory]++
		}
		shared[directory] = shared[directory] || creator[key] != e.Process
	}
	maps.DeleteFunc(shared, func(directory string, is bool) bool {
		return !is || kinds[directory] < 2
	})
	return shared
}

// kind returns the last word before the number of a znode, as READ or lock, without a GUID.
func kind(node string) string {
	return word.FindStringSubmatch(guid.ReplaceAllString(path.Base(node), ""))[1]
}

// distinguish puts before the common name of several znodes what tells them apart: their
// directories, or the order of creation.
func (n *Names) distinguish(name string, paths []string) {
	for _, prefix := range []func(int) string{
		func(i int) string { return path.Base(path.Dir(paths[i])) },
		func(i int) string { return fmt.Sprint(i + 1) },
	} {
		seen := make(map[string]bool)
		for i, p := range paths {
			n.short[p] = prefix(i) + "/" + name
			seen[prefix(i)] = true
		}
		if len(seen) == len(paths) {
			return
		}
	}
}

// word matches the last word of a name.
var word = regexp.MustCompile(`(\pL*)[^\pL/]*$`)

// replacer returns a replacer of paths, and of the last elements that are unlikely to be words.
func (n *Names) replacer() *strings.Replacer {
	var pairs []string
	for _, p := range n.order {
		pairs = append(pairs, p, n.short[p])
	}
	for _, p := range n.order {
		pairs = append(pairs, path.Base(p), n.short[p])
	}
	return strings.NewReplacer(pairs...)
}

// Of returns the short name of a znode.
func (n *Names) Of(znode string) string {
	if name := n.short[znode]; name != "" {
		return name
	}
	last := znode[strings.LastIndexByte(strings.TrimSuffix(znode, "/"), '/')+1:]
	if guid.MatchString(last) {
		return printable(guid.ReplaceAllStringFunc(last, func(id string) string {
			return id[:4] + "…"
		}))
	}
	if strings.Count(znode, "/") == 1 {
		last = znode
	}
	return printable(last)
}

// In returns a text with the znodes in it replaced by their short names.
func (n *Names) In(text string) string { return n.long.Replace(text) }

// Sorted returns paths in the order of the numbers at their end, those without a number last.
func Sorted(paths []string) []string {
	sorted := slices.Clone(paths)
	slices.SortStableFunc(sorted, func(a, b string) int {
		x, y := sequence.FindString(a), sequence.FindString(b)
		if x == "" || y == "" {
			return strings.Compare(y, x)
		}
		return strings.Compare(x, y)
	})
	return sorted
}

// printable replaces characters that would break the layout or control the terminal, because a
// history may have been read from a file.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '·'
		}
		return r
	}, text)
}
