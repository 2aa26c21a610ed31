package simzk_test

import (
	"errors"
	"maps"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// Nodes that have come and gone before the run have taken a number and a transaction each.
func TestPrepareSequence(t *testing.T) {
	for _, servers := range []int{1, 3} {
		c := simzk.New(simzk.Config{Servers: servers, Lag: servers > 1}, nil)
		before := c.Zxid()
		c.Prepare(&tree.Write{Op: wire.OpCreate, Path: "/a", ACL: tree.Open})
		c.PrepareSequence("/a", 7)
		if got := c.Zxid() - before; got != 7 {
			t.Errorf("%d servers: %d transactions, want 7", servers, got)
		}
		made := c.Tree().Apply(&tree.Write{
			Op: wire.OpCreate, Path: "/a/n-", ACL: tree.Open,
			Flags: zk.FlagSequence,
		})
		if made.Path != "/a/n-0000000007" {
			t.Errorf("%d servers: the next node is %s, want number 7", servers, made.Path)
		}
	}
}

// A client is what lock code can do with a connection, be it real or simulated.
type client interface {
	Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	CreateProtectedEphemeralSequential(path string, data []byte, acl []zk.ACL) (string, error)
	CreateContainer(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	CreateTTL(path string, data []byte, flags int32, acl []zk.ACL, ttl time.Duration) (string,
		error)
	Delete(path string, version int32) error
	Set(path string, data []byte, version int32) (*zk.Stat, error)
	Get(path string) ([]byte, *zk.Stat, error)
	GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error)
	Exists(path string) (bool, *zk.Stat, error)
	ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error)
	Children(path string) ([]string, *zk.Stat, error)
	ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error)
	GetACL(path string) ([]zk.ACL, *zk.Stat, error)
	SetACL(path string, acl []zk.ACL, version int32) (*zk.Stat, error)
	AddAuth(scheme string, auth []byte) error
	Multi(ops ...any) ([]zk.MultiResponse, error)
	Sync(path string) (string, error)
	State() zk.State
	SessionID() int64
	Close()
}

var (
	_ client = (*zk.Conn)(nil)
	_ client = simzk.Client(nil)

	_ simzk.Client = (*simzk.Conn)(nil)
	_ simzk.Client = (*simzk.RealConn)(nil)
)

// The interface above, and that which the package offers, must not miss a method that the real
// client and a simulated one have, or its signature would go unchecked.
func TestClientIsComplete(t *testing.T) {
	real := reflect.TypeFor[*zk.Conn]()
	for _, simulated := range []reflect.Type{
		reflect.TypeFor[*simzk.Conn](),
		reflect.TypeFor[*simzk.RealConn](),
	} {
		for method := range simulated.Methods() {
			if _, ok := real.MethodByName(method.Name); !ok {
				continue
			}
			for _, both := range []reflect.Type{
				reflect.TypeFor[client](),
				reflect.TypeFor[simzk.Client](),
			} {
				if _, ok := both.MethodByName(method.Name); !ok {
					t.Errorf("%s of %v is not in %v", method.Name, simulated, both)
				}
			}
		}
	}
}

// calls returns the error of every method for that path. Calls that are refused need neither server
// nor bubble.
func calls(c client, path string) map[string]error {
	errs := make(map[string]error)
	_, errs["Create"] = c.Create(path, nil, 0, nil)
	_, errs["Create sequential"] = c.Create(path, nil, zk.FlagSequence, nil)
	_, errs["CreateProtectedEphemeralSequential"] = c.CreateProtectedEphemeralSequential(path, nil,
		nil)
	errs["Delete"] = c.Delete(path, -1)
	_, errs["Set"] = c.Set(path, nil, -1)
	_, _, errs["Get"] = c.Get(path)
	_, _, _, errs["GetW"] = c.GetW(path)
	_, _, errs["Exists"] = c.Exists(path)
	_, _, _, errs["ExistsW"] = c.ExistsW(path)
	_, _, errs["Children"] = c.Children(path)
	_, _, _, errs["ChildrenW"] = c.ChildrenW(path)
	_, errs["Sync"] = c.Sync(path)
	_, errs["CreateContainer"] = c.CreateContainer(path, nil, zk.FlagContainer, nil)
	_, errs["CreateTTL"] = c.CreateTTL(path, nil, zk.FlagTTL, nil, time.Second)
	_, errs["CreateTTL sequential"] = c.CreateTTL(path, nil, zk.FlagPersistentSequentialWithTTL,
		nil,
		time.Second)
	_, _, errs["GetACL"] = c.GetACL(path)
	_, errs["SetACL"] = c.SetACL(path, nil, -1)
	return errs
}

