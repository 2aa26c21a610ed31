// Package localhttp serves pages to the browsers of this machine.
package localhttp

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// CheckAddress returns an error unless the address is host:port with a host of this machine.
func CheckAddress(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is not of the form host:port", address)
	}
	if !IsLoopback(host) {
		return fmt.Errorf("%s is not a loopback address; the server has no password", address)
	}
	return nil
}

// IsLoopback reports whether only this machine can reach a host.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// A Site is a set of pages below a secret path. Other programs on the machine, and pages of other
// sites in the same browser, do not know the path; a page that resolves its own name to this
// machine (DNS rebinding) sends that name as the host, and is refused.
type Site struct {
	root    string // the secret path, with a slash at both ends
	handler http.Handler
}

// NewSite returns a site on which the handler answers requests. Their paths begin with a slash,
// without the secret.
func NewSite(handler http.Handler) *Site {
	root := "/" + rand.Text() + "/"
	return &Site{root, http.StripPrefix(root[:len(root)-1], handler)}
}

// URL returns the address of the site on a listener.
func (s *Site) URL(listener net.Listener) string {
	return "http://" + listener.Addr().String() + s.root
}

// ServeHTTP implements [http.Handler].
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Cache-Control", "no-store")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("X-Content-Type-Options", "nosniff")
	host := (&url.URL{Host: r.Host}).Hostname()
	secret := r.URL.Path[:min(len(r.URL.Path), len(s.root))]
	switch {
	case !IsLoopback(host):
		WriteError(w, http.StatusForbidden, errors.New("the host is not this machine"))
	case subtle.ConstantTimeCompare([]byte(secret), []byte(s.root)) != 1:
		http.NotFound(w, r)
	default:
		s.handler.ServeHTTP(w, r)
	}
}

// Serve answers requests on the listener until the context ends.
func (s *Site) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Write answers with a JSON value. The client may have left; then nobody reads the error.
func Write(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.Encode(value)
}

// WriteError answers with an error.
func WriteError(w http.ResponseWriter, status int, err error) {
	Write(w, status, map[string]string{"error": err.Error()})
}
