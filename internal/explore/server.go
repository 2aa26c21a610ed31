package explore

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

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/page"
	"github.com/interlock-sim/interlock/sim"
)

// A Scenario says what a server explores.
type Scenario struct {
	Lock    string             `json:"lock"`
	Summary string             `json:"summary"`
	Claims  []history.Property `json:"claims"`
	Text    string             `json:"text"` // the scenario in a line
	Clients int                `json:"clients"`
	Cycles  int                `json:"cycles"`
	Servers int                `json:"servers"`
	Faults  string             `json:"faults"`
	Start   Path               `json:"start"` // of the schedule with which to begin
}

// A Server explores over HTTP.
type Server struct {
	Explorer *Explorer
	Start    Path                          // the schedule with which to begin
	Out      string                        // the directory below which schedules are saved
	ReplayBy func(directory string) string // the command that replays a saved schedule

	token string
}

// bodyMax is the maximum length of the body of a request, in bytes.
const bodyMax = 1 << 20

// Loopback returns an error unless the address is host:port with a host of this machine.
func Loopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%q is not of the form host:port", address)
	}
	if !loopback(host) {
		return fmt.Errorf("%s is not a loopback address; the server has no password", address)
	}
	return nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// URL returns the address of the page on a listener.
func (s *Server) URL(listener net.Listener) string {
	return "http://" + listener.Addr().String() + s.root()
}

// root returns the secret path below which everything is served.
func (s *Server) root() string {
	if s.token == "" {
		s.token = rand.Text()
	}
	return "/" + s.token + "/"
}

// Serve answers requests on the listener until the context ends.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Handler returns the handler of all requests. Other programs on the machine, and pages of other
// sites in the same browser, do not know the secret path; a page that resolves its own name to this
// machine (DNS rebinding) sends that name as the host, and is refused.
func (s *Server) Handler() http.Handler {
	root := s.root()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /api/scenario", s.scenario)
	mux.HandleFunc("POST /api/state", s.answer(func(ctx context.Context, r *request) (any, error) {
		return s.Explorer.At(ctx, r.Path)
	}))
	mux.HandleFunc("POST /api/choose", s.answer(func(ctx context.Context, r *request) (any, error) {
		if r.Step == nil {
			return nil, &BadPath{"choose needs a step"}
		}
		return s.Explorer.Choose(ctx, r.Path, *r.Step)
	}))
	mux.HandleFunc("POST /api/run", s.answer(func(ctx context.Context, r *request) (any, error) {
		return s.Explorer.RunOn(ctx, r.Path)
	}))
	mux.HandleFunc("POST /api/save", s.answer(func(ctx context.Context, r *request) (any, error) {
		return s.Explorer.Save(ctx, r.Path, s.Out, s.ReplayBy)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Cache-Control", "no-store")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("X-Content-Type-Options", "nosniff")
		host := (&url.URL{Host: r.Host}).Hostname()
		secret := r.URL.Path[:min(len(r.URL.Path), len(root))]
		switch {
		case !loopback(host):
			writeError(w, http.StatusForbidden, errors.New("the host is not this machine"))
		case subtle.ConstantTimeCompare([]byte(secret), []byte(root)) != 1:
			http.NotFound(w, r)
		default:
			http.StripPrefix(root[:len(root)-1], mux).ServeHTTP(w, r)
		}
	})
}

// page answers with the page, which declares a policy for all but the frames around it. The page
// loads nothing else. It begins with the state at the start.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	start, err := s.Explorer.At(r.Context(), s.Start)
	if err != nil {
		writeError(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Security-Policy", "frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	shown := &page.Page{Data: start.Page, Live: true}
	shown.Write(w) // The client may have left; then nobody reads the error.
}

func (s *Server) scenario(w http.ResponseWriter, _ *http.Request) {
	of := s.Explorer.Scenario()
	write(w, http.StatusOK, Scenario{
		of.Subject.Name, of.Subject.Summary, of.Subject.Claims, of.String(), of.Clients, of.Cycles,
		max(1, of.Servers), of.Faults.String(), s.Start.To(s.Start.Length),
	})
}

// A request is the body of a request: a path and, for choose, a step.
type request struct {
	Path
	Step *sim.Step `json:"step"`
}

// answer returns a handler that answers with what the function returns.
func (s *Server) answer(do func(context.Context, *request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body request
		decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyMax))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&body); err != nil {
			writeError(w, http.StatusBadRequest, fmt.Errorf("the body is malformed: %w", err))
			return
		}
		value, err := do(r.Context(), &body)
		var bad *BadPath
		switch {
		case errors.As(err, &bad):
			writeError(w, http.StatusBadRequest, err)
		case err != nil:
			writeError(w, http.StatusInternalServerError, err)
		default:
			write(w, http.StatusOK, value)
		}
	}
}

func writeError(w http.ResponseWriter, status int, err error) {
	write(w, status, map[string]string{"error": err.Error()})
}

// write answers with a JSON value. The client may have left; then nobody reads the error.
func write(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.Encode(value)
}