// Paths that the real client refuses without asking the server are refused by the simulated one
// with the same error.
func TestInvalidPaths(t *testing.T) {
	simulated := simzk.New(simzk.Config{}, new(history.Log)).Connect()
	paths := []string{
		"", "x", "x/y", "//", "/a//b", "/a/..", "/a/../b", "/a/.", "/a/./b", "/a\x00b", "/a\x1f",
		"/a\x7f", "/a\u0085",
		"/a\uf000", "/a\uf8ff", "/a\ufff0", "/a\ufffd", "/a\xff",
	}
	for _, path := range paths {
		got, want := calls(simulated, path), calls(new(zk.Conn), path)
		for method, err := range want {
			if err != zk.ErrInvalidPath || got[method] != err {
				t.Errorf("%s(%q): error %v, want %v", method, path, got[method], err)
			}
		}
	}
}

// A path that ends in a slash is refused unless a sequence number completes it.
func TestTrailingSlash(t *testing.T) {
	simulated := simzk.New(simzk.Config{}, new(history.Log)).Connect()
	for name, c := range map[string]client{"zk": new(zk.Conn), "simzk": simulated} {
		if _, err := c.Create("/a/", nil, zk.FlagEphemeral, nil); err != zk.ErrInvalidPath {
			t.Errorf("%s: error %v, want %v", name, err, zk.ErrInvalidPath)
		}
		if err := c.Delete("/a/", -1); err != zk.ErrInvalidPath {
			t.Errorf("%s: error %v, want %v", name, err, zk.ErrInvalidPath)
		}
	}
}

// Flags that Create does not take are refused as by the real client. What the real one calls an
// invalid value has no error of its own there, so only that there is one can be compared.
func TestInvalidFlags(t *testing.T) {
	simulated := simzk.New(simzk.Config{}, new(history.Log)).Connect()
	for name, c := range map[string]client{"zk": new(zk.Conn), "simzk": simulated} {
		for _, flags := range []int32{zk.FlagTTL, zk.FlagPersistentSequentialWithTTL} {
			if _, err := c.Create("/a", nil, flags, nil); !errors.Is(err, zk.ErrInvalidFlags) {
				t.Errorf("%s, flags %d: error %v, want %v", name, flags, err, zk.ErrInvalidFlags)
			}
		}
		for _, flags := range []int32{-1, 7, 1 << 20} {
			if _, err := c.Create("/a", nil, flags, nil); err == nil {
				t.Errorf("%s takes flags %d", name, flags)
			}
		}
	}
}

// What makes nodes of a special sort insists on their flag, like the real client.
func TestFlagsOfSpecialNodes(t *testing.T) {
	simulated := simzk.New(simzk.Config{}, new(history.Log)).Connect()
	for name, c := range map[string]client{"zk": new(zk.Conn), "simzk": simulated} {
		for _, flags := range []int32{
			zk.FlagPersistent, zk.FlagEphemeral, zk.FlagSequence,
			zk.FlagTTL,
		} {
			if _, err := c.CreateContainer("/a", nil, flags, nil); !errors.Is(err,
				zk.ErrInvalidFlags) {
				t.Errorf("%s, container with flags %d: error %v, want %v", name, flags, err,
					zk.ErrInvalidFlags)
			}
		}
		for _, flags := range []int32{
			zk.FlagPersistent, zk.FlagEphemeral, zk.FlagSequence,
			zk.FlagContainer,
		} {
			if _, err := c.CreateTTL("/a", nil, flags, nil, time.Second); !errors.Is(err,
				zk.ErrInvalidFlags) {
				t.Errorf("%s, TTL with flags %d: error %v, want %v", name, flags, err,
					zk.ErrInvalidFlags)
			}
		}
	}
}

