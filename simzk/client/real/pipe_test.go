package real

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/internal/base/refusal"
	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

var _ net.Conn = (*pipe)(nil)

// A testPipe is a pipe that counts its notifications.
type testPipe struct {
	*pipe
	notifications int
}

func newTestPipe() *testPipe {
	p := new(testPipe)
	p.pipe = newPipe(func() { p.notifications++ }, noLatency)
	return p
}

// frame returns a body with its length prefix.
func frame(body string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// A readResult is the result of a Read in a separate goroutine, and its duration.
type readResult struct {
	text  string
	err   error
	after time.Duration
	done  bool
}

// read starts a Read and waits until it has returned or is blocked.
func (p *testPipe) read() *readResult {
	r, began := new(readResult), time.Now()
	go func() {
		buffer := make([]byte, 16)
		n, err := p.Read(buffer)
		*r = readResult{string(buffer[:n]), err, time.Since(began), true}
	}()
	synctest.Wait()
	return r
}

func (r *readResult) check(t *testing.T, want readResult) {
	t.Helper()
	synctest.Wait()
	if want.done = true; *r != want {
		t.Errorf("Read: %+v, want %+v", *r, want)
	}
}

func TestPipeReadWaitsForBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPipe()
		r := p.read()
		time.Sleep(time.Hour)
		if r.done {
			t.Fatalf("Read of nothing: %+v", r)
		}
		p.push([]byte("one"))
		r.check(t, readResult{text: "one", after: time.Hour})
		p.push([]byte("two"))
		p.push([]byte("three"))
		p.read().check(t, readResult{text: "twothree"})
	})
}

// A Read into an empty buffer returns at once, even if there is nothing to read.
func TestPipeReadsOfNothing(t *testing.T) {
	if n, err := newTestPipe().Read(nil); n != 0 || err != nil {
		t.Errorf("%d bytes, error %v", n, err)
	}
}

// A deadline ends a Read at its time, and every later one until the deadline is set again.
func TestPipeDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPipe()
		if err := p.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		r := p.read()
		time.Sleep(time.Second)
		r.check(t, readResult{err: os.ErrDeadlineExceeded, after: time.Second})
		p.read().check(t, readResult{err: os.ErrDeadlineExceeded})
		var timeout net.Error
		if !errors.As(r.err, &timeout) || !timeout.Timeout() {
			t.Errorf("error %v is not a timeout", r.err)
		}
		if err := p.SetDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		r = p.read()
		time.Sleep(time.Hour)
		p.push([]byte("late"))
		r.check(t, readResult{text: "late", after: time.Hour})
	})
}

// Changing the deadline while a Read waits changes the end of that Read.
func TestPipeDeadlineMoves(t *testing.T) {
	tests := []struct {
		name          string
		before, after time.Duration // relative to the start of the Read; 0 for none
		want          time.Duration
	}{
		{"set", 0, 3 * time.Second, 3 * time.Second},
		{"later", 2 * time.Second, 5 * time.Second, 5 * time.Second},
		{"earlier", 5 * time.Second, 2 * time.Second, 2 * time.Second},
		{"into the past", 5 * time.Second, time.Second / 2, time.Second},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, began := newTestPipe(), time.Now()
				if tc.before > 0 {
					p.SetReadDeadline(began.Add(tc.before))
				}
				r := p.read()
				time.Sleep(time.Second)
				p.SetReadDeadline(began.Add(tc.after))
				time.Sleep(10 * time.Second)
				r.check(t, readResult{err: os.ErrDeadlineExceeded, after: tc.want})
			})
		})
	}
}

// A Read that gets bytes before its deadline succeeds.
func TestPipeReadBeforeDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPipe()
		p.SetReadDeadline(time.Now().Add(2 * time.Second))
		r := p.read()
		time.Sleep(time.Second)
		p.push([]byte("x"))
		r.check(t, readResult{text: "x", after: time.Second})
	})
}

