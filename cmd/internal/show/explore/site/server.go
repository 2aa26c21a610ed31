// Package site lets a person explore the schedules of a lock on a page.
//
// # The JSON API
//
// A [Server] serves a page and these requests below a secret path. A body is a JSON object. Times
// are in nanoseconds of virtual time.
//
//	GET  api/scenario              what is explored: [Scenario]
//	POST api/state   PATH          the state at the end of a path: [explore.State]
//	POST api/choose  PATH + step   the state after another step, such as "step": "cut c2"
//	POST api/run     PATH          the state after the default policy has gone on from the end of
//	                               the path to the first violation, or to the end of the run
//	POST api/save    PATH          saves the schedule: [explore.Saved]
//
// PATH is {"length": 12, "deviations": [{"index": 10, "step": "cut c2"}]}: the first 12 steps.
// Number 10, counted from 0, takes that step; the others follow the default policy. Deviations at
// the length or beyond it are ignored, so that a shorter length goes back, and every path is a
// branch of its own. The answers to state, choose and run have the path in the same form. If a run
// ends before the path does, the answer has the shorter path.
//
// An answer other than 200 is {"error": "…"}: 400 if a step of the path is not enabled or the body
// is malformed.
package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/interlock-sim/interlock/internal/base/localhttp"
	"github.com/interlock-sim/interlock/internal/show/explore"
	"github.com/interlock-sim/interlock/internal/show/page"
	"github.com/interlock-sim/interlock/sim"
)

// A Scenario says what a server explores, and with which schedule to begin.
type Scenario struct {
	explore.Scenario
	Start explore.Path `json:"start"`
}

// A Server explores over HTTP.
type Server struct {
	Explorer *explore.Explorer
	Start    explore.Path // the schedule with which to begin
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
			return nil, &explore.BadPath{Reason: "choose needs a step"}
		}
		return s.Explorer.Choose(ctx, r.Path, *r.Step)
	}))
	mux.HandleFunc("POST /api/run", s.answer(func(ctx context.Context, r *request) (any, error) {
		return s.Explorer.RunOn(ctx, r.Path)
	}))
	mux.HandleFunc("POST /api/save", s.answer(func(ctx context.Context, r *request) (any, error) {
		return s.Explorer.Save(ctx, r.Path)
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
	localhttp.Write(w, http.StatusOK,
		Scenario{*s.Explorer.Scenario(), s.Start.To(s.Start.Length)})
}

// A request is the body of a request: a path and, for choose, a step.
type request struct {
	explore.Path
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
		var bad *explore.BadPath
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
