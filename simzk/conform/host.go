package conform

import (
	"context"
	"errors"
	"fmt"
)

// A ServerError says that a server cannot be compared: there is none at the address, or it does not
// answer any more.
type ServerError struct {
	Address string
	Err     error
}

func (e *ServerError) Error() string { return e.Address + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *ServerError) Unwrap() error { return e.Err }

// A host is a server that sessions are opened with. Once it is lost, which its sessions notice, its
// context has ended, and thus all that is done with it fails at once.
type host struct {
	ctx     context.Context
	address string
	lose    context.CancelCauseFunc
}

func newHost(ctx context.Context, address string) *host {
	ctx, lose := context.WithCancelCause(ctx)
	return &host{ctx: ctx, address: address, lose: lose}
}

// lost returns the [ServerError] of a server that is lost, and nil of one that is there as far as
// is known.
func (h *host) lost() error {
	if lost, ok := errors.AsType[*ServerError](context.Cause(h.ctx)); ok {
		return lost
	}
	return nil
}

// lasting returns the host for who cleans up, even if the context has ended.
func (h *host) lasting() *host {
	return &host{ctx: context.WithoutCancel(h.ctx), address: h.address, lose: h.lose}
}

// check loses a server that does not answer the first record of a client. It must have told what is
// asked of it.
func (h *host) check() {
	s := connect(h, newSession())
	if s.err != nil && h.ctx.Err() == nil {
		h.lose(&ServerError{h.address, fmt.Errorf("it does not answer any more: %s",
			outcome(s.err))})
	}
	s.close()
}
