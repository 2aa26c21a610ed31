package conform

import (
	"bytes"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// handshake tests the handshake and multiple connections of a session.
func (p *probe) handshake() {
	c := p.open()
	p.fact("new session: proto %d timeout %d pwlen %d readOnly byte %s rsplen %d",
		c.ProtocolVersion, c.TimeoutMillis, len(c.Password), readOnly(c), c.responseLength)
	for _, ask := range []int32{0, 1, 100, 3999, 4000, 4001, 39999, 40000, 40001, 1000000, -5} {
		s := p.connect(wire.ConnectRequest{TimeoutMillis: ask})
		p.fact("timeout ask %d -> %d", ask, s.TimeoutMillis)
		s.close()
	}
	old := p.connectAsIs(wire.ConnectRequest{TimeoutMillis: 10000})
	p.fact("old client (no readOnly byte): rsplen %d readOnly %s", old.responseLength,
		readOnly(old))
	old.close()
	p.takeover(c)
}

// readOnly formats the readOnly byte, which servers send to new clients only.
func readOnly(s *session) string {
	if !s.HasReadOnly {
		return "None"
	}
	return pyBool(s.ReadOnly)
}

// takeover tests connections that request a session of another connection.
func (p *probe) takeover(c *session) {
	d := p.resume(c)
	p.fact("2nd connection same session: same sid %s same pw %s",
		pyBool(d.SessionID == c.SessionID),
		pyBool(bytes.Equal(d.Password, c.Password)))
	p.fact("first connection after takeover: %s", c.awaitEnd())

	wrong := bytes.Repeat([]byte("y"), 16)
	w := p.connect(wire.ConnectRequest{
		TimeoutMillis: 10000, SessionID: c.SessionID,
		Password: wrong,
	})
	p.fact("wrong password: timeout %d sid %d pw zero %s", w.TimeoutMillis, w.SessionID,
		pyBool(bytes.Equal(w.Password, make([]byte, 16))))
	p.fact("wrong password: then %s", w.awaitEnd())
	if r := d.call(read(wire.OpExists, "/")); r.err == nil {
		p.fact("holder after wrong-password attempt: exists err %v", r)
	} else {
		p.fact("holder after wrong-password attempt: %s", endReason(r.err))
	}

	d = p.connect(wire.ConnectRequest{
		TimeoutMillis: 8000, SessionID: c.SessionID,
		Password: c.Password,
	})
	p.fact("reconnect with other timeout 8000 -> %d sid same %s", d.TimeoutMillis,
		pyBool(d.SessionID == c.SessionID))
	w = p.connect(wire.ConnectRequest{TimeoutMillis: 10000, SessionID: 0x123456, Password: wrong})
	p.fact("unknown session, bad pw: timeout %d sid %d", w.TimeoutMillis, w.SessionID)
	zxid := d.call(read(wire.OpExists, "/")).Zxid
	p.fact("read zxid>0 %s", pyBool(zxid > 0))
	if ahead := p.connect(wire.ConnectRequest{TimeoutMillis: 10000, LastZxidSeen: zxid +
		1000}); ahead.err == nil {
		p.fact("client zxid ahead: accepted")
	} else {
		p.fact("client zxid ahead: closed without reply %s", endReason(ahead.err))
	}
	d.close()
	e := p.resume(c)
	p.fact("session after closeSession: timeout %d sid %d", e.TimeoutMillis, e.SessionID)
}
