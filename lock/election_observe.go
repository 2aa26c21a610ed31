package lock

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// A Leader is what the leader of an [Election] has proclaimed.
type Leader struct {
	Data  string
	Token int64  // the fencing token of its term
	Node  string // the path of its node
}

// leaderNode is the name of the node, below the path of an election, that holds the proclamation.
const leaderNode = "leader"

// A proclamation is the content of that node: token, name of the leader's node, and data.
type proclamation struct {
	token int64
	node  string
	data  string
}

func (p proclamation) encode() []byte {
	return fmt.Appendf(nil, "%d %s\n%s", p.token, p.node, p.data)
}

// parseProclamation parses the content. Foreign content is none.
func parseProclamation(content []byte) (proclamation, bool) {
	head, data, ok := bytes.Cut(content, []byte("\n"))
	digits, node, spaced := strings.Cut(string(head), " ")
	token, err := strconv.ParseInt(digits, 10, 64)
	_, ours := parseEntry(node)
	return proclamation{token, node, string(data)}, ok && spaced && err == nil && ours
}

func nameOf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// Leader returns the present leader, or [ErrNoLeader]. It costs a sync and two reads. When the
// context ends first it returns the context's cause.
func (e *Election) Leader(ctx context.Context) (Leader, error) {
	s, err := await(ctx, func() (sighting, error) {
		if err := e.queue.sync(); err != nil {
			return sighting{}, err
		}
		data, stat, err := e.queue.client.Get(e.queue.at(leaderNode))
		if isNoNode(err) {
			return sighting{}, nil
		}
		if err != nil {
			return sighting{}, err
		}
		return e.identify(sighting{zxid: stat.Mzxid}, data)
	})
	if err == nil && !s.leads {
		err = ErrNoLeader
	}
	return s.leader, err
}

// Observe returns the present leader and all that it and later leaders proclaim, in order. A slow
// caller, or a disconnected one, misses proclamations but never the last one, and sees none twice.
// Observe omits a leader that has left office by the time it is read, and does not report that no
// process leads.
//
// The sequence ends when the context ends. It ends with an error if ZooKeeper refuses a request,
// and with zk.ErrClosing after the client is closed. All other errors are retried.
//
// Observe creates the path if it is missing. It costs two reads for each proclamation, and two in
// each session timeout because the client can lose an event over a reconnect. All observers are
// woken by each proclamation.
func (e *Election) Observe(ctx context.Context) iter.Seq2[Leader, error] {
	return func(yield func(Leader, error) bool) {
		o := observation{Election: e}
		for {
			leader, err := o.next(ctx)
			if ctx.Err() != nil && err != nil {
				return
			}
			if !yield(leader, err) || err != nil {
				return
			}
		}
	}
}

// A sighting is the result of one read of the proclamation.
type sighting struct {
	leader Leader
	leads  bool  // its node exists
	zxid   int64 // of the proclamation
	watch  watch // on the proclamation: the version read, and the channel if it was set now
}

// An observation is one call of [Election.Observe].
type observation struct {
	*Election
	last   int64 // zxid of the last proclamation reported
	synced bool
	seen   bool  // the proclamation was read since its watch was set
	watch  watch // of the proclamation
}

// next returns the next proclamation to report.
func (o *observation) next(ctx context.Context) (Leader, error) {
	for {
		if o.seen {
			if err := o.await(ctx); err != nil {
				return Leader{}, err
			}
		}
		synced, watched := o.synced, o.watch.events != nil
		s, err := await(ctx, func() (sighting, error) { return o.look(ctx, synced, watched) })
		if s.watch.events != nil {
			o.watch = s.watch
		}
		if err != nil {
			if err := o.queue.awaitRetry(ctx, err); err != nil {
				return Leader{}, err
			}
			o.seen = false
			continue
		}
		o.synced, o.seen = true, true
		if s.watch.version != o.watch.version && !o.watch.fired() {
			// The client has lost the event, which would have come before the reply.
			o.watch, o.seen = watch{}, false
		}
		// A later session may read from a server that is behind.
		if s.leads && s.zxid > o.last {
			o.last = s.zxid
			return s.leader, nil
		}
	}
}

// look reads the proclamation, and watches it unless it is watched. It creates nothing after the
// context has ended, when the caller no longer waits for it.
func (o *observation) look(ctx context.Context, synced, watched bool) (sighting, error) {
	if !synced {
		if err := o.queue.sync(); err != nil {
			return sighting{}, err
		}
	}
	path := o.queue.at(leaderNode)
	began := time.Now()
	var data []byte
	var stat *zk.Stat
	var events <-chan zk.Event
	var err error
	if watched {
		data, stat, err = o.queue.client.Get(path)
	} else {
		data, stat, events, err = o.queue.client.GetW(path)
	}
	if isNoNode(err) {
		if err := context.Cause(ctx); err != nil {
			return sighting{}, err
		}
		return sighting{}, o.queue.createParents(path)
	}
	if err != nil {
		return sighting{}, err
	}
	one := watch{events: events, set: began, version: stat.Version}
	return o.identify(sighting{zxid: stat.Mzxid, watch: one}, data)
}

// identify completes a sighting with the proclamation and whether its leader is in office.
func (e *Election) identify(s sighting, content []byte) (sighting, error) {
	p, ok := parseProclamation(content)
	if !ok {
		return s, nil
	}
	s.leader = Leader{p.data, p.token, e.queue.at(p.node)}
	var err error
	s.leads, _, err = e.queue.client.Exists(s.leader.Node)
	return s, err
}

// await waits until the proclamation may have changed.
func (o *observation) await(ctx context.Context) error {
	timer := time.NewTimer(o.queue.timeout)
	defer timer.Stop()
	select {
	case <-o.watch.events:
		o.watch, o.seen = watch{}, false
	case <-timer.C:
	case <-o.queue.session.ended:
		return zk.ErrClosing
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