// A multi takes pointers to the four operations and nothing else, like the real client.
func TestUnknownOperation(t *testing.T) {
	simulated := simzk.New(simzk.Config{}, new(history.Log)).Connect()
	for _, op := range []any{
		nil,
		zk.DeleteRequest{},
		&zk.PathVersionRequest{},
		&zk.CreateTTLRequest{},
	} {
		_, want := new(zk.Conn).Multi(&zk.DeleteRequest{}, op)
		if _, err := simulated.Multi(&zk.DeleteRequest{}, op); want == nil || err == nil ||
			err.Error() != want.Error() {
			t.Errorf("%T: error %v, want %v", op, err, want)
		}
	}
}

// The model lets the same paths through as the real client. A client that is closed refuses every
// call, but tells of a bad path before it tells of that.
func TestPathsThatTheClientTakes(t *testing.T) {
	nowhere := func(string, string, time.Duration) (net.Conn, error) {
		return nil,
			errors.New("nobody listens")
	}
	real, _, err := zk.Connect([]string{"127.0.0.1"}, time.Second, zk.WithDialer(nowhere),
		zk.WithLogInfo(false), zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	real.Close()
	cluster := simzk.New(simzk.Config{}, new(history.Log))
	simulated := cluster.Connect()
	cluster.Cut(simulated.Link)
	go simulated.Close()
	<-cluster.Activity()
	cluster.Collect()
	part := rapid.SampledFrom([]string{
		"/", "/", "/", ".", ".", "a", "é", "\x00", "\x1f", "\x7f", "\u0085", "\ud7ff", "\ue000",
		"\uf000",
		"\uf8ff", "\ufff0", "\ufffe", "\uffff", "\U0001F512", "\xff",
	})
	rapid.Check(t, func(t *rapid.T) {
		path := strings.Join(rapid.SliceOfN(part, 0, 6).Draw(t, "path"), "")
		got, want := calls(simulated, path), calls(real, path)
		if !maps.Equal(got, want) {
			t.Errorf("%q: %v, want %v", path, got, want)
		}
	})
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// onStage runs a test on a stage in a bubble.
func onStage(t *testing.T, clients int, test func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		for range clients {
			s.join()
		}
		defer s.tearDown()
		test(s)
	})
}

// The channel of events holds six. A client that does not read it loses the newest, and hears again
// once it has read.
func TestEventChannelDrops(t *testing.T) {
	onStage(t, 1, func(s *stage) {
		conn := s.client("c1")
		s.cluster.Cut(conn.Link)
		if err := s.pass([]string{"20s"}); err != nil {
			t.Fatal(err)
		}
		if n, size := len(conn.Events()), cap(conn.Events()); n != 6 || size != 6 {
			t.Errorf("%d events of %d, want 6 of 6", n, size)
		}
		if first := <-conn.Events(); first.State != zk.StateDisconnected {
			t.Errorf("the first event is %v, want the oldest", first)
		}
		s.cluster.Heal(conn.Link)
		if err := s.pass([]string{"1s"}); err != nil {
			t.Fatal(err)
		}
		s.flow()
		var last zk.Event
		for len(conn.Events()) > 0 {
			last = <-conn.Events()
		}
		if last.State != zk.StateConnected || conn.State() == zk.StateConnected {
			t.Errorf("the last event is %v in state %v, want the one that found room", last,
				conn.State())
		}
	})
}

