package tcp

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/simzk"
)

// watches returns the member's data and existence watches, sorted by path. A real server reports no
// others either.
func (m *member) watches() []simzk.WatchInfo {
	return slices.DeleteFunc(m.server.cluster.WatchList(),
		func(w simzk.WatchInfo) bool { return w.Server != m.index || w.Children })
}

func writeWatchSummary(w *strings.Builder, m *member) {
	watches := m.watches()
	clients, paths := make(map[int64]bool), make(map[string]bool)
	for _, watch := range watches {
		clients[watch.Session], paths[watch.Path] = true, true
	}
	fmt.Fprintf(w, "%d connections watching %d paths\nTotal watches:%d\n", len(clients), len(paths),
		len(watches))
}

func writeWatchesByPath(w *strings.Builder, m *member) {
	last := ""
	for _, watch := range m.watches() {
		if watch.Path != last {
			fmt.Fprintf(w, "%s\n", watch.Path)
			last = watch.Path
		}
		fmt.Fprintf(w, "\t%s\n", hex(watch.Session))
	}
	w.WriteString("\n")
}

func writeWatchesByClient(w *strings.Builder, m *member) {
	watches := m.watches()
	slices.SortStableFunc(watches, func(a, b simzk.WatchInfo) int {
		return cmp.Compare(a.Session, b.Session)
	})
	for i, watch := range watches {
		if i == 0 || watch.Session != watches[i-1].Session {
			fmt.Fprintf(w, "%s\n", hex(watch.Session))
		}
		fmt.Fprintf(w, "\t%s\n", watch.Path)
	}
	w.WriteString("\n")
}
