package check_test

import (
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
)

func TestServedExclusion(t *testing.T) {
	const two = "the lock was granted while a granted node of the same directory was live and " +
		"not " +
		"given back"
	const shared = "the lock was granted by a node by which another process still held it"
	judge(t, history.ServerMutualExclusion, check.ServerMutualExclusion, []verdict{
		{name: "nothing"},
		{name: "two hold", reason: two, event: 5, events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1), created(2, "/l/b", 2),
			lockOK(1, 1, "/l/a"), lockOK(2, 1, "/l/b"),
		}},
		{
			name: "two hold by nodes that they do not tell", reason: two, event: 5,
			events: []history.Event{
				lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1), created(2, "/l/b", 2),
				lockOK(1, 1, ""),
				lockOK(2, 1, ""),
			},
		},
		{name: "the holder crashed", reason: two, event: 6, events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1), created(2, "/l/b", 2),
			lockOK(1, 1, "/l/a"), crash(1),
			lockOK(2, 1, "/l/b"),
		}},
		{
			name: "the holder gave back an older attempt", reason: two, event: 6,
			events: []history.Event{
				lockCall(1, 2), created(1, "/l/a", 1), lockCall(2, 1), created(2, "/l/b", 2),
				lockOK(1, 2, "/l/a"), unlockCall(1, 1),
				lockOK(2, 1, "/l/b"),
			},
		},
		{
			name: "one unused node was deleted before the grant", reason: two, event: 7,
			events: []history.Event{
				lockCall(1, 1), created(1, "/l/a", 1), created(1, "/l/b", 2), deleted(1, "/l/b", 3),
				lockOK(1, 1, ""),
				lockCall(2, 1), created(2, "/l/c", 4), lockOK(2, 1, ""),
			},
		},
		{
			name: "a process takes over the node of the holder", reason: shared, event: 4,
			events: []history.Event{
				lockCall(1, 1), created(1, "/l/a", 1), lockOK(1, 1, "/l/a"), lockCall(2, 1),
				lockOK(2, 1, "/l/a"),
			},
		},
		{
			name: "a process takes over the node of the holder, where a waiting one had such a " +
				"node",
			reason: shared, event: 7, events: []history.Event{
				lockCall(1, 1), created(1, "/l", 1), deleted(1, "/l", 2), lockCall(3, 1),
				created(3, "/l", 3),
				lockOK(3, 1, "/l"),
				lockCall(2, 1), lockOK(2, 1, "/l"),
			},
		},
		{name: "the node that was taken over is deleted", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1), lockOK(2, 1, "/l/a"),
			deleted(1, "/l/a", 2),
			lockCall(3, 1), created(3, "/l/b", 3), lockOK(3, 1, "/l/b"),
		}},
		{name: "both tell a node that is nobody's", events: []history.Event{
			persistent(3, "/l/a", 1), lockCall(1, 1), lockOK(1, 1, "/l/a"), lockCall(2, 1),
			lockOK(2, 1, "/l/a"),
		}},
		{name: "a persistent node beside the holder's", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), persistent(1, "/l/b", 2), lockOK(1, 1, ""),
			deleted(1, "/l/a", 3),
			lockCall(2, 1), created(2, "/l/c", 4), lockOK(2, 1, ""),
		}},
		{name: "in another directory", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1), created(2, "/m/b", 2),
			lockOK(1, 1, "/l/a"), lockOK(2, 1, "/m/b"),
		}},
		{name: "in a directory whose name continues", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1), created(2, "/lo/b", 2),
			lockOK(1, 1, "/l/a"), lockOK(2, 1, "/lo/b"),
		}},
		{name: "the second failed", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1), created(2, "/l/b", 2),
			lockOK(1, 1, "/l/a"), lockFailed(2, 1),
		}},
		{name: "the holder is giving back", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1), created(2, "/l/b", 2),
			lockOK(1, 1, "/l/a"), unlockCall(1, 1),
			lockOK(2, 1, "/l/b"),
		}},
		{name: "the holder's node is deleted", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1), created(2, "/l/b", 2),
			lockOK(1, 1, "/l/a"),
			deleted(1, "/l/a", 3), expired(1), lockOK(2, 1, "/l/b"),
		}},
		{name: "the second's node is deleted", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockCall(2, 1), created(2, "/l/b", 2),
			lockOK(1, 1, "/l/a"),
			deleted(2, "/l/b", 3), expired(2), lockOK(2, 1, "/l/b"),
		}},
		{name: "one path for all, and a grant that comes late", events: []history.Event{
			lockCall(1, 1), created(1, "/l", 1), deleted(1, "/l", 2), expired(1), lockCall(2, 1),
			created(2, "/l", 3),
			lockOK(2, 1, "/l"), lockOK(1, 1, "/l"),
		}},
		{name: "granted again what it has", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockOK(1, 1, "/l/a"), lockCall(1, 2),
			lockOK(1, 2, "/l/a"),
		}},
		{name: "a node of an earlier attempt is no contender", events: []history.Event{
			lockCall(1, 1), created(1, "/l/a", 1), lockFailed(1, 1), lockCall(1, 2),
			lockOK(1, 2, ""),
			lockCall(2, 1), created(2, "/l/b", 2), lockOK(2, 1, ""),
		}},
	})
}
