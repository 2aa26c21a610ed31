package conform

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// PausedLeaderFacts is [Facts] for a leader whose process is paused until the others have elected
// another, which carries out a write: it reports how the leader answers what a client has sent
// meanwhile. pause and resume stop and continue the leader's process, and other is the address of a
// follower. Once a second at most, PausedLeaderFacts tries to write there.
//
// The error is a [ServerError] if the leader cannot be reached or does not answer, that of pause or
// resume, or the context's error.
func PausedLeaderFacts(ctx context.Context, leader, other string, pause, resume func() error,
	report func(fact string),
) error {
	h := newHost(ctx, leader)
	defer h.fail(nil)
	p := &probe{host: h, report: report}
	c := p.connect(wire.ConnectRequest{TimeoutMillis: 40000}) // It outlives the pause.
	p.root = fmt.Sprintf("/paused-%x", uint64(c.SessionID))
	p.createRoot(c, "")
	c.call(watch(wire.OpExists, p.root))
	if lost := h.err(); lost != nil {
		return lost
	}
	if err := pause(); err != nil {
		return err
	}
	if err := p.writeAt(other); err != nil {
		return err
	}
	requests := []*wire.Request{
		read(wire.OpGetData, p.root),
		{Op: wire.OpSync, Path: p.root},
		read(wire.OpExists, p.root), setAny(p.root),
	}
	c.send(requests...)
	if err := resume(); err != nil {
		return err
	}
	for _, r := range requests {
		answer := c.reply(r.Op)
		p.fact("%s: %v, version %d", operation.Of(r.Op).Name, answer, answer.Stat.Version)
	}
	p.fact("events: %s", pyEvents(c.takeEvents()))
	return ctx.Err()
}

// writeAt changes the node of the facts at a server that may not serve yet.
func (p *probe) writeAt(address string) error {
	retry := time.NewTicker(time.Second)
	defer retry.Stop()
	for {
		h := newHost(p.host.ctx, address)
		s := connect(h, newSession())
		done := s.call(setAny(p.root))
		s.close()
		h.fail(nil)
		if done.err == nil && done.Code == 0 {
			return nil
		}
		select {
		case <-p.host.ctx.Done():
			return p.host.ctx.Err()
		case <-retry.C:
		}
	}
}
