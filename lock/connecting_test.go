package lock_test

import (
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/client"
)

// connecting returns a client that has not connected yet.
func connecting(c client.Client) lock.Client { return client.Connecting(c) }

func (w *world) session(number int) *lock.Session { return w.sessionOf(number, w.client(number)) }

// sessionOf returns a session of a client, or of what wraps it.
func (w *world) sessionOf(number int, c client.Client) *lock.Session {
	return lock.NewSession(connecting(c), w.client(number).Events(), sessionTimeout)
}
