package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/localhttp"
	"github.com/interlock-sim/interlock/internal/show/page"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
)

// A Scenario says what a server explores.
type Scenario struct {
	Lock    string             `json:"lock"`
	Summary string             `json:"summary"`
	Claims  []history.Property `json:"claims"`
	Text    string             `json:"text"` // the scenario in a line
	scenarios.Dimensions
	Start Path `json:"start"` // of the schedule with which to begin
}

// A Server explores over HTTP.
type Server struct {
	Explorer *Explorer
	Start    Path                          // the schedule with which to begin
	Out      string                        // the directory below which schedules are saved
	ReplayBy func(directory string) string // the command that replays a saved schedule
}

// bodyMax is the maximum length of the body of a request, in bytes.
const bodyMax = 1 << 20

// Site returns the pages of the server.
func (s *Server) Site() *localhttp.Site {
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
	return localhttp.NewSite(mux)
}

// page answers with the page, which declares a policy for all but the frames around it. The page
// loads nothing else. It begins with the state at the start.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	start, err := s.Explorer.At(r.Context(), s.Start)
	if err != nil {
		localhttp.WriteError(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Security-Policy", "frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	shown := &page.Page{Data: start.Page, Live: true}
	shown.Write(w) // The client may have left; then nobody reads the error.
}

func (s *Server) scenario(w http.ResponseWriter, _ *http.Request) {
	of := s.Explorer.Scenario()
	answer := Scenario{
		of.Subject.Name, of.Subject.Summary, of.Subject.Claims, of.String(), of.Dimensions(),
		s.Start.To(s.Start.Length),
	}
	answer.Servers = of.EffectiveServers()
	localhttp.Write(w, http.StatusOK, answer)
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
			localhttp.WriteError(w, http.StatusBadRequest,
				fmt.Errorf("the body is malformed: %w", err))
			return
		}
		value, err := do(r.Context(), &body)
		var bad *BadPath
		switch {
		case errors.As(err, &bad):
			localhttp.WriteError(w, http.StatusBadRequest, err)
		case err != nil:
			localhttp.WriteError(w, http.StatusInternalServerError, err)
		default:
			localhttp.Write(w, http.StatusOK, value)
		}
	}
}
