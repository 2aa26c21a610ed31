package lock

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A kind is the role of a contender in the queue.
type kind uint8

const (
	// it waits for everybody; its node's data change only when it unlocks
	exclusive kind = iota
	writer         // it waits for everybody, and can become shared
	shared         // it does not wait for others of its kind
	slot           // of a semaphore
	party          // of a barrier; it waits for enough of its kind
	kinds
)

// A contender's node is named "_c_" GUID infix number. The prefix is that of protected nodes in
// Curator and go-zookeeper/zk, the infix gives the kind, and ZooKeeper appends the number.
const (
	namePrefix = "_c_"
	guidLength = 32
)

var nameInfixes = [kinds]string{
	exclusive: "-lock-", writer: "-write-", shared: "-read-",
	slot: "-slot-", party: "-party-",
}

// isExclusive reports whether a contender of this kind holds the lock alone.
func (k kind) isExclusive() bool { return k == exclusive || k == writer }

// An entry is a contender in a listing.
type entry struct {
	name   string
	guid   guid
	kind   kind
	number int32
	czxid  int64 // 0 unless numbers do not give the order
}

// parseEntry parses the name of a node and reports whether it is a contender's. All other nodes in
// the directory are ignored.
func parseEntry(name string) (entry, bool) {
	rest, ok := strings.CutPrefix(name, namePrefix)
	if !ok || len(rest) < guidLength {
		return entry{}, false
	}
	id := guid(rest[:guidLength])
	for i := range len(id) {
		if c := id[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return entry{}, false
		}
	}
	for k, infix := range nameInfixes {
		digits, ok := strings.CutPrefix(rest[guidLength:], infix)
		if !ok {
			continue
		}
		number, err := strconv.ParseInt(digits, 10, 32)
		return entry{name: name, guid: id, kind: kind(k), number: int32(number)}, err == nil
	}
	return entry{}, false
}

// numbersOrdered reports whether the numbers of the entries give the order in which their nodes
// were created. They do not once the counter has overflowed: servers then repeat the last number,
// or return negative ones.
func numbersOrdered(entries []entry) bool {
	return !slices.ContainsFunc(entries, func(e entry) bool { return !isChildCount(e.number) })
}

// isChildCount reports whether the number of a node counts the children that its directory had
// before.
func isChildCount(number int32) bool { return number >= 0 && number < math.MaxInt32 }

// compareEntries compares two contenders by their order in the queue.
func compareEntries(a, b *entry) int {
	return cmp.Or(cmp.Compare(a.czxid, b.czxid), cmp.Compare(a.number, b.number),
		cmp.Compare(a.name, b.name))
}

func sortEntries(entries []entry) {
	slices.SortFunc(entries, func(a, b entry) int { return compareEntries(&a, &b) })
}
