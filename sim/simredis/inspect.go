package simredis

import (
	"time"

	"github.com/interlock-sim/interlock/sim"
)

var _ sim.Inspector = (*System)(nil)

// Inspect describes the servers with their keys, and the clients.
func (s *System) Inspect() *sim.Inspection {
	i := &sim.Inspection{
		Nodes: []sim.Node{}, Sessions: []sim.Session{}, Watches: []sim.Watch{}, Keys: []sim.Key{},
	}
	for n := range s.servers {
		node, number := &s.servers[n], int32(n+1)
		i.Servers = append(i.Servers, sim.Server{Number: number, Up: node.up()})
		for _, k := range node.keys {
			one := sim.Key{
				Name: k.name, Value: k.value, Process: int32(k.process), Server: number,
			}
			if left, expires := node.left(k.name); expires {
				one.Expires = s.Now() + left
			}
			i.Keys = append(i.Keys, one)
		}
	}
	for _, c := range s.clients {
		i.Peers = append(i.Peers, c.inspect())
	}
	return i
}

// inspect describes the client and what is in flight.
func (c *Client) inspect() sim.Peer {
	p := sim.Peer{
		Process: int32(c.Process()), Connected: c.Connected(), Server: int32(c.ServerIndex() + 1),
		Crashed: c.Crashed(), Paused: c.Paused(), Down: c.down,
	}
	if oldest := c.oldest(); oldest != nil {
		p.Awaits = oldest.op
	}
	for s := range c.links {
		l := &c.links[s]
		for i := range l.requests {
			p.Requests = append(p.Requests, c.words(s, l.requests[i].op))
		}
		for i := range l.replies {
			p.Messages = append(p.Messages, c.words(s, l.replies[i].op+" gives "+
				describeReply(l.replies[i].reply)))
		}
	}
	return p
}

// words adds the server to the description of a message if there are several.
func (c *Client) words(server int, message string) string {
	if len(c.links) == 1 {
		return message
	}
	return "s" + string(rune('1'+server)) + ": " + message
}

// left returns the time until a key expires, by the true clock, if it does.
func (s *redisServer) left(key string) (left time.Duration, expires bool) {
	ttl := s.redis.TTL(key)
	return (ttl*trueClock + time.Duration(s.rate) - 1) / time.Duration(s.rate), ttl > 0
}
