package lock_test

import (
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/client"
)

// connecting returns a client that has not connected yet.
func connecting(c client.Client) lock.Client { return client.Connecting(c) }

// session returns the only session of a client.
func (w *world) session(number int) *lock.Session {
	if s := w.sessions[number]; s != nil {
		return s
	}
	return w.sessionOf(number, w.client(number))
}

// sessionOf returns a session of a client, or of what wraps it. It must be the only one.
func (w *world) sessionOf(number int, c client.Client) *lock.Session {
	w.t.Helper()
	if w.sessions[number] != nil {
		w.t.Fatalf("c%d has a session", number)
	}
	w.sessions[number] = lock.NewSession(connecting(c), w.client(number).Events(), sessionTimeout)
	return w.sessions[number]
}
