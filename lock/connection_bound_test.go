package lock

import (
	"testing"
	"testing/synctest"
	"time"
)

// A lease on a young connection is within the bound, whether the client's clock loses a tenth or
// pings are a twelfth late. The leader prolongs the session when the connection begins. It hears of
// a ping by the answer to its own last one, which can be a quarter older than the first request of
// the pair.
func TestBoundOfConnections(t *testing.T) {
	const timeout, step = 3600 * time.Second, 10 * time.Second
	began := time.Now()
	for _, world := range []struct {
		late  time.Duration // of pings
		clock float64       // the time that passes while the client's clock shows one second
	}{{0, 1}, {timeout / 12, 1}, {0, 1 / 0.9}} {
		passed := func(shown time.Duration) time.Duration {
			return time.Duration(world.clock * float64(shown))
		}
		for _, valid := range []time.Duration{validity(timeout), validity(timeout / 4)} {
			for opened := time.Duration(0); opened <= timeout; opened += 5 * step {
				for asked := opened; asked <= opened+2*timeout; asked += step {
					p := &proof{
						timeout: timeout, validity: valid, session: 7,
						sendTimes:  sendTimes{proven: began.Add(asked)},
						connection: connection{began: began, opened: began.Add(opened)},
					}
					prolonged, third := time.Duration(0), passed(timeout/3)
					heard := passed(asked) - timeout/4 - world.late // of what the client sent until then
					if first := passed(opened) + third; heard >= first {
						prolonged = max(first, heard-third)
					}
					ends := passed(p.provenAt(7).Add(valid).Sub(began))
					if ends > prolonged+timeout {
						t.Fatalf("%+v, opened after %v, asked after %v: the session can end %v before the"+
							" lease of %v", world, opened, asked, ends-prolonged-timeout, valid)
					}
				}
			}
		}
	}
}

// Unless a connection is unstable, each lease on it has half of its time left when the first
// request of its pair is sent.
func TestStableConnections(t *testing.T) {
	const timeout = 3600 * time.Second
	began := time.Now()
	for _, valid := range []time.Duration{validity(timeout), validity(timeout / 4)} {
		stable := 0
		for took := time.Duration(0); took <= timeout; took += 10 * time.Second {
			unstable, least := false, valid
			for age := time.Duration(0); age < timeout*2/3; age += 10 * time.Second {
				asked := began.Add(took + age)
				p := &proof{
					timeout: timeout, validity: valid, session: 7,
					sendTimes:  sendTimes{proven: asked},
					connection: connection{began: began, opened: began.Add(took)},
				}
				unstable = p.unstable()
				least = min(least, p.provenAt(7).Add(valid).Sub(asked))
			}
			if want := least < valid/2; unstable != want {
				t.Errorf("opened in %v: unstable %v, but %v of %v are left", took, unstable, least, valid)
			}
			if !unstable {
				stable++
			}
		}
		if stable < 45 { // an eighth
			t.Errorf("only %d connections are stable for a lease of %v", stable, valid)
		}
	}
}

// The client pings in a third of what the servers have granted, which may be more than it has asked
// for, and change with a connection.
func TestConnectionsGoByGrantedTimeout(t *testing.T) {
	const second = time.Second
	d, s := &dialing{asked: 2 * second, granted: 4 * second}, newSession(2*second)
	d.attach(s)
	if s.timeout != 2*second || s.proof.timeout != 4*second {
		t.Errorf("timeout %v, of the pings %v; want 2s and 4s", s.timeout, s.proof.timeout)
	}
	if valid := s.proof.validity; valid != validity(2*second) {
		t.Errorf("a lease of %v, want a third of 2s", valid)
	}
	if err := d.grant(6 * second); err != nil || s.proof.timeout != 6*second {
		t.Errorf("timeout of the pings %v, error %v; want 6s", s.proof.timeout, err)
	}
}

// While confirmations do not move a deadline, they come sooner and sooner, up to a limit.
func TestDelay(t *testing.T) {
	const timeout = time.Minute
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct{ left, want time.Duration }{
			{time.Minute, 10 * time.Second},
			{12 * time.Second, 6 * time.Second},
			{3 * time.Second, 1500 * time.Millisecond},
			{time.Second, time.Second},
			{1, time.Second},
			{-time.Second, time.Second},
		} {
			p := proof{validity: validity(timeout)}
			if d := p.delay(time.Now().Add(test.left), timeout/6); d != test.want {
				t.Errorf("%v before the deadline: the next confirmation in %v, want %v", test.left, d,
					test.want)
			}
		}
	})
}