// A Write does not wait for a reader, whatever its deadline.
func TestPipeWriteIsBuffered(t *testing.T) {
	p := newTestPipe()
	p.SetWriteDeadline(time.Now().Add(-time.Second))
	first, second := frame("first"), frame("second")
	for _, b := range [][]byte{first[:2], first[2:], append(second, frame("third")[:5]...)} {
		if n, err := p.Write(b); n != len(b) || err != nil {
			t.Fatalf("Write(%q): %d bytes, error %v", b, n, err)
		}
	}
	if p.notifications != 3 {
		t.Errorf("%d notifications of writes, want 3", p.notifications)
	}
	frames, closed := p.take()
	if !slices.EqualFunc(frames, []string{"first", "second"},
		func(b []byte, s string) bool { return string(b) == s }) || closed {
		t.Errorf("frames %q, closed %t", frames, closed)
	}
	p.Write(frame("third")[5:])
	if frames, _ = p.take(); len(frames) != 1 || string(frames[0]) != "third" {
		t.Errorf("frames %q, want the third", frames)
	}
	if frames, _ = p.take(); len(frames) > 0 {
		t.Errorf("frames %q are taken twice", frames)
	}
}

// However the bytes are cut in transit, they arrive unchanged.
func TestPipeKeepsBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newTestPipe()
		var pushed, read, written, taken []byte
		buffer := make([]byte, 8)
		for _, body := range rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 20), 1, 10).Draw(t,
			"frames") {
			framed := frame(string(body))
			cut := rapid.IntRange(0, len(framed)).Draw(t, "cut")
			for _, part := range [][]byte{framed[:cut], framed[cut:]} {
				p.push(part)
				p.Write(part)
			}
			pushed, written = append(pushed, framed...), append(written, framed...)
			for range rapid.IntRange(0, 3).Draw(t, "reads") {
				if len(read) < len(pushed) {
					n, _ := p.Read(buffer[:rapid.IntRange(1, len(buffer)).Draw(t, "room")])
					read = append(read, buffer[:n]...)
				}
			}
			if rapid.Bool().Draw(t, "take") {
				taken = append(taken, takeFramed(p)...)
			}
		}
		p.end()
		rest, err := io.ReadAll(p)
		if read = append(read, rest...); !bytes.Equal(read, pushed) || err != nil {
			t.Fatalf("read %q, error %v, want %q", read, err, pushed)
		}
		if taken = append(taken, takeFramed(p)...); !bytes.Equal(taken, written) {
			t.Fatalf("taken %q, want %q", taken, written)
		}
	})
}

// takeFramed takes frames and restores their length prefixes.
func takeFramed(p *testPipe) []byte {
	var all []byte
	frames, _ := p.take()
	for _, body := range frames {
		all = append(all, frame(string(body))...)
	}
	return all
}

// After the server has closed the connection, the client can still read what was sent before. Its
// own Close has no effect.
func TestPipeEndedByServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPipe()
		p.SetReadDeadline(time.Now().Add(time.Hour))
		p.push([]byte("last words"))
		p.end()
		p.end()
		p.read().check(t, readResult{text: "last words"})
		p.read().check(t, readResult{err: io.EOF})
		if n, err := p.Write(frame("x")); n != 0 || err != io.ErrClosedPipe {
			t.Errorf("Write: %d bytes, error %v, want %v", n, err, io.ErrClosedPipe)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if frames, closed := p.take(); len(frames) > 0 || closed || p.closedByClient() ||
			p.notifications > 0 {
			t.Errorf("frames %q, closed by the client %t, told of %d", frames, closed,
				p.notifications)
		}
	})
}

// Closing the connection from either side wakes a waiting Read, with or without a deadline.
func TestPipeEndWakesRead(t *testing.T) {
	for name, end := range map[string]func(*testPipe){
		"server": func(p *testPipe) { p.end() },
		"client": func(p *testPipe) { p.Close() },
	} {
		for _, deadline := range []time.Duration{0, time.Hour} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := newTestPipe()
					if deadline > 0 {
						p.SetReadDeadline(time.Now().Add(deadline))
					}
					r := p.read()
					time.Sleep(time.Second)
					end(p)
					r.check(t, readResult{err: io.EOF, after: time.Second})
				})
			})
		}
	}
}

