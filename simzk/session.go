package simzk

import "time"

// A session is what the ensemble knows of a client.
type session struct {
	id      int64
	client  *Conn         // whose session it is, connected or not
	conn    *Conn         // the connection that carries the session, nil while there is none
	touched time.Duration // when the server last heard of the client
	since   time.Duration // when the connection was made, from which the client's pings count
	expires time.Duration // when the session ends unless the client comes back; only while conn is nil
}

// attach gives the session a connection.
func (s *session) attach(conn *Conn, now time.Duration) {
	s.conn, s.since, s.touched = conn, now, now
}

// touch notes that the server has heard of the client. A request of a crashed client that is served late counts too.
func (s *session) touch(now time.Duration, config Config) {
	s.touched = now
	if s.conn == nil {
		s.expires = expiry(now, config)
	}
}

// detach takes the connection away and starts the clock that ends the session. A client pings every third of the
// session timeout while it is connected; the pings are not steps of their own, so the last one is computed here.
func (s *session) detach(now time.Duration, config Config) {
	pingEvery := config.SessionTimeout / 3
	lastPing := s.since + (now-s.since)/pingEvery*pingEvery
	s.touched = max(s.touched, lastPing)
	s.conn = nil
	s.expires = expiry(s.touched, config)
}

// expiry rounds up to the next tick as ZooKeeper's ExpiryQueue does: a session ends at a multiple of the tick that is
// strictly later than its timeout.
func expiry(touched time.Duration, config Config) time.Duration {
	return ((touched+config.SessionTimeout)/config.TickTime + 1) * config.TickTime
}
