package conform

import (
	"cmp"
	"context"
	"fmt"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A Disk stalls the disk of a server, and lets it continue.
type Disk struct{ Stall, Resume func() error }

// StalledDiskFacts is [Facts] for three servers. The disk of the leader stalls, then that of a
// follower too. It reports how the leader and the other follower, at the given addresses, answer.
//
// The error is a [ServerError] if one of them cannot be reached or does not answer, that of a disk,
// or the context's error.
func StalledDiskFacts(ctx context.Context, leader, other string, ofLeader, ofFollower Disk,
	report func(fact string),
) error {
	p := &probe{host: newHost(ctx, leader), report: report}
	defer p.host.fail(nil)
	syncer := p.open()
	p.host = newHost(ctx, other)
	defer p.host.fail(nil)
	writer, reader, follower := p.open(), p.open(), p.open()
	p.root = fmt.Sprintf("/disks-%x", uint64(writer.SessionID))
	p.createRoot(writer, "")
	if err := cmp.Or(ofLeader.Stall(), syncer.err); err != nil {
		return err
	}
	p.answer("the leader's disk stalls", writer, setAny(p.root))
	if err := ofFollower.Stall(); err != nil {
		return err
	}
	ping, sync := &wire.Request{Op: wire.OpPing}, &wire.Request{Op: wire.OpSync, Path: p.root}
	exists := read(wire.OpExists, p.root)
	writer.send(setAny(p.root), ping)
	const many = 100 // A write that waits for no disk takes less time.
	for range many {
		reader.call(exists)
	}
	p.answer("a follower's too, and a write waits", reader, exists)
	p.answer("at the leader", syncer, sync)
	follower.send(sync, exists)
	if err := ofFollower.Resume(); err != nil {
		return err
	}
	p.reply("the follower's continues", writer, wire.OpSetData)
	p.reply("then", writer, wire.OpPing)
	p.reply("of another client", follower, wire.OpSync)
	p.reply("then", follower, wire.OpExists)
	return cmp.Or(ofLeader.Resume(), p.host.err(), ctx.Err())
}

// answer reports the answer to a request in a situation.
func (p *probe) answer(situation string, s *session, r *wire.Request) {
	s.send(r)
	p.reply(situation, s, r.Op)
}

// reply reports the next answer in a situation.
func (p *probe) reply(situation string, s *session, op wire.Op) {
	answer := s.reply(op)
	p.fact("%s: %s: %v, version %d", situation, operation.Of(op).Name, answer, answer.Stat.Version)
}
