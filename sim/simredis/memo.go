package simredis

import (
	"bytes"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/internal/base/hash64"
)

// A memo remembers what scripts have done. A script is a function of its text, its arguments and
// the data: in data that are the same, it executes the same commands and has the same result. They
// are executed again without Lua, whose state costs half of the time of a run otherwise. The times
// left to the keys count only if a command of the script depends on them.
type memo struct {
	outcomes  map[uint64]outcome
	bytes     int        // that the outcomes take, about
	recording bool       // a script is under way
	commands  [][]string // that it has executed
}

// An outcome is what a script has done.
type outcome struct {
	commands [][]string
	reply    []byte
}

// memoMax is the maximum number of bytes of a memo.
const memoMax = 8 << 20

// remembered are the commands whose effects and results depend on nothing but their arguments, the
// keys with their values, and the times left to them.
var remembered = map[string]bool{
	"GET": true, "SET": true, "SETNX": true, "SETEX": true, "PSETEX": true, "GETSET": true,
	"GETDEL": true, "DEL": true, "UNLINK": true, "EXISTS": true, "STRLEN": true, "TYPE": true,
	"EXPIRE": true, "PEXPIRE": true, "PERSIST": true, "TTL": true, "PTTL": true, "INCR": true,
	"INCRBY": true, "DECR": true, "DECRBY": true, "HGET": true, "HSET": true, "HSETNX": true,
	"HDEL": true, "HEXISTS": true, "HINCRBY": true, "HLEN": true, "PUBLISH": true,
}

// scriptKey returns the key of a command that runs a script. It returns false if the command runs
// no script, or if the script is unknown to the server, may draw random numbers, may run its
// arguments, or may work on another database.
func (s *redisServer) scriptKey(p *peer, command []string) (key uint64, ok bool) {
	if len(command) < 2 || !runsScript(strings.ToUpper(command[0])) {
		return 0, false
	}
	script := command[1]
	if strings.EqualFold(command[0], "EVALSHA") {
		script = s.loaded[script]
	}
	if script == "" || p.selected || strings.Contains(script, "math") ||
		strings.Contains(script, "load") {
		return 0, false
	}
	key = hash64.Fold(hash64.Bit(p.Resp3), hashOf(script))
	for _, word := range command[2:] {
		key = hash64.Fold(key, hashOf(word))
	}
	return key, true
}

// run lets miniredis execute a command outside of transactions, or executes what a script has done
// on the same data.
func (s *redisServer) run(p *peer, command []string, data *data) []byte {
	key, ok := s.scriptKey(p, command)
	if !ok {
		return s.execute(p, command)
	}
	m := s.memo
	onValues, onAll := hash64.Fold(data.values, key), hash64.Fold(data.all, key)
	known, found := m.outcomes[onValues]
	if !found {
		known, found = m.outcomes[onAll]
	}
	if found {
		for _, c := range known.commands {
			s.execute(s.peer(scriptPeer), c)
		}
		return known.reply
	}
	m.recording, m.commands = true, nil
	reply := s.execute(p, command)
	m.recording = false
	if string(reply) != queuedReply && !bytes.HasPrefix(reply, []byte("-")) &&
		!slices.ContainsFunc(m.commands, isForgotten) {
		key = onValues
		if slices.ContainsFunc(m.commands, readsTimes) {
			key = onAll
		}
		m.store(key, outcome{m.commands, reply})
	}
	return reply
}

// readsTimes reports whether the result of a remembered command depends on the time left to a key.
func readsTimes(command []string) bool {
	switch command[0] {
	case "TTL", "PTTL", "PERSIST":
		return true
	case "EXPIRE", "PEXPIRE":
		return len(command) > len([]string{"EXPIRE", "key", "time"}) // It has NX, XX, GT or LT.
	}
	return false
}

// store remembers an outcome, and forgets all others when they take too much memory.
func (m *memo) store(key uint64, o outcome) {
	const overhead = 64 // of a word, a command or an outcome
	size := len(o.reply) + overhead
	for _, command := range o.commands {
		size += overhead
		for _, word := range command {
			size += len(word) + overhead
		}
	}
	if m.bytes += size; m.bytes > memoMax {
		clear(m.outcomes)
		m.bytes = size
	}
	m.outcomes[key] = o
}

// note notes a command of a script that is under way.
func (m *memo) note(name string, arguments []string) {
	if m.recording && !runsScript(name) {
		m.commands = append(m.commands, append([]string{name}, arguments...))
	}
}

// isForgotten reports whether a command depends on more than the data, as on the clock.
func isForgotten(command []string) bool {
	return !remembered[command[0]] || slices.ContainsFunc(command, func(option string) bool {
		return strings.EqualFold(option, "EXAT") || strings.EqualFold(option, "PXAT")
	})
}
