package conform

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// sessionTimeout is what clients ask for. No session may expire within an epoch.
const sessionTimeout = 30000

// A side is one of the two servers that are compared, the clients that speak to it, and what it
// takes to express its answers in terms that do not depend on the server: paths below the root,
// zxids since the root's creation, sessions by the order in which they were opened.
type side struct {
	host     *host
	root     string
	base     int64 // the zxid that is shown as 0; the root was created by zxid 1
	clients  [clients]*session
	zxids    [clients]int64 // the latest that each client has seen
	sessions map[int64]int64
	times    map[int64]int64 // of transactions, by zxid
}

// begin creates the root of an epoch.
func begin(ctx context.Context, address string) (_ *side, err error) {
	s := &side{host: newHost(ctx, address), sessions: map[int64]int64{}, times: map[int64]int64{}}
	defer func() {
		if err != nil {
			s.host.lose(nil)
		}
	}()
	keeper := s.openKeeper()
	if keeper.err != nil {
		return nil, cmp.Or(s.host.lost(),
			error(&ServerError{address, fmt.Errorf("no session: %w", keeper.err)}))
	}
	// The server gives every session another id, so this root is new. Roots on both sides are of
	// the same length, and so must be all that they answer.
	s.root = fmt.Sprintf("/differ-%016x", uint64(keeper.SessionID))
	r := keeper.call(create(s.root))
	if r.err != nil || r.Code != wire.OK {
		return nil, cmp.Or(s.host.lost(),
			error(&ServerError{address, fmt.Errorf("it does not create %s: %v", s.root, r)}))
	}
	s.base = r.Zxid - 1
	keeper.close()
	return s, nil
}

// openKeeper opens a session for whoever sets up and cleans up.
func (s *side) openKeeper() *session {
	return connect(s.host, newSession())
}

func newSession() *wire.ConnectRequest {
	return &wire.ConnectRequest{
		TimeoutMillis: sessionTimeout, Password: make([]byte, 16),
		HasReadOnly: true,
	}
}

// end closes all sessions that are left, so that none expires within a later run, and deletes all
// nodes, even if the context has ended.
func (s *side) end() {
	h := s.host
	defer h.lose(nil)
	s.host = h.lasting()
	for i, c := range s.clients {
		if c == nil || c.closed || h.lost() != nil {
			continue
		}
		if c.close(); !c.closed && c.SessionID != 0 {
			connect(s.host, s.request(i, true)).close()
		}
	}
	if h.lost() != nil {
		return
	}
	keeper := s.openKeeper()
	keeper.call(authenticate("digest", keeperUser+":"+keeperPassword))
	keeper.deleteAll(s.root)
	keeper.close()
}

// request returns the first record of a client that resumes its session, or opens another.
func (s *side) request(client int, resume bool) *wire.ConnectRequest {
	r := newSession()
	r.LastZxidSeen = s.zxids[client]
	if c := s.clients[client]; resume && c != nil {
		r.SessionID, r.Password = c.SessionID, c.Password
	}
	return r
}

// connect opens a connection for a client and returns what has come of it. A session that the
// server refuses to resume has the id 0.
func (s *side) connect(client int, resume bool) observation {
	request := s.request(client, resume)
	c := connect(s.host, request)
	if before := s.clients[client]; c.err != nil && before != nil {
		c.SessionID, c.Password = before.SessionID, before.Password
	}
	s.clients[client] = c
	if c.err != nil {
		return observation{end: outcome(c.err)}
	}
	if c.SessionID != 0 && c.SessionID != request.SessionID {
		s.sessions[c.SessionID] = int64(len(s.sessions) + 1)
	}
	response := c.ConnectResponse
	response.SessionID = s.session(c.SessionID)
	response.Password = nil
	if resume && !bytes.Equal(c.Password, request.Password) {
		response.Password = []byte("another")
	}
	return observation{connected: &response, length: c.responseLength}
}

// send sends requests, in which paths and zxids are as observations show them.
func (s *side) send(client int, requests []*wire.Request) {
	local := make([]*wire.Request, len(requests))
	for i, r := range requests {
		local[i] = rewriter{
			path: s.absolute,
			zxid: func(zxid int64) int64 { return zxid + s.base },
		}.request(r)
	}
	s.clients[client].send(local...)
}

func (s *side) absolute(path string) string {
	if below, ok := strings.CutPrefix(path, "$"); ok {
		return s.root + below
	}
	return path
}

