package guarantee

import "errors"

// The guarantees of etcd's watches, as the validators of its robustness tests name and quote them,
// and their counterparts for ZooKeeper's watches, which fire once, carry no data and belong to a
// connection. A [history.Violation] of [history.NoLostWatch] has one of them as its Guarantee.
//
// Sources: etcd API guarantees, https://etcd.io/docs/v3.5/learning/api_guarantees/, and etcd's
// tests/robustness/validate; the ZooKeeper Programmer's Guide, What ZooKeeper Guarantees about
// Watches.
var (
	ErrOrdered = errors.New(`broke Ordered: "events are ordered by revision"; ` +
		`the events of a connection come in the order of the transactions that caused them`)
	ErrUnique = errors.New(`broke Unique: "an event will never appear on a watch twice"; ` +
		`a watch fires once, and its event is delivered once`)
	ErrAtomic = errors.New(`broke Atomic: "updates in the same revision over multiple keys ` +
		`will not be split over several lists of events"; ` +
		`a transaction fires all watches that it concerns before anything else happens`)
	ErrReliable = errors.New(`broke Reliable: "a sequence of events will never drop ` +
		`any subsequence of events"; ` +
		`a change fires the watches on it, and their events arrive`)
	ErrResumable = errors.New(`broke Resumable: "a broken watch can be resumed"; ` +
		`a watch that ends with its connection is set again, or its owner is notified, ` +
		`and it does not fire before`)
	ErrBookmarkable = errors.New(`broke Bookmarkable: "all events up to a revision have been ` +
		`already delivered"; ` +
		`a reply comes after the events of all older changes`)
	ErrPrevKV = errors.New(`broke PrevKV: an event reports the true state before it; ` +
		`an event belongs to a watch that has fired`)
	ErrIsCreate = errors.New(`broke IsCreate: an event distinguishes a creation from a change; ` +
		`an event's type is the change of the node`)
	ErrFilter = errors.New(`broke Filter: a watch reports only what it was set for; ` +
		`a watch fires for its node and its kind of change only`)
)

// guaranteeOf maps the reasons of [NoLostWatch] to the guarantees that they break.
var guaranteeOf = map[string]error{
	ReasonNeverArmed: ErrFilter, ReasonFiredUncaused: ErrFilter, ReasonFiredTwice: ErrUnique,
	ReasonEventTwice: ErrUnique,
	ReasonFiredGone:  ErrResumable, ReasonGoneSilently: ErrResumable, ReasonNotFired: ErrReliable,
	ReasonEventLost:   ErrReliable,
	ReasonFiredInPart: ErrAtomic, ReasonReplyFirst: ErrBookmarkable, ReasonEventOrder: ErrOrdered,
	ReasonEventInvented: ErrPrevKV, ReasonWrongType: ErrIsCreate,
}
