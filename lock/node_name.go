package lock

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A kind is as what a contender stands in the queue.
type kind uint8

const (
	// it waits for everybody, and its node's data are changed when it gives the lock back, and
	// never else
	exclusive kind = iota
	writer         // it waits for everybody, and can become shared
	shared         // it does not wait for those of its kind
	slot           // of a semaphore
	kinds
)

// A contender's node is named "_c_" GUID infix number, and the infix tells the kind. The prefix is
// that of protected nodes in Curator and go-zookeeper/zk; the number is ZooKeeper's.
const (
	namePrefix = "_c_"
	guidLength = 32
)

var nameInfixes = [kinds]string{
	exclusive: "-lock-", writer: "-write-", shared: "-read-",
	slot: "-slot-",
}

// isExclusive tells whether one of this kind holds the lock isExclusive.
func (k kind) isExclusive() bool { return k == exclusive || k == writer }

// An entry is a contender as a listing shows it.
type entry struct {
	name   string
	guid   string
	kind   kind
	number int32
	czxid  int64 // only where numbers do not tell the order
}

// parseEntry takes a name apart, and tells whether it is that of a contender. Other nodes may well
// stand in the directory; they take no part.
func parseEntry(name string) (entry, bool) {
	rest, ok := strings.CutPrefix(name, namePrefix)
	if !ok || len(rest) < guidLength {
		return entry{}, false
	}
	guid := rest[:guidLength]
	for i := range len(guid) {
		if c := guid[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return entry{}, false
		}
	}
	for k, infix := range nameInfixes {
		digits, ok := strings.CutPrefix(rest[guidLength:], infix)
		if !ok {
			continue
		}
		number, err := strconv.ParseInt(digits, 10, 32)
		return entry{name: name, guid: guid, kind: kind(k), number: int32(number)}, err == nil
	}
	return entry{}, false
}

// numbersOrdered tells whether the numbers of the entries give the order in which their nodes were
// created. They do not once the counter has come to its end: then servers hand out the last number
// again, or negative ones.
func numbersOrdered(entries []entry) bool {
	return !slices.ContainsFunc(entries, func(e entry) bool { return !isChildCount(e.number) })
}

// isChildCount tells whether the number of a node is the count of those that its directory has
// had before.
func isChildCount(number int32) bool { return number >= 0 && number < math.MaxInt32 }

// compareEntries tells which of two contenders stands before the other.
func compareEntries(a, b *entry) int {
	return cmp.Or(cmp.Compare(a.czxid, b.czxid), cmp.Compare(a.number, b.number),
		cmp.Compare(a.name, b.name))
}

func sortEntries(entries []entry) {
	slices.SortFunc(entries, func(a, b entry) int { return compareEntries(&a, &b) })
}
