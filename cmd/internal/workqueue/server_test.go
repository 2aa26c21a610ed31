package workqueue

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/interlock-sim/interlock/cmd/internal/testkit/natstest"
)

// A server that is not there is unreachable. One that refuses the user, or whose certificate nobody
// vouches for, is not: another attempt does not help.
func TestUnreachable(t *testing.T) {
	gone := natstest.Start(t)
	gone.Stop()
	secured, credentials, ca := natstest.StartSecured(t)
	_, others, foreign := natstest.StartSecured(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts no connection
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, tc := range []struct {
		name        string
		server      Server
		connects    bool
		unreachable bool
	}{
		{"with all", Server{secured.URL(), credentials, ca}, true, false},
		{"gone", Server{URL: gone.URL()}, false, true},
		{"silent", Server{URL: "nats://" + silent.Addr().String()}, false, true},
		{"no such name", Server{URL: "nats://no-such-host.invalid:4222"}, false, true},
		{"without credentials", Server{secured.URL(), "", ca}, false, false},
		{"with another user", Server{secured.URL(), others, ca}, false, false},
		{"without CA", Server{secured.URL(), credentials, ""}, false, false},
		{"with another CA", Server{secured.URL(), credentials, foreign}, false, false},
		{"with credentials as CA", Server{secured.URL(), credentials, credentials}, false, false},
		{"with a CA as credentials", Server{secured.URL(), ca, ca}, false, false},
		{"without the files", Server{secured.URL(), "nosuch", ca}, false, false},
	} {
		q, err := Dial(t.Context(), tc.server, "test", func(line string) { t.Log(line) })
		if err == nil {
			q.Close()
		}
		if (err == nil) != tc.connects || Unreachable(err) != tc.unreachable {
			t.Errorf("%s: %v, unreachable %v", tc.name, err, Unreachable(err))
		}
	}
}

// A watch that has lost its connection says so once, in the words of this package; other errors of
// the client library are told as they are.
func TestErrorsOfTheClient(t *testing.T) {
	var told []string
	q, err := Dial(t.Context(), Server{URL: natstest.Start(t).URL()}, "test",
		func(line string) { told = append(told, line) })
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	q.conn.Opts.AsyncErrorCB(q.conn, nil, fmt.Errorf("a watch: %w", nats.ErrConsumerNotActive))
	if len(told) > 0 {
		t.Errorf("told %q", told)
	}
	q.conn.Opts.AsyncErrorCB(q.conn, nil, errors.New("something else"))
	if len(told) != 1 || !strings.Contains(told[0], "something else") {
		t.Errorf("told %q", told)
	}
}
