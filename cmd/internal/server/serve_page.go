package server

import (
	"context"
	"net"

	"github.com/interlock-sim/interlock/cmd/internal/show/dashboard"
	"github.com/interlock-sim/interlock/internal/base/localhttp"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

// A servePage is the live page of serve.
type servePage struct {
	dashboard dashboard.Dashboard
	listener  net.Listener
}

// listen opens the listener of the page.
func (p *servePage) listen(address string) error {
	if err := localhttp.CheckAddress(address); err != nil {
		return err
	}
	var err error
	p.listener, err = net.Listen("tcp", address)
	return err
}

// serve serves the page until the context ends. It returns the URL, and the channel of the error
// that ends the page earlier.
func (p *servePage) serve(ctx context.Context, server *tcp.Server) (url string, _ <-chan error) {
	site := p.dashboard.Site(server)
	served := make(chan error, 1)
	go func() { served <- site.Serve(ctx, p.listener) }()
	return site.URL(p.listener), served
}
