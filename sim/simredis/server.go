package simredis

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/cespare/xxhash/v2"

	"github.com/interlock-sim/interlock/internal/base/hash64"
)

// A redisServer is a Redis server with its clock and its log of commands. miniredis executes the
// commands.
type redisServer struct {
	redis *miniredis.Miniredis
	local time.Duration // the time by the server's clock up to which keys have expired
	peers map[int]*peer // by number of the connection and process

	// log holds the commands that have changed the data, and those of transactions. The replica,
	// or the disk, has the first ones.
	log        []entry
	replicated int
	scripts    []string // that were ever loaded, for the commands of the log

	loaded map[string]string // the scripts that EVALSHA finds, by their checksums
	memo   *memo
	data   *data // nil if it may have changed since

	wrote     bool      // the last command has changed data, or may have set the same again
	rewritten []rewrite // by the last command
	history   uint64    // hash of all commands, because what a connection watches is no data

	keys    []key         // that the history knows of
	expired time.Duration // when a key expired last; 0 if none has

	down    bool // until it is healed
	stalled bool // until it is healed

	// the clock: at the time since, it showed base; since then it runs at a rate in percent
	since, base time.Duration
	rate        int
	jumped      bool
}

// data are what a server stores.
type data struct {
	names  []string // of the keys, sorted
	values uint64   // hash of the keys with their types and values
	all    uint64   // hash of that and of the times left to the keys
}

// An entry is a command of the log.
type entry struct {
	at      time.Duration // by the server's clock
	peer    int
	command []string
	changed bool // the command has changed the data
}

// A rewrite is a deletion or an overwriting of a key. The key may have the same value afterwards.
type rewrite struct {
	key     string
	deleted bool
}

// A key is a key that exists.
type key struct {
	name    string
	value   string // "" unless the key holds a string
	process int    // that has set it
	set     int64  // the number of its last KeySet event, 0 if it has none yet

	// if facts are gathered: all that it holds, and when it expires by the server's clock
	holds   string
	expires time.Duration
}

// find returns the position of a key in a list that is sorted by name.
func find(keys []key, name string) (int, bool) {
	return slices.BinarySearchFunc(keys, name, func(k key, name string) int {
		return strings.Compare(k.name, name)
	})
}

// A peer is the server's end of a connection.
type peer struct {
	*server.Peer
	output   *bytes.Buffer
	open     bool      // a transaction is open
	queued   []rewrite // by the commands of the open transaction
	selected bool      // the connection may use another database than the first
}

// peerBits is the number of bits for the number of a connection in the number of a peer. The
// process has the others.
const peerBits = 16

// scriptPeer is the number of the peer that has sent the commands of scripts.
const scriptPeer = -1

// epoch is the date at the start of each run.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

const trueClock = 100 // the rate of an accurate clock, in percent

// reset begins a run.
func (s *redisServer) reset() {
	redis, known := s.redis, s.memo
	if redis == nil {
		redis, known = miniredis.NewMiniRedis(), &memo{outcomes: make(map[uint64]outcome)}
		// A connection starts the server. Commands are dispatched without it.
		c, err := redis.Dial()
		if err != nil {
			panic(err)
		}
		c.Close()
	}
	*s = redisServer{
		redis: redis, memo: known, rate: trueClock, loaded: make(map[string]string),
	}
	redis.Server().SetPreHook(s.note)
	s.empty()
}

// empty deletes all data, scripts and connections.
func (s *redisServer) empty() {
	s.data = nil
	s.redis.FlushAll()
	s.redis.Seed(1)
	s.peers = make(map[int]*peer)
	s.local, s.log, s.replicated, s.history, s.expired = 0, nil, 0, 0, 0
	s.redis.SetTime(epoch)
	s.flushScripts()
}

// flushScripts makes the server forget all scripts.
func (s *redisServer) flushScripts() {
	clear(s.loaded)
	s.execute(s.peer(0), []string{"SCRIPT", "FLUSH"})
}

// up reports whether clients can connect.
func (s *redisServer) up() bool { return !s.down }

// answers reports whether the server handles requests.
func (s *redisServer) answers() bool { return !s.down && !s.stalled }

// clock returns the time by the server's clock.
func (s *redisServer) clock(now time.Duration) time.Duration {
	return s.base + (now-s.since)*time.Duration(s.rate)/trueClock
}

// setClock changes the rate of the clock and sets it ahead.
func (s *redisServer) setClock(now time.Duration, rate int, ahead time.Duration) {
	s.base, s.since, s.rate = s.clock(now)+ahead, now, rate
}

// advance lets keys expire up to a time by the server's clock.
func (s *redisServer) advance(local time.Duration) {
	if local > s.local {
		s.data = nil
		s.redis.FastForward(local - s.local)
		s.redis.SetTime(epoch.Add(local))
		s.local = local
	}
}

