package simredis

import (
	"crypto/sha1"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// scripts are those of locks, and some that the memo must not know.
var scripts = []string{
	`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`,
	`if redis.call("get", KEYS[1]) == ARGV[1] then
		return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end`,
	`if redis.call("set", KEYS[1], ARGV[1], "nx", "px", ARGV[2]) then
		return redis.call("incr", "token") end return redis.call("pttl", KEYS[1])`,
	`if redis.call("hexists", KEYS[1], ARGV[1]) == 1 then
		return redis.call("hincrby", KEYS[1], ARGV[1], -1) end
		redis.call("hset", KEYS[1], ARGV[1], 2) return nil`,
	`return {redis.call("exists", KEYS[1]), redis.pcall("incr", KEYS[1]), "x"}`,
	`redis.call("set", KEYS[1], ARGV[1], "pxat", 946684800400) -- 400 ms after the epoch
		return redis.call("exists", KEYS[1])`,
	`return redis.call("time")`,
	`redis.call("lpush", KEYS[1], ARGV[1]) return redis.call("llen", KEYS[1])`,
	`return redis.call("rpoplpush", KEYS[1], KEYS[1])`,
	`if redis.call("get", KEYS[1]) then return redis.error_reply("TAKEN") end return 1`,
}

// draw returns a random command of a lock's client.
func draw(r *rand.Rand, loaded []string) []string {
	key := string('a' + rune(r.IntN(2)))
	value := strings.Repeat("v", 80*r.IntN(2)) + fmt.Sprint(r.IntN(2))
	switch r.IntN(14) {
	case 0:
		return []string{"SET", key, value, "PX", "300"}[:3+2*r.IntN(2)]
	case 1:
		return []string{"DEL", key}
	case 2:
		return []string{"SCRIPT", "FLUSH"}
	case 3:
		return []string{"HELLO", fmt.Sprint(2 + r.IntN(2))}
	case 4:
		return []string{"SELECT", fmt.Sprint(r.IntN(20) / 19)}
	case 7:
		return []string{"MULTI"}
	case 8:
		return []string{"EXEC", "x"}[:1+r.IntN(4)/3]
	case 9:
		return []string{"DISCARD"}
	case 10:
		return []string{"WATCH", key}
	case 5, 6:
		return []string{"EVALSHA", loaded[r.IntN(len(loaded))], "1", key, value, "200"}
	}
	return []string{"EVAL", scripts[r.IntN(len(scripts))], "1", key, value, "200"}
}

// With and without a memo, a server has the same replies and the same data.
func TestMemoAgrees(t *testing.T) {
	var sums []string
	for _, script := range scripts {
		sums = append(sums, fmt.Sprintf("%x", sha1.Sum([]byte(script))))
	}
	known, hits := newWorld(t).servers[0].memo, 0
	for seed := range uint64(200) {
		forgetting, remembering := newWorld(t), newWorld(t)
		remembering.servers[0].memo = known
		r, now := rand.New(rand.NewPCG(seed, 0)), time.Duration(0)
		for range 30 {
			command, process := draw(r, sums), 1+r.IntN(2)
			now += time.Duration(r.IntN(3)) * 100 * time.Millisecond
			before := len(known.outcomes)
			got := remembering.reply(now, process, command)
			if len(known.outcomes) == before && runsScript(command[0]) {
				hits++
			}
			clear(forgetting.servers[0].memo.outcomes)
			if want := forgetting.reply(now, process, command); got != want {
				t.Fatalf("seed %d: %q gives %q, without a memo %q", seed, command, got, want)
			}
			if got, want := remembering.data(), forgetting.data(); !slices.Equal(got, want) {
				t.Fatalf("seed %d: after %q the data are %q, without a memo %q", seed, command,
					got, want)
			}
		}
	}
	if n := len(known.outcomes); n < 100 || hits < 5*n {
		t.Errorf("%d outcomes are known, and %d scripts added none", n, hits)
	}
}

// A memo knows a script on data with other times left to the keys only if it depends on none.
func TestMemoHeedsTimes(t *testing.T) {
	for script, depends := range map[string]bool{
		`return redis.call("ttl", KEYS[1])`:                   true,
		`return redis.call("pttl", KEYS[1])`:                  true,
		`return redis.call("persist", KEYS[1])`:               true,
		`return redis.call("expire", KEYS[1], 9, "nx")`:       true,
		`return redis.call("pexpire", KEYS[1], 2000, "gt")`:   true,
		`return redis.call("pexpire", KEYS[1], 2000)`:         false,
		`return redis.call("set", KEYS[1], 1, "nx", "px", 9)`: false,
		`return redis.call("get", KEYS[1])`:                   false,
	} {
		remembering, known := newWorld(t), 0
		for _, set := range []string{"SET a v", "SET a v PX 1000", "SET a v PX 3000"} {
			forgetting := newWorld(t)
			for _, command := range [][]string{strings.Fields(set), {"EVAL", script, "1", "a"}} {
				got, want := remembering.reply(0, 1, command), forgetting.reply(0, 1, command)
				if got != want {
					t.Errorf("after %s, %s gives %q, without a memo %q", set, script, got, want)
				}
			}
			outcomes := len(remembering.servers[0].memo.outcomes)
			if added := outcomes > known; known > 0 && added != depends {
				t.Errorf("after %s, %s is new: %v, want %v", set, script, added, depends)
			}
			known = outcomes
		}
	}
}

// reply returns what a server replies to a process.
func (w *world) reply(now time.Duration, process int, command []string) string {
	return string(w.servers[0].do(now, w.conns[process-1], command))
}

// data returns the keys with their types, values and times.
func (w *world) data() (all []string) {
	redis := w.servers[0].redis
	for _, k := range redis.Keys() {
		all = append(all, fmt.Sprint(k, redis.Type(k), redis.TTL(k)))
	}
	return append(all, redis.Dump())
}

// A value is compared as a whole, however long it is.
func TestLongValues(t *testing.T) {
	w := newWorld(t)
	var hashes []uint64
	for _, end := range []string{"x", "y"} {
		w.do(1, "SET", "a", strings.Repeat("v", 100)+end)
		hashes = append(hashes, w.servers[0].stored().values)
	}
	if hashes[0] == hashes[1] {
		t.Error("data whose values differ at their ends have the same hash")
	}
}