func (s *side) relative(path string) string {
	if below, ok := strings.CutPrefix(path, s.root); ok {
		return "$" + below
	}
	return path
}

// zxid shows a transaction. The reply to an authentication has none, and neither have events up to
// release 3.8.
func (s *side) zxid(zxid int64) int64 {
	switch {
	case zxid <= 0:
		return zxid
	case zxid <= s.base:
		return math.MinInt64 // before the epoch, and nothing that it may see
	}
	return zxid - s.base
}

// session shows a session: as 0 if it is none, and as -1 if no client of the run has opened it.
func (s *side) session(id int64) int64 {
	if id == 0 {
		return 0
	}
	if number, ok := s.sessions[id]; ok {
		return number
	}
	return -1
}

// receive reads what comes next to a client, which awaits the reply to a request of type op.
func (s *side) receive(client int, op wire.Op) observation {
	c := s.clients[client]
	event, r := c.receive(op)
	switch {
	case r.err != nil:
		return observation{end: outcome(r.err)}
	case event != nil:
		event.Path, event.Zxid = s.relative(event.Path), s.zxid(event.Zxid)
		return observation{event: event}
	}
	if r.Zxid > 0 {
		s.zxids[client] = r.Zxid
	}
	s.show(&r.Reply)
	return observation{reply: &r.Reply, length: r.length, op: op}
}

// collect reads the replies to requests of those types and the events before each. It ends early if
// the connection does.
func (s *side) collect(client int, ops ...wire.Op) []observation {
	observations := make([]observation, 0, len(ops))
	for len(ops) > 0 {
		o := s.receive(client, ops[0])
		observations = append(observations, o)
		if o.end != "" {
			break
		}
		if o.reply != nil {
			ops = ops[1:]
		}
	}
	return observations
}

// show replaces all of a reply that depends on the server. Lists of names, of ACLs and of
// identities come in the order of a Java HashSet, which means nothing, and are sorted.
func (s *side) show(r *wire.Reply) {
	r.Zxid = s.zxid(r.Zxid)
	r.Path = s.relative(r.Path)
	s.showStat(&r.Stat)
	s.showPaths(r.Children)
	slices.SortFunc(r.ACL, func(a, b wire.ACL) int {
		return cmp.Or(cmp.Compare(a.Scheme, b.Scheme), cmp.Compare(a.ID, b.ID),
			cmp.Compare(a.Perms, b.Perms))
	})
	slices.SortFunc(r.Identities, func(a, b wire.Identity) int {
		return cmp.Or(cmp.Compare(a.Scheme, b.Scheme), cmp.Compare(a.ID, b.ID))
	})
	for i := range r.Results {
		result := &r.Results[i]
		result.Path = s.relative(result.Path)
		s.showStat(&result.Stat)
		s.showPaths(result.Children)
	}
}

func (s *side) showPaths(paths []string) {
	for i, path := range paths {
		paths[i] = s.relative(path)
	}
	slices.Sort(paths)
}

// showStat replaces times by whether they are what they have been: that of a transaction is the
// same wherever it shows.
func (s *side) showStat(stat *wire.Stat) {
	if *stat == (wire.Stat{}) {
		return
	}
	stat.Czxid, stat.Mzxid, stat.Pzxid = s.zxid(stat.Czxid), s.zxid(stat.Mzxid), s.zxid(stat.Pzxid)
	stat.EphemeralOwner = s.session(stat.EphemeralOwner)
	stat.Ctime, stat.Mtime = s.time(stat.Czxid, stat.Ctime), s.time(stat.Mzxid, stat.Mtime)
}

const (
	sameTime  = 0
	otherTime = -1
)

func (s *side) time(zxid, time int64) int64 {
	known, ok := s.times[zxid]
	if !ok {
		s.times[zxid] = time
	}
	if ok && known != time {
		return otherTime
	}
	return sameTime
}

// drop ends a client's connection and waits for the server to do the same, so that what the server
// does thereafter does not depend on which of two connections it notices first.
func (s *side) drop(client int) observation {
	c := s.clients[client]
	if connection, ok := c.connection.(*net.TCPConn); ok && c.err == nil {
		c.fail(connection.CloseWrite())
	}
	return awaitEnd(c)
}

// awaitEnd waits until the server ends a connection, on which nothing else may come.
func awaitEnd(c *session) observation {
	c.frame()
	o := observation{end: "more to read"}
	if c.err != nil {
		o.end = outcome(c.err)
	}
	c.hangUp()
	return o
}
