package tree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The names of the two nodes that a client creates below /zookeeper/quota and the path of a node to
// limit that node's subtree. A server keeps the subtree's size in the second one. Like a server
// without zookeeper.enforceQuota, a tree enforces no limit.
const (
	limitsName = "zookeeper_limits"
	statsName  = "zookeeper_stats"
)

// countCreated updates the quotas after a node has been created.
func (t *Tree) countCreated(path string, n *znode) {
	if t.hasNoQuotas() {
		return
	}
	if subtree, ok := strings.CutPrefix(path, quotaPath); ok {
		subtree, name := Parent(subtree), Name(subtree)
		if name == statsName && subtree != rootPath {
			nodes, bytes := t.sizeOf(subtree)
			t.setStats(path, sizeText(nodes, bytes))
		}
	}
	t.countSize(path, 1, len(n.data))
}

// hasNoQuotas reports whether no quota can exist, in constant time.
func (t *Tree) hasNoQuotas() bool { return len(t.systemNodes[quotaNode].children) == 0 }

// sizeOf returns the number of nodes in a subtree and the length of their data.
func (t *Tree) sizeOf(path string) (nodes, bytes int) {
	n := t.nodes[path]
	if n == nil {
		return 0, 0
	}
	nodes, bytes = 1, len(n.data)
	for _, name := range n.children {
		below, data := t.sizeOf(path + "/" + name)
		nodes, bytes = nodes+below, bytes+data
	}
	return nodes, bytes
}

// countSize adds to the size of the innermost subtree with limits that contains the path.
func (t *Tree) countSize(path string, nodes, bytes int) {
	if t.hasNoQuotas() {
		return
	}
	for ; path != rootPath; path = Parent(path) {
		if t.nodes[quotaPath+path+"/"+limitsName] == nil {
			continue
		}
		stats := quotaPath + path + "/" + statsName
		if n := t.nodes[stats]; n != nil {
			if text, ok := addToStats(string(n.data), nodes, bytes); ok {
				t.setStats(stats, text)
			}
		}
		return
	}
}

// setStats replaces the data of a node without a transaction: its version stays, and no watch
// fires.
func (t *Tree) setStats(path, text string) {
	t.logNode(path)
	n := t.nodes[path]
	n.data, n.stat.DataLength = []byte(text), int32(len(text))
}

func sizeText(nodes, bytes int) string { return fmt.Sprintf("count=%d,bytes=%d", nodes, bytes) }

// addToStats adds to the values count and bytes of a text, as ZooKeeper's StatsTrack does: a
// missing value is -1, and further values follow in the order of their names. It returns false for
// a text that makes a server fail.
func addToStats(text string, nodes, bytes int) (string, bool) {
	values := map[string]int{"count": -1, "bytes": -1}
	var further []string
	if strings.HasPrefix(text, ",") || strings.HasPrefix(text, ";") {
		return "", false
	}
	separates := func(r rune) bool { return r == ',' || r == ';' }
	for pair := range strings.FieldsFuncSeq(text, separates) {
		name, rest, found := strings.Cut(pair, "=")
		number, _, _ := strings.Cut(rest, "=")
		if found && number == "" && strings.Trim(rest, "=") != "" {
			number = "-1"
		}
		value, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return "", false
		}
		if _, known := values[name]; !known {
			further = append(further, name)
		}
		values[name] = int(value)
	}
	slices.Sort(further)
	text = sizeText(values["count"]+nodes, values["bytes"]+bytes)
	for i, name := range further {
		if i == 0 {
			text += "="
		}
		text += fmt.Sprintf(";%s=%d", name, values[name])
	}
	return text, true
}
