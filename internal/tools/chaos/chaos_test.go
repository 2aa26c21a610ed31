package main

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
)

func TestPlan(t *testing.T) {
	const length, servers, clients = 5 * time.Minute, 3, 4
	plan := newPlan(7, length, servers, clients)
	if !reflect.DeepEqual(plan, newPlan(7, length, servers, clients)) {
		t.Error("two plans of one seed differ")
	}
	if reflect.DeepEqual(plan, newPlan(8, length, servers, clients)) {
		t.Error("the plans of two seeds are equal")
	}
	struck, down, last := [faultKinds]bool{}, 0, time.Duration(0)
	for _, m := range moments(plan) {
		if m.at < last || m.at > length-quiet {
			t.Errorf("%v at %v, after %v", m.fault, m.at, last)
		}
		struck[m.fault.kind], last = true, m.at
		if m.fault.kind.strikesServer() {
			if m.ends {
				down--
			} else {
				down++
			}
		}
		if down > 1 {
			t.Errorf("%v: %d servers are down", m.fault, down)
		}
	}
	for kind, ok := range struck {
		if !ok {
			t.Errorf("no %v in 5 minutes", faultKind(kind))
		}
	}
}

// nodes is a directory in which each session of the list has a node.
type nodes []int64

func (n nodes) Sync(path string) (string, error) { return path, nil }
func (n nodes) Close()                           {}

func (n nodes) Children(string) (names []string, _ *zk.Stat, _ error) {
	for i := range n {
		names = append(names, string(rune('a'+i)))
	}
	return names, nil, nil
}

func (n nodes) Exists(path string) (bool, *zk.Stat, error) {
	return true, &zk.Stat{EphemeralOwner: n[path[len(path)-1]-'a']}, nil
}

// telling returns a referee and a function that sends it a message of a client.
func telling(t *testing.T, sessions ...int64) (*referee, func(m message)) {
	t.Helper()
	r, err := newReferee(nodes(sessions))
	if err != nil {
		t.Fatal(err)
	}
	clients := make(map[int]*client)
	return r, func(m message) {
		t.Helper()
		c := clients[m.Client]
		if c == nil {
			c = dialReferee(t, r, m.Client)
			clients[m.Client] = c
		}
		if err := c.tell(m); err != nil {
			t.Fatal(err)
		}
	}
}

func dialReferee(t *testing.T, r *referee, number int) *client {
	t.Helper()
	conn, err := net.Dial("tcp", r.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return newClient(number, conn)
}

func TestRefereeCountsOverlaps(t *testing.T) {
	r, tell := telling(t, 10, 20, 30)
	tell(message{Client: 1, Kind: "enter", Session: 10})
	tell(message{Client: 1, Kind: "leave"})
	tell(message{Client: 2, Kind: "enter", Session: 20})
	tell(message{Client: 1, Kind: "enter", Session: 10}) // an overlap
	tell(message{Client: 2, Kind: "leave"})
	r.excuse(1, time.Minute)
	tell(message{Client: 3, Kind: "enter", Session: 30}) // an excused one
	tell(message{Client: 2, Kind: "failed", Err: "zk: no"})
	got := r.close()
	want := score{
		acquired: 4, overlaps: 1, excused: 1, failed: 1, failures: map[string]int{"zk: no": 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestRefereeCountsHoldersWithoutNode(t *testing.T) {
	r, tell := telling(t, 10)
	tell(message{Client: 1, Kind: "enter", Session: 10})
	tell(message{Client: 1, Kind: "leave"})
	tell(message{Client: 2, Kind: "enter", Session: 20})
	r.checks.Wait()
	if got := r.close(); got.withoutNode != 1 {
		t.Errorf("%+v", got)
	}
}

func TestRefereeTimesGrantAfterKill(t *testing.T) {
	r, tell := telling(t, 10)
	r.leaderKilled()
	tell(message{Client: 1, Kind: "enter", Session: 10})
	tell(message{Client: 1, Kind: "leave"})
	tell(message{Client: 1, Kind: "enter", Session: 10})
	if got := r.close(); len(got.afterKill) != 1 || got.afterKill[0] <= 0 {
		t.Errorf("%+v", got)
	}
}

// linked returns a link, and a connection through it to a server that answers with a
// ConnectResponse and then with what it reads.
func linked(t *testing.T) (*link, net.Conn, []byte) {
	t.Helper()
	greeting := binary.BigEndian.AppendUint32(nil, 36)
	greeting = binary.BigEndian.AppendUint64(greeting, 6000)
	greeting = binary.BigEndian.AppendUint64(greeting, 77)
	greeting = binary.BigEndian.AppendUint32(greeting, 16)
	greeting = append(greeting, "0123456789abcdef"...)
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		conn, err := server.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if _, err := conn.Write(greeting); err == nil {
			io.Copy(conn, conn)
		}
	}()
	l := newLink()
	t.Cleanup(l.close)
	address, err := l.listen(server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	read(t, conn, greeting)
	return l, conn, greeting
}

func read(t *testing.T, conn net.Conn, want []byte) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("read %q, %v; want %q", got, err, want)
	}
}

func TestLinkLearnsSession(t *testing.T) {
	l, _, _ := linked(t)
	want := sessionIdentity{77, [16]byte([]byte("0123456789abcdef"))}
	if got := l.latest(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// What was sent into a stalled direction arrives when the stall ends, and not before.
func TestLinkStalls(t *testing.T) {
	for _, direction := range []int{requests, replies} {
		synctest.Test(t, func(t *testing.T) {
			l, arrived := newLink(), new(bytes.Buffer)
			from, sender := io.Pipe()
			go l.copy(arrived, from, direction)
			l.stall(true, direction)
			if _, err := sender.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if arrived.Len() > 0 {
				t.Errorf("direction %d: a byte arrived in spite of the stall", direction)
			}
			l.stall(false, direction)
			sender.Close()
			synctest.Wait()
			if arrived.Len() != 1 {
				t.Errorf("direction %d: no byte arrived after the stall", direction)
			}
		})
	}
}

// A slow link holds back each byte, and more so the answer to the opening of a connection.
func TestLinkIsSlow(t *testing.T) {
	for direction, want := range []time.Duration{
		requests: 3 * time.Second, replies: 8 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			l, arrived, began := newLink(), new(bytes.Buffer), time.Now()
			l.slow(time.Second, 5*time.Second)
			from, sender := io.Pipe()
			go func() {
				for range 3 {
					sender.Write([]byte("x"))
				}
				sender.Close()
			}()
			l.copy(arrived, from, direction)
			if took := time.Since(began); arrived.Len() != 3 || took != want {
				t.Errorf("direction %d: %d bytes after %v, want 3 after %v", direction,
					arrived.Len(), took, want)
			}
		})
	}
}

func TestLinkCuts(t *testing.T) {
	l, conn, _ := linked(t)
	l.cut(true)
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection survives")
	}
}
