package conform

import (
	"context"
	"errors"
	"fmt"
)

// A ServerError means that a server cannot be reached or has stopped responding.
type ServerError struct {
	Address string
	Err     error
}

func (e *ServerError) Error() string { return e.Address + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *ServerError) Unwrap() error { return e.Err }

// A host is a server under test. When a session finds that the server is gone, fail cancels the
// host's context, so that all further operations fail at once.
type host struct {
	ctx     context.Context
	address string
	fail    context.CancelCauseFunc
}

func newHost(ctx context.Context, address string) *host {
	ctx, lose := context.WithCancelCause(ctx)
	return &host{ctx: ctx, address: address, fail: lose}
}

// err returns the [ServerError] of a failed server, or nil.
func (h *host) err() error {
	if lost, ok := errors.AsType[*ServerError](context.Cause(h.ctx)); ok {
		return lost
	}
	return nil
}

// withoutCancel returns the host for clean-up, which must run even if the context has ended.
func (h *host) withoutCancel() *host {
	return &host{ctx: context.WithoutCancel(h.ctx), address: h.address, fail: h.fail}
}

// check fails the host if the server does not respond to the first record of a client. The host
// must have responded before.
func (h *host) check() {
	s := connect(h, newSession())
	if s.err != nil && h.ctx.Err() == nil {
		h.fail(&ServerError{h.address, fmt.Errorf("no longer responds: %s", outcome(s.err))})
	}
	s.close()
}