// Requests that goroutines of one process send at the same time are sent in an order that only
// their content decides.
func TestSimultaneousRequests(t *testing.T) {
	paths := []string{"/c", "/a", "/b"}
	histories := make(map[uint64]bool)
	for range 2 {
		slices.Reverse(paths)
		onStage(t, 1, func(s *stage) {
			for _, path := range paths {
				go s.client("c1").Create(path, nil, 0, zk.WorldACL(zk.PermAll))
				synctest.Wait()
			}
			s.flow()
			if n := len(s.cluster.Tree().Children("/", nil).Children) - 1; n != 3 {
				t.Errorf("%d nodes, want 3", n)
			}
			histories[s.log.Hash()] = true
		})
	}
	if len(histories) != 1 {
		t.Error("the order of the calls shows in the history")
	}
}

// So are multis, which have nothing but their operations to tell them apart.
func TestSimultaneousMultis(t *testing.T) {
	paths := []string{"/c", "/a", "/b"}
	histories := make(map[uint64]bool)
	for range 2 {
		slices.Reverse(paths)
		onStage(t, 1, func(s *stage) {
			for _, path := range paths {
				go s.client("c1").Multi(&zk.CreateRequest{Path: path, Acl: zk.WorldACL(zk.PermAll)})
				synctest.Wait()
			}
			s.flow()
			histories[s.log.Hash()] = true
		})
	}
	if len(histories) != 1 {
		t.Error("the order of the calls shows in the history")
	}
}

// The model shares no memory with its callers: who writes over what was sent or received changes no
// node.
func TestDataIsCopied(t *testing.T) {
	onStage(t, 1, func(s *stage) {
		conn, data := s.client("c1"), []byte("data")
		var first, second []byte
		go func() {
			conn.Create("/n", data, 0, zk.WorldACL(zk.PermAll))
			data[0] = 'x'
			first, _, _ = conn.Get("/n")
			first[1] = 'x'
			second, _, _ = conn.Get("/n")
		}()
		s.flow()
		if string(second) != "data" {
			t.Errorf("%q, want the data that was sent", second)
		}
	})
}

// A request that is sent at the same time as a Close goes behind it, where the server does not
// answer any more.
func TestCloseEndsRequests(t *testing.T) {
	onStage(t, 1, func(s *stage) {
		conn := s.client("c1")
		var err error
		go func() { _, _, err = conn.Get("/") }()
		synctest.Wait()
		closed := false
		go func() { conn.Close(); closed = true }()
		s.flow()
		if err != zk.ErrConnectionClosed || !closed {
			t.Errorf("error %v, closed %v, want %v", err, closed, zk.ErrConnectionClosed)
		}
		if r := conn.Pending(); r != nil {
			t.Errorf("a %v still waits", r.Op)
		}
	})
}

// The end of a run ends goroutines that wait for an answer or ask for one, and closes all channels.
func TestTearDown(t *testing.T) {
	onStage(t, 0, func(s *stage) {
		conn := s.join()
		events := conn.Events()
		var watch <-chan zk.Event
		go func() { _, _, watch, _ = conn.ExistsW("/n") }()
		s.observe()
		s.flow()
		ended, returned := 0, 0
		ask := func() {
			defer func() { ended++ }()
			conn.Sync("/")
			returned++
		}
		go ask()
		s.observe()
		conn.TearDown()
		synctest.Wait()
		go ask()
		synctest.Wait()
		if ended != 2 || returned != 0 {
			t.Errorf("%d goroutines ended and %d calls returned, want 2 and 0", ended, returned)
		}
		if e := <-watch; e.Type != zk.EventNotWatching || e.Err != zk.ErrClosing {
			t.Errorf("the watch was told %v", e)
		}
		if _, open := <-watch; open {
			t.Error("the watch's channel is open")
		}
		for name, channel := range map[string]<-chan zk.Event{"old": events, "new": conn.Events()} {
			if _, open := <-channel; open {
				t.Errorf("the %s channel of events is open", name)
			}
		}
	})
}

