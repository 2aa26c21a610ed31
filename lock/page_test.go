package lock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk"
)

// lockPage returns docs/lock.md.
func lockPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../docs/lock.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// leadAgain is the loop of docs/lock.md.
func leadAgain(ctx context.Context, mutex *lock.Mutex, lead func(context.Context) error) {
	for ctx.Err() == nil {
		if err := mutex.Do(ctx, lead); err != nil {
			log.Print(err)
			time.Sleep(time.Second)
		}
	}
}

// The loop of docs/lock.md leads again after a failure, after a pause, and logs only failures.
func TestLeaderLoop(t *testing.T) {
	source, err := os.ReadFile("page_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, loop, _ := strings.Cut(string(source), "func(context.Context) error) {\n")
	loop, _, _ = strings.Cut(loop, "}\n\n")
	loop = "```go\n" + strings.ReplaceAll("\n"+loop, "\n\t", "\n")[1:] + "```\n"
	if !strings.Contains(lockPage(t), loop) {
		t.Errorf("docs/lock.md lacks the loop:\n%s", loop)
	}
	var logged bytes.Buffer
	log.SetOutput(&logged)
	log.SetFlags(0)
	defer log.SetFlags(log.LstdFlags)
	defer log.SetOutput(os.Stderr)
	inWorld(t, 1, func(w *world) {
		ctx, cancel := context.WithCancel(background)
		var terms []time.Duration
		go leadAgain(ctx, w.mutex(1), func(context.Context) error {
			terms = append(terms, time.Since(w.began))
			switch len(terms) {
			case 1, 3:
				return errWork
			case 4:
				cancel()
			}
			return nil
		})
		w.pass(5 * time.Second)
		if len(terms) != 4 || terms[1]-terms[0] < time.Second || terms[3]-terms[2] < time.Second {
			t.Errorf("terms at %v: want four, a second after a failure", terms)
		}
	})
	if want := strings.Repeat(errWork.Error()+"\n", 2); logged.String() != want {
		t.Errorf("logged %q, want %q", logged.String(), want)
	}
}

// The figures that docs/lock.md gives for three session timeouts are those of a simulated service.
func TestSettings(t *testing.T) {
	page := lockPage(t)
	// row returns the numbers in the cells of a row, for each timeout.
	row := func(heading string) [][]float64 {
		line := regexp.MustCompile(`(?m)^\| ` + heading + ` \|(.*)\|$`).FindStringSubmatch(page)
		if line == nil {
			t.Fatalf("docs/lock.md has no row %q", heading)
		}
		var cells [][]float64
		for cell := range strings.SplitSeq(line[1], "|") {
			var numbers []float64
			for _, n := range regexp.MustCompile(`[0-9.]+`).FindAllString(cell, -1) {
				var number float64
				fmt.Sscan(n, &number)
				numbers = append(numbers, number)
			}
			cells = append(cells, numbers)
		}
		return cells
	}
	crashes := row("a crashed holder blocks others for up to")
	cuts := row("a disconnected holder loses the lock after")
	trips := row("a round trip takes at most") // TestSlowLink tests more.
	requests := row("requests of a holder, a minute")
	for i, timeout := range row("session timeout") {
		seconds := timeout[0]
		m := measureSetting(t, time.Duration(seconds*float64(time.Second)))
		if crash := crashes[i][0]; m.crash > crash || m.crash < crash-1 {
			t.Errorf("%v s: a crash blocks for up to %.2f s, the page says %v", seconds, m.crash, crash)
		}
		if c := cuts[i]; m.least < c[0] || m.most > c[1]+0.05 || m.most < c[1]-seconds/12 {
			t.Errorf("%v s: the lock is lost after %.2f to %.2f s, the page says %v", seconds, m.least,
				m.most, c)
		}
		if trip := trips[i][0]; math.Abs(trip-seconds*8/100) > 1e-9 {
			t.Errorf("%v s: the page allows a round trip of %v s", seconds, trip)
		}
		if n := requests[i][0]; math.Abs(m.requests-n) > n/10 {
			t.Errorf("%v s: %v requests, the page says %v", seconds, m.requests, n)
		}
	}
}

// A setting is what a session timeout costs, in seconds.
type setting struct {
	crash       float64 // how long a holder blocks others after it has crashed, at most
	least, most float64 // when a disconnected holder loses the lock
	requests    float64 // of a holder in a minute
}

// measureSetting lets a holder crash, or cuts it off, at moments that are spread over a session
// timeout. The tick is 2 s.
func measureSetting(t *testing.T, timeout time.Duration) setting {
	found := setting{least: math.Inf(1)}
	const moments = 12
	for moment := range moments {
		for _, crash := range []bool{false, true} {
			config := simzk.Config{Servers: 1, SessionTimeout: timeout}
			inConfigured(t, config, 2, func(w *world) {
				w.create("/lock", 0, 0)
				mutex := func(client int) *lock.Mutex {
					conn := w.client(client)
					return must(lock.NewMutex(lock.NewSession(connecting(conn), conn.Events(),
						timeout), "/lock", lock.WithRandom(rand.NewChaCha8([32]byte{byte(client)}))))
				}
				lease := w.acquire(mutex(1))
				waiter := w.start(background, mutex(2))
				if moment == 0 {
					before := w.requests(1, "")
					for range int(time.Minute / (10 * time.Millisecond)) {
						w.pass(10 * time.Millisecond) // Or else requests would seem to take 100 ms.
					}
					found.requests = float64(w.requests(1, "") - before)
				}
				w.pass(timeout + timeout*time.Duration(moment)/moments)
				over := waiter.returned
				if crash {
					w.cluster.Crash(w.client(1).Link)
				} else {
					w.cluster.Isolate(w.client(1).Link)
					over = func() bool { return errors.Is(lease.Err(), lock.ErrLost) }
				}
				began := time.Now()
				for !over() {
					w.pass(20 * time.Millisecond)
				}
				if lasted := time.Since(began).Seconds(); crash {
					found.crash = max(found.crash, lasted)
				} else {
					found.least, found.most = min(found.least, lasted), max(found.most, lasted)
				}
			})
		}
	}
	return found
}