// do executes a command that came on a connection, and returns the reply.
func (s *redisServer) do(now time.Duration, c *conn, command []string) []byte {
	if blocks(command) {
		return fmt.Appendf(nil, "-ERR simredis does not simulate %s\r\n",
			strings.ToUpper(command[0]))
	}
	s.advance(s.clock(now))
	number := c.client.Process()<<peerBits | c.number
	s.history = hash64.Fold(s.history, uint64(s.local)^uint64(number)<<40)
	for _, word := range command {
		s.history = hash64.Fold(s.history, hashOf(word))
	}
	// Any command fails a transaction if its arguments are wrong.
	inside := s.peers[number] != nil && s.peers[number].open
	s.wrote = false
	before := s.stored()
	if (s.redis.IsReadOnlyCommand(command[0]) || opens(command)) && !inside {
		reply := s.dispatch(number, command, s.execute)
		s.data = before
		return reply
	}
	reply := s.dispatch(number, command, func(p *peer, command []string) []byte {
		if inside {
			return s.execute(p, command)
		}
		return s.run(p, command, before)
	})
	changed := s.stored().all != before.all
	s.wrote = s.wrote || changed
	if changed || len(s.rewritten) > 0 || transaction(command) || inside {
		s.log = append(s.log, entry{s.local, number, command, changed})
	}
	return reply
}

// Dump shortens no value.
func init() { miniredis.DumpMaxLineLen = math.MaxInt }

// stored returns the data.
func (s *redisServer) stored() *data {
	if s.data == nil {
		d := &data{names: s.redis.Keys(), values: hashOf(s.redis.Dump())}
		for _, k := range d.names {
			d.values = hash64.Fold(d.values, hashOf(s.redis.Type(k)))
			d.all = hash64.Fold(d.all, uint64(s.redis.TTL(k)))
		}
		d.all = hash64.Fold(d.all, d.values)
		s.data = d
	}
	return s.data
}

// unreplicated reports whether the replica lacks a change of the data.
func (s *redisServer) unreplicated() bool {
	return slices.ContainsFunc(s.log[s.replicated:], func(e entry) bool { return e.changed })
}

// note notes which keys a command deletes or overwrites, and whether it can write the same again.
// miniredis calls it before each command, also of a script.
func (s *redisServer) note(_ *server.Peer, name string, arguments ...string) bool {
	s.rewritten = append(s.rewritten, rewrites(name, arguments)...)
	s.wrote = s.wrote || !s.redis.IsReadOnlyCommand(name) && resets(name, arguments)
	s.memo.note(name, arguments)
	return false
}

// peer returns the peer with the number.
func (s *redisServer) peer(number int) *peer {
	p := s.peers[number]
	if p == nil {
		output := new(bytes.Buffer)
		// A small buffer is enough in front of one in memory.
		writer := bufio.NewWriterSize(output, 64)
		p = &peer{Peer: server.NewPeer(writer), output: output}
		s.peers[number] = p
	}
	return p
}

// dispatch lets a function execute a command of a peer.
func (s *redisServer) dispatch(number int, command []string,
	execute func(*peer, []string) []byte,
) []byte {
	p := s.peer(number)
	switch name := strings.ToUpper(command[0]); {
	case name == "EVAL" && len(command) > 1:
		s.load(command[1]) // Redis remembers the script for EVALSHA; miniredis does not.
	case name == "SCRIPT" && len(command) > 2 && strings.EqualFold(command[1], "LOAD"):
		s.load(command[2])
	case name == "SCRIPT" && len(command) > 1 && strings.EqualFold(command[1], "FLUSH"),
		name == "EXEC": // It may execute that.
		clear(s.loaded)
	case name == "SELECT":
		p.selected = true
	}
	s.rewritten = nil
	reply := execute(p, command)
	s.transact(p, command, reply)
	return reply
}

// execute lets miniredis execute a command, and returns the reply.
func (s *redisServer) execute(p *peer, command []string) []byte {
	s.data = nil
	s.redis.Server().Dispatch(p.Peer, command)
	p.Flush()
	reply := bytes.Clone(p.output.Bytes())
	p.output.Reset()
	return reply
}

// load makes the server remember a script.
func (s *redisServer) load(script string) {
	if !slices.Contains(s.scripts, script) {
		s.scripts = append(s.scripts, script)
	}
	sum := sha1.Sum([]byte(script))
	if name := hex.EncodeToString(sum[:]); s.loaded[name] == "" {
		s.execute(s.peer(scriptPeer), []string{"SCRIPT", "LOAD", script})
		s.loaded[name] = script
	}
}