// If the client closes the connection, the cluster is notified once, and gets everything that was
// written before.
func TestPipeClosedByClient(t *testing.T) {
	p := newTestPipe()
	p.Write(frame("x"))
	for range 2 {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := p.Write(frame("y")); err != io.ErrClosedPipe {
		t.Errorf("Write: error %v, want %v", err, io.ErrClosedPipe)
	}
	frames, closed := p.take()
	if len(frames) != 1 || string(frames[0]) != "x" || !closed || !p.closedByClient() ||
		p.notifications != 2 {
		t.Errorf("frames %q, closed %t, told %d times, want 2", frames, closed, p.notifications)
	}
	p.end()
	if _, closed = p.take(); !closed {
		t.Error("closing at the server's side hides the client's Close")
	}
}

func ping() []byte {
	b, at := wire.BeginFrame(nil)
	return wire.EndFrame(operation.AppendRequest(b, &wire.Request{Xid: wire.XidPing, Op: wire.OpPing}),
		at)
}

// A ping is answered at once, without a notification.
func TestPipeAnswersPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPipe()
		var answer [20]byte
		answered := false
		go func() {
			_, err := io.ReadFull(p, answer[:])
			answered = err == nil
		}()
		synctest.Wait()
		if n, err := p.Write(ping()); n != len(ping()) || err != nil {
			t.Fatalf("Write: %d bytes, error %v", n, err)
		}
		synctest.Wait()
		xid, _, code, err := wire.ReplyHeader(answer[4:])
		if length := binary.BigEndian.Uint32(answer[:]); !answered || length != 16 ||
			xid != wire.XidPing || code != wire.OK || err != nil {
			t.Errorf("answer %x", answer)
		}
		if frames, _ := p.take(); len(frames) > 0 || p.notifications > 0 {
			t.Errorf("frames %q, told %d times", frames, p.notifications)
		}
	})
}

// The reply to a ping follows the bytes that were pushed before. Pings that the pipe does not
// answer are sent like other frames.
func TestPipePingsKeepTheirPlace(t *testing.T) {
	p := newTestPipe()
	p.push([]byte("before"))
	p.Write(ping())
	p.push([]byte("behind"))
	p.pings = false
	p.Write(ping())
	p.end()
	all, err := io.ReadAll(p)
	if want := slices.Concat([]byte("before"), pingReply, []byte("behind")); !bytes.Equal(all,
		want) ||
		err != nil {
		t.Errorf("read %q, error %v, want %q", all, err, want)
	}
	if frames, _ := p.take(); len(frames) != 1 || p.notifications != 1 {
		t.Errorf("frames %q, told %d times, want one ping", frames, p.notifications)
	}
}

// A connection whose writes fail can still be read.
func TestPipeFailsWrites(t *testing.T) {
	p := newTestPipe()
	if p.failing() {
		t.Error("writes fail from the beginning")
	}
	p.failWrites()
	for _, b := range [][]byte{frame("x"), ping()} {
		var failed *net.OpError
		if n, err := p.Write(b); n != 0 || !errors.As(err, &failed) {
			t.Errorf("Write: %d bytes, error %v", n, err)
		}
	}
	p.push([]byte("y"))
	p.end()
	if all, err := io.ReadAll(p); string(all) != "y" || err != nil || !p.failing() {
		t.Errorf("read %q, error %v, failing %t", all, err, p.failing())
	}
}

func TestPipeAddresses(t *testing.T) {
	p := newTestPipe()
	for _, address := range []net.Addr{p.LocalAddr(), p.RemoteAddr()} {
		if address.Network() != "memory" || address.String() != "memory" {
			t.Errorf("address %v of the network %s", address, address.Network())
		}
	}
}

// A frame of the protocol on a connection that no patched library has dialed is refused. What else a
// program sends to find out whether a server is there is not.
func TestUnknownClientIsRefused(t *testing.T) {
	for sent, refused := range map[string]bool{"ruok": false, "\x00\x00\x00\x01x": true} {
		p := newPipe(func() {}, noLatency)
		p.foreign = true
		func() {
			defer func() {
				message, _ := recover().(string)
				if strings.HasPrefix(message, refusal.Mark) != refused {
					t.Errorf("%q: %q, want a refusal: %v", sent, message, refused)
				}
			}()
			p.Write([]byte(sent))
		}()
	}
}

// noLatency is the round trip of a link that is not slow.
func noLatency() time.Duration { return 0 }
