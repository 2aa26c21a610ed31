package bundled_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-sim/interlock/cmd/bundled/goredis"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
	"github.com/interlock-sim/interlock/sim/simredis"
	"github.com/interlock-sim/interlock/sim/simsql"
)

// A client of Redis or a database that all processes keep in one variable is refused, not judged.
func TestSharedClient(t *testing.T) {
	var keys *redis.Client
	var rows *sql.DB
	for _, tc := range []struct {
		service sim.Service
		request func(context.Context, *scenarios.Process) error
	}{
		{simredis.Service{}, func(ctx context.Context, p *scenarios.Process) error {
			if keys == nil {
				keys = goredis.Open(p.Handle.(*simredis.Client), 0)
			}
			return keys.Set(ctx, "k", 1, 0).Err()
		}},
		{
			simsql.Service{Schema: "CREATE TABLE t (n INT)"},
			func(ctx context.Context, p *scenarios.Process) error {
				if rows == nil {
					rows = p.Handle.(*simsql.Client).DB()
				}
				_, err := rows.ExecContext(ctx, "UPDATE t SET n = 1")
				return err
			},
		},
	} {
		s := scenarios.Scenario{Clients: 2, Cycles: 1, Subject: scenarios.Subject{
			Name: "sharing", Service: tc.service,
			Claims: []history.Property{history.NoSpuriousFailure},
			Open: func(p *scenarios.Process) (scenarios.Locker, error) {
				request := func(ctx context.Context) error { return tc.request(ctx, p) }
				return scenarios.Mutex(request, request), nil
			},
		}}
		for _, search := range []func() report.Report{
			func() report.Report {
				return (&campaign.Campaign{Scenario: s, Schedules: 20}).Run(t.Context(), t)
			},
			func() report.Report { return (&exhaustive.Search{Scenario: s}).Run(t.Context(), t) },
		} {
			keys, rows = nil, nil
			f := search().Common().Failure
			if f == nil ||
				!strings.Contains(engine.Refusal(f.Violations[0]), " that belongs to c") {
				t.Errorf("%T: not refused: %+v", tc.service, f)
			}
		}
	}
}
