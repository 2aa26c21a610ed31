package client_test

import (
	"errors"
	"maps"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client"
	"github.com/interlock-sim/interlock/simzk/client/model"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// clientMethods are the methods that real and simulated clients share.
type clientMethods interface {
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
	_ clientMethods = (*zk.Conn)(nil)
	_ clientMethods = client.Client(nil)

	_ client.Client = (*model.Conn)(nil)
	_ client.Client = (*real.Conn)(nil)
)

// The interface above, and client.Client, contain every method that the real client and a simulated
// one share, so that the compiler checks their signatures.
func TestClientIsComplete(t *testing.T) {
	released := reflect.TypeFor[*zk.Conn]()
	for _, simulated := range []reflect.Type{
		reflect.TypeFor[*model.Conn](),
		reflect.TypeFor[*real.Conn](),
	} {
		for method := range simulated.Methods() {
			if _, ok := released.MethodByName(method.Name); !ok {
				continue
			}
			for _, both := range []reflect.Type{
				reflect.TypeFor[clientMethods](),
				reflect.TypeFor[client.Client](),
			} {
				if _, ok := both.MethodByName(method.Name); !ok {
					t.Errorf("%s of %v is not in %v", method.Name, simulated, both)
				}
			}
		}
	}
}

// errorsOf returns the error of every method for a path. Calls that the client refuses need neither
// server nor bubble.
func errorsOf(c clientMethods, path string) map[string]error {
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

// The model refuses the same paths as the real client, with the same error, without a request.
func TestInvalidPaths(t *testing.T) {
	simulated := model.Connect(simzk.New(simzk.Config{}, new(history.Log)))
	paths := []string{
		"", "x", "x/y", "//", "/a//b", "/a/..", "/a/../b", "/a/.", "/a/./b", "/a\x00b", "/a\x1f",
		"/a\x7f", "/a\u0085",
		"/a\uf000", "/a\uf8ff", "/a\ufff0", "/a\ufffd", "/a\xff",
	}
	for _, path := range paths {
		got, want := errorsOf(simulated, path), errorsOf(new(zk.Conn), path)
		for method, err := range want {
			if err != zk.ErrInvalidPath || got[method] != err {
				t.Errorf("%s(%q): error %v, want %v", method, path, got[method], err)
			}
		}
	}
}

// A path that ends in a slash is refused unless a sequence number completes it.
func TestTrailingSlash(t *testing.T) {
	simulated := model.Connect(simzk.New(simzk.Config{}, new(history.Log)))
	for name, c := range map[string]clientMethods{"zk": new(zk.Conn), "simzk": simulated} {
		if _, err := c.Create("/a/", nil, zk.FlagEphemeral, nil); err != zk.ErrInvalidPath {
			t.Errorf("%s: error %v, want %v", name, err, zk.ErrInvalidPath)
		}
		if err := c.Delete("/a/", -1); err != zk.ErrInvalidPath {
			t.Errorf("%s: error %v, want %v", name, err, zk.ErrInvalidPath)
		}
	}
}

// The model refuses the same flags in Create as the real client. The real client has no error value
// for invalid flag values, so only the presence of an error is compared.
func TestInvalidFlags(t *testing.T) {
	simulated := model.Connect(simzk.New(simzk.Config{}, new(history.Log)))
	for name, c := range map[string]clientMethods{"zk": new(zk.Conn), "simzk": simulated} {
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

// The methods for containers and TTL nodes require the matching flags, as in the real client.
func TestFlagsOfSpecialNodes(t *testing.T) {
	simulated := model.Connect(simzk.New(simzk.Config{}, new(history.Log)))
	for name, c := range map[string]clientMethods{"zk": new(zk.Conn), "simzk": simulated} {
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

// A multi accepts pointers to the four operations and nothing else, as in the real client.
func TestUnknownOperation(t *testing.T) {
	simulated := model.Connect(simzk.New(simzk.Config{}, new(history.Log)))
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

// The model accepts the same paths as the real client. A closed client refuses every call, but
// checks the path first.
func TestPathsThatTheClientTakes(t *testing.T) {
	nowhere := func(string, string, time.Duration) (net.Conn, error) {
		return nil,
			errors.New("connection refused")
	}
	real, _, err := zk.Connect([]string{"127.0.0.1"}, time.Second, zk.WithDialer(nowhere),
		zk.WithLogInfo(false), zk.WithLogger(silentLogger{}))
	if err != nil {
		t.Fatal(err)
	}
	real.Close()
	cluster := simzk.New(simzk.Config{}, new(history.Log))
	simulated := model.Connect(cluster)
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
		got, want := errorsOf(simulated, path), errorsOf(real, path)
		if !maps.Equal(got, want) {
			t.Errorf("%q: %v, want %v", path, got, want)
		}
	})
}

type silentLogger struct{}

func (silentLogger) Printf(string, ...any) {}
