package lock

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A sessionClient is a client that has only a session, and takes a second for a sync.
type sessionClient struct {
	Client
	session int64
}

func (c *sessionClient) SessionID() int64 { return c.session }

func (c *sessionClient) Sync(path string) (string, error) {
	time.Sleep(time.Second)
	return path, nil
}

// A write whose function sends another request is answered after that one.
func TestPairs(t *testing.T) {
	const second = time.Second
	refuse := func() error { return errors.New("refused") }
	answer := func() error {
		time.Sleep(second)
		return nil
	}
	for _, test := range []struct {
		name   string
		send   func(p *proof, c *sessionClient)
		proven time.Duration // of the last session, since the beginning; -1 for never
	}{
		{"a write", func(p *proof, c *sessionClient) { p.write(c, answer) }, -1},
		{"two writes", func(p *proof, c *sessionClient) {
			p.write(c, answer)
			p.write(c, answer)
		}, 0},
		{"three writes", func(p *proof, c *sessionClient) {
			p.write(c, answer)
			p.write(c, answer)
			p.write(c, answer)
		}, second},
		{"a sync and a write", func(p *proof, c *sessionClient) {
			time.Sleep(second)
			p.sync(c, "/")
			p.write(c, answer)
		}, second},
		{"a write and a sync", func(p *proof, c *sessionClient) {
			p.write(c, answer)
			p.sync(c, "/")
		}, -1},
		{"a write and one that fails", func(p *proof, c *sessionClient) {
			p.write(c, answer)
			p.write(c, refuse)
		}, -1},
		{"two writes, the second sent before the reply to the first", func(p *proof,
			c *sessionClient,
		) {
			p.write(c, func() error { return p.write(c, answer) })
		}, -1},
		{"two writes of different sessions", func(p *proof, c *sessionClient) {
			p.write(c, answer)
			c.session++
			p.write(c, answer)
		}, -1},
		{"two writes, while the session changes", func(p *proof, c *sessionClient) {
			p.write(c, answer)
			p.write(c, func() error {
				c.session++
				return nil
			})
		}, -1},
		{"writes of an older session come last", func(p *proof, c *sessionClient) {
			p.write(c, func() error {
				c.session++
				p.write(c, answer)
				return p.write(c, answer)
			})
		}, 0},
		{"without a session", func(p *proof, c *sessionClient) {
			c.session = 0
			p.write(c, answer)
			p.write(c, answer)
		}, -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, p, c := time.Now(), new(proof), &sessionClient{session: 7}
				test.send(p, c)
				got := time.Duration(-1)
				if proven := p.times(c.session).proven; !proven.IsZero() {
					got = proven.Sub(began)
				}
				if got != test.proven {
					t.Errorf("proven since %v, want %v", got, test.proven)
				}
			})
		})
	}
}

// A sync precedes a write only if no first request is recent, which on a slow link is any within a
// ninth of the timeout.
func TestPrecede(t *testing.T) {
	for _, test := range []struct {
		trip  time.Duration // of the last request, in seconds of a timeout of 90 s
		every time.Duration // between two calls
		want  []time.Duration
	}{
		{0, 2e9, []time.Duration{0, 0, 5e9, 5e9, 10e9}},
		{1.8e9, 2e9, []time.Duration{0, 0, 5e9, 5e9, 10e9}},
		{1.81e9, 2e9, []time.Duration{0, 0, 0, 0, 0}},
		{1.81e9, 9e9, []time.Duration{0, 10e9, 20e9, 30e9, 40e9}},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, c := &proof{validity: 30 * time.Second}, &sessionClient{session: 7}
			var asked []time.Duration
			began := time.Now()
			for range 5 {
				if err := p.precede(c, "/"); err != nil {
					t.Fatal(err)
				}
				asked = append(asked, p.times(7).asked.Sub(began))
				time.Sleep(test.every)
				p.noteTrip(test.trip)
			}
			if !slices.Equal(asked, test.want) {
				t.Errorf("trip %v: asked at %v, want %v", test.trip, asked, test.want)
			}
		})
	}
}