const (
	queuedReply  = "+QUEUED\r\n"
	abortedReply = "*-1\r\n"
)

// transact moves what the commands of a transaction rewrite to its EXEC. A command that fails
// rewrites nothing, but a script that fails may have rewritten keys before.
func (s *redisServer) transact(p *peer, command []string, reply []byte) {
	name, failed := strings.ToUpper(command[0]), bytes.HasPrefix(reply, []byte("-"))
	if failed && !runsScript(name) {
		s.rewritten = nil
	}
	switch {
	case string(reply) == queuedReply:
		p.queued, s.rewritten = append(p.queued, s.rewritten...), nil
	case name == "MULTI":
		p.open = true
	case name == "EXEC" && !failed && string(reply) != abortedReply:
		s.rewritten, p.queued, p.open = p.queued, nil, false
	case (name == "EXEC" || name == "DISCARD") && len(command) == 1:
		s.rewritten, p.queued, p.open = nil, nil, false
	}
}

// value returns the string that a key holds, or "".
func (s *redisServer) value(name string) string {
	value, err := s.redis.Get(name)
	if err != nil {
		return ""
	}
	return value
}

// present returns the keys, set by the process, without the numbers of their KeySet events.
func (s *redisServer) present(process int) []key {
	names := s.stored().names
	keys := make([]key, len(names))
	for i, name := range names {
		keys[i] = key{name: name, value: s.value(name), process: process}
	}
	return keys
}

// describe adds to keys what they hold and when they expire.
func (s *redisServer) describe(keys []key) {
	for _, dumped := range strings.Split("\n"+s.redis.Dump(), "\n- ")[1:] {
		name, holds, _ := strings.Cut(dumped, "\n")
		if i, found := find(keys, name); found {
			keys[i].holds, keys[i].expires = strings.TrimSpace(holds), 0
			if left := s.redis.TTL(name); left > 0 {
				keys[i].expires = s.local + left
			}
		}
	}
}

// kept reports whether a key is the one that was there before the last command, which the process
// of the new one sent, and whether the command has deleted it meanwhile. A key stays that of its
// process if another changes its value in place, as by INCR.
func (s *redisServer) kept(before, now key) (same, deleted bool) {
	same = before.value == now.value || before.process != now.process
	for _, r := range s.rewritten {
		if r.key == now.name && before.process != now.process {
			same, deleted = false, deleted || r.deleted
		}
	}
	return same, deleted
}

// replicate gives the replica all data.
func (s *redisServer) replicate() { s.replicated = len(s.log) }

// failOver replaces the data by those of the replica, and returns the keys.
func (s *redisServer) failOver(now time.Duration) (keys []key) {
	log, hash, scripts := s.log[:s.replicated], s.history, s.scripts
	s.empty()
	for _, script := range scripts {
		s.load(script)
	}
	for _, e := range log {
		s.advance(e.at)
		keys = slices.DeleteFunc(keys, func(k key) bool { return !s.redis.Exists(k.name) })
		s.dispatch(e.peer, e.command, s.execute)
		set := s.present(e.peer >> peerBits)
		for i := range set {
			if old, found := find(keys, set[i].name); found {
				if same, _ := s.kept(keys[old], set[i]); same {
					keys[old].value = set[i].value
					set[i] = keys[old]
				}
			}
		}
		keys = set
	}
	s.flushScripts()
	s.rewritten = nil
	s.log, s.replicated = log, len(log)
	s.history = hash64.Fold(hash, uint64(len(log)))
	s.peers = make(map[int]*peer)
	s.advance(s.clock(now))
	return slices.DeleteFunc(keys, func(k key) bool { return !s.redis.Exists(k.name) })
}

// expiry returns when the next key expires, if one does.
func (s *redisServer) expiry(now time.Duration) (at time.Duration, ok bool) {
	s.advance(s.clock(now))
	for _, key := range s.stored().names {
		if left, expires := s.left(key); expires && (!ok || now+left < at) {
			at, ok = now+left, true
		}
	}
	return at, ok
}

// key returns a hash of the server's state.
func (s *redisServer) key(now time.Duration) uint64 {
	s.advance(s.clock(now))
	key := hash64.Fold(uint64(s.clock(now)-now), uint64(s.rate)<<8|hash64.Bit(s.down)|
		hash64.Bit(s.stalled)<<1|hash64.Bit(s.jumped)<<2)
	key = hash64.Fold(hash64.Fold(key, s.history), uint64(s.expired))
	for _, k := range s.stored().names {
		key = hash64.Fold(hash64.Fold(key, hashOf(k)), uint64(s.redis.TTL(k)))
	}
	return hash64.Fold(key, uint64(len(s.log)-s.replicated))
}

func hashOf(text string) uint64 { return xxhash.Sum64String(text) }