// The same decisions lead to the same history and the same key, which tells other states apart.
func TestSameDecisionsSameKey(t *testing.T) {
	histories, keys := make(map[uint64]bool), make(map[uint64]bool)
	for range 2 {
		onStage(t, 2, func(s *stage) {
			initial := s.cluster.Key()
			for _, line := range [][]string{
				{"create", "/n", "ephemeral"},
				{"getw", "/n"},
				{"delete", "/n"},
			} {
				for _, conn := range s.clients {
					if err := s.call(conn, line); err != nil {
						t.Fatal(err)
					}
				}
				s.observe()
			}
			s.flow()
			s.cluster.Isolate(s.client("c1").Link)
			if err := s.pass([]string{"7s"}); err != nil {
				t.Fatal(err)
			}
			if s.cluster.Key() == initial {
				t.Error("the key is that of the beginning")
			}
			histories[s.log.Hash()], keys[s.cluster.Key()] = true, true
		})
	}
	if len(histories) != 1 || len(keys) != 1 {
		t.Errorf("%d histories, %d keys, want 1 of each", len(histories), len(keys))
	}
}

// When a server's end has broken a connection makes a difference to a process that looks at the
// clock then, so the key tells it, even once all else is as before.
func TestKeyTellsWhenConnectionBroke(t *testing.T) {
	keys := make(map[uint64]bool)
	for _, late := range []bool{false, true, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newEnsembleStage(t, 3)
			defer s.tearDown()
			s.join()
			pass := func() {
				if err := s.pass([]string{"100ms"}); err != nil {
					t.Fatal(err)
				}
			}
			if late {
				pass()
			}
			s.cluster.KillServer(0)
			if !late {
				pass()
			}
			s.flow()
			keys[s.cluster.Key()] = true
		})
	}
	if len(keys) != 2 {
		t.Errorf("%d keys, want 2", len(keys))
	}
}

// The same is so for the real client.
func TestKeyTellsWhenRealConnectionBroke(t *testing.T) {
	if simzk.RaceDetector {
		t.Skip("the race detector shuffles the goroutines of the real client: without it this " +
			"test runs")
	}
	defer simzk.Determinize()()
	keys := make(map[uint64]bool)
	for _, late := range []bool{false, true, true} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			cluster := simzk.New(simzk.Config{Settle: synctest.Wait, Servers: 3, Lag: true},
				new(history.Log))
			conn, err := cluster.ConnectReal()
			if err != nil {
				t.Fatal(err)
			}
			link := conn.Link()
			defer time.Sleep(time.Minute)
			defer link.TearDown()
			pass := func() {
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
				cluster.Advance(time.Since(began))
			}
			if late {
				pass()
			}
			cluster.KillServer(0)
			if !late {
				pass()
			}
			for link.Unserved()+link.Undelivered() > 0 {
				if link.Unserved() > 0 {
					cluster.Serve(link)
				} else {
					cluster.Deliver(link)
				}
				synctest.Wait()
				cluster.Collect()
			}
			if link.ServerIndex() == 0 || !link.HasSession() {
				t.Fatal("the client has not found another server")
			}
			keys[cluster.Key()] = true
		})
	}
	if len(keys) != 2 {
		t.Errorf("%d keys, want 2", len(keys))
	}
}

// Activity tells that a process has sent something, once until it is received.
func TestActivity(t *testing.T) {
	onStage(t, 1, func(s *stage) {
		began := time.Now()
		go func() {
			time.Sleep(time.Second)
			s.client("c1").Sync("/")
		}()
		<-s.cluster.Activity()
		if after := time.Since(began); after != time.Second {
			t.Errorf("activity after %v of virtual time, want 1s", after)
		}
		s.client("c1").Notify()
		s.client("c1").Notify()
		s.cluster.Collect()
		<-s.cluster.Activity()
		select {
		case <-s.cluster.Activity():
			t.Error("activity is told twice")
		default:
		}
		if r := s.client("c1").Pending(); r == nil || r.Op != wire.OpSync {
			t.Errorf("pending %+v, want a sync", r)
		}
	})
}
