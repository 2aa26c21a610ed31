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

// sessionTimeout is the requested session timeout in milliseconds. No session may expire within a
// round.
const sessionTimeout = 30000

// A side is one of the compared servers with its clients. It translates the server's replies to
// values that do not depend on the server:
//   - paths relative to the root
//   - zxids relative to the root's creation
//   - sessions numbered in order of opening
type side struct {
	host     *host
	root     string
	baseZxid int64 // the zxid before the root's creation
	clients  [clientCount]*session
	zxids    [clientCount]int64 // latest zxid seen by each client
	sessions map[int64]int64
	times    map[int64]int64 // time of each transaction by zxid
}

// newSide connects to a server and creates the root of a round, at a new path if root is empty.
func newSide(ctx context.Context, address, root string) (_ *side, err error) {
	s := &side{host: newHost(ctx, address), sessions: map[int64]int64{}, times: map[int64]int64{}}
	defer func() {
		if err != nil {
			s.host.fail(nil)
		}
	}()
	admin := s.openAdmin()
	if admin.err != nil {
		return nil, cmp.Or(s.host.err(),
			error(&ServerError{address, fmt.Errorf("no session: %w", admin.err)}))
	}
	// Session ids are unique, so the root is new. Roots have the same length on both sides, because
	// lengths of replies are compared.
	s.root = cmp.Or(root, fmt.Sprintf("/differ-%016x", uint64(admin.SessionID)))
	r := admin.call(create(s.root))
	if r.err != nil || r.Code != wire.OK {
		return nil, cmp.Or(s.host.err(),
			error(&ServerError{address, fmt.Errorf("cannot create %s: %v", s.root, r)}))
	}
	s.baseZxid = r.Zxid - 1
	admin.close()
	return s, nil
}

// openAdmin opens a session for set-up and clean-up.
func (s *side) openAdmin() *session {
	return connect(s.host, newSession())
}

func newSession() *wire.ConnectRequest {
	return &wire.ConnectRequest{
		TimeoutMillis: sessionTimeout, Password: make([]byte, 16),
		HasReadOnly: true,
	}
}

// cleanUp closes the remaining sessions, so that none expires during a later run, and deletes all
// nodes. It runs even if the context has ended.
func (s *side) cleanUp() {
	h := s.host
	defer h.fail(nil)
	s.host = h.withoutCancel()
	for i, c := range s.clients {
		if c == nil || c.closed || h.err() != nil {
			continue
		}
		if c.close(); !c.closed && c.SessionID != 0 {
			connect(s.host, s.request(i, true)).close()
		}
	}
	if h.err() != nil {
		return
	}
	admin := s.openAdmin()
	admin.call(authenticate("digest", adminUser+":"+adminPassword))
	admin.deleteAll(s.root)
	admin.close()
}

// request returns the first record of a client that resumes its session or opens a new one.
func (s *side) request(client int, resume bool) *wire.ConnectRequest {
	r := newSession()
	r.LastZxidSeen = s.zxids[client]
	if c := s.clients[client]; resume && c != nil {
		r.SessionID, r.Password = c.SessionID, c.Password
	}
	return r
}

// connect opens a connection for a client and returns its observation. A session that the server
// refuses to resume has the id 0.
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
	response.SessionID = s.sessionNumber(c.SessionID)
	response.Password = nil
	if resume && !bytes.Equal(c.Password, request.Password) {
		response.Password = []byte("another")
	}
	return observation{connected: &response, length: c.responseLength}
}

// send sends requests after translating their relative paths and zxids.
func (s *side) send(client int, requests []*wire.Request) {
	local := make([]*wire.Request, len(requests))
	for i, r := range requests {
		local[i] = rewriter{
			path: s.absolute,
			zxid: func(zxid int64) int64 { return zxid + s.baseZxid },
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

// relativeZxid translates a zxid. The zxid is not positive in replies to auth and in events up to
// release 3.8.
func (s *side) relativeZxid(zxid int64) int64 {
	switch {
	case zxid <= 0:
		return zxid
	case zxid <= s.baseZxid:
		return math.MinInt64 // before the round: must not be observed
	}
	return zxid - s.baseZxid
}

// sessionNumber translates a session id: 0 for none, -1 for a session not opened in this run.
func (s *side) sessionNumber(id int64) int64 {
	if id == 0 {
		return 0
	}
	if number, ok := s.sessions[id]; ok {
		return number
	}
	return -1
}

// receive reads a client's next message, either an event or the reply to a request of type op.
func (s *side) receive(client int, op wire.Op) observation {
	c := s.clients[client]
	event, r := c.receive(op)
	switch {
	case r.err != nil:
		return observation{end: outcome(r.err)}
	case event != nil:
		event.Path, event.Zxid = s.relative(event.Path), s.relativeZxid(event.Zxid)
		return observation{event: event}
	}
	if r.Zxid > 0 {
		s.zxids[client] = r.Zxid
	}
	s.normalize(&r.Reply)
	return observation{reply: &r.Reply, length: r.length, op: op}
}

// collect reads the replies to requests of the given types and the events before them. It stops
// early if the connection ends.
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

// normalize translates the values of a reply that depend on the server. It sorts names, ACLs and
// identities, whose order is that of a Java HashSet.
func (s *side) normalize(r *wire.Reply) {
	r.Zxid = s.relativeZxid(r.Zxid)
	r.Path = s.relative(r.Path)
	s.normalizeStat(&r.Stat)
	s.normalizePaths(r.Children)
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
		s.normalizeStat(&result.Stat)
		s.normalizePaths(result.Children)
	}
}

func (s *side) normalizePaths(paths []string) {
	for i, path := range paths {
		paths[i] = s.relative(path)
	}
	slices.Sort(paths)
}

// normalizeStat translates a stat. A time becomes sameTime or otherTime, depending on whether it
// equals the time seen before for the same transaction.
func (s *side) normalizeStat(stat *wire.Stat) {
	if *stat == (wire.Stat{}) {
		return
	}
	stat.Czxid, stat.Mzxid, stat.Pzxid = s.relativeZxid(stat.Czxid), s.relativeZxid(stat.Mzxid),
		s.relativeZxid(stat.Pzxid)
	stat.EphemeralOwner = s.sessionNumber(stat.EphemeralOwner)
	stat.Ctime, stat.Mtime = s.timeMatches(stat.Czxid, stat.Ctime),
		s.timeMatches(stat.Mzxid, stat.Mtime)
}

const (
	sameTime  = 0
	otherTime = -1
)

func (s *side) timeMatches(zxid, time int64) int64 {
	known, ok := s.times[zxid]
	if !ok {
		s.times[zxid] = time
	}
	if ok && known != time {
		return otherTime
	}
	return sameTime
}

// drop closes a client's connection and waits until the server does the same. Otherwise the
// server's behaviour would depend on which of two connections it sees end first.
func (s *side) drop(client int) observation {
	c := s.clients[client]
	if connection, ok := c.connection.(*net.TCPConn); ok && c.err == nil {
		c.fail(connection.CloseWrite())
	}
	return awaitEnd(c)
}

// awaitEnd waits until the server closes a connection. No more messages may arrive.
func awaitEnd(c *session) observation {
	c.frame()
	o := observation{end: "more to read"}
	if c.err != nil {
		o.end = outcome(c.err)
	}
	c.closeConnection()
	return o
}
