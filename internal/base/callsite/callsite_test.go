package callsite

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestFileOf(t *testing.T) {
	info := &debug.BuildInfo{
		Path: "example.com/shop/cmd/shopd", Main: debug.Module{Path: "example.com/shop"},
	}
	for _, tc := range []struct{ function, file, want string }{
		{
			"example.com/shop/internal/billing.(*Lock).wait",
			"/home/a/shop/internal/billing/lock.go", "internal/billing/lock.go",
		},
		{
			"example.com/shop/internal/billing.(*Lock).wait", // built with -trimpath
			"example.com/shop/internal/billing/lock.go", "internal/billing/lock.go",
		},
		{
			"example.com/shop/internal/billing.wait",
			`C:\shop\internal\billing\lock.go`, "internal/billing/lock.go",
		},
		{"example.com/shop.Lock", "/home/a/checkout/lock.go", "lock.go"},
		{"example.com/shop_test.Lock", "/home/a/checkout/lock_test.go", "lock_test.go"},
		{
			"example.com/shop/billing_test.TestLock.func1",
			"/home/a/shop/billing/lock_test.go", "billing/lock_test.go",
		},
		{
			"example.com/shop/billing.TestLock", "/home/a/shop/billing/lock_test.go",
			"billing/lock_test.go",
		},
		{"main.main", "/home/a/shop/cmd/shopd/main.go", "cmd/shopd/main.go"},
		{
			"example.com/shop/generic.Do[...]", "/home/a/shop/generic/do.go", "generic/do.go",
		},
		{
			"github.com/go-zookeeper/zk.(*Lock).Lock",
			"/go/pkg/mod/github.com/go-zookeeper/zk@v1.0.4/lock.go",
			"github.com/go-zookeeper/zk@v1.0.4/lock.go",
		},
		{
			"example.com/locks/v2/sub/er.Lock",
			"/go/pkg/mod/example.com/locks/v2@v2.1.0/sub/er/lock.go",
			"example.com/locks/v2@v2.1.0/sub/er/lock.go",
		},
		{
			"example.com/locks/zk.Lock", "/home/a/shop/vendor/example.com/locks/zk/lock.go",
			"example.com/locks/zk/lock.go",
		},
		{
			"gopkg.in/lock%2ev3.Lock", "/go/pkg/mod/gopkg.in/lock.v3@v3.0.1/lock.go",
			"gopkg.in/lock.v3@v3.0.1/lock.go",
		},
		{"example.com/shop/parser.yyParse", "/home/a/grammar/lock.y", "grammar/lock.y"},
		{"example.com/shopping/cart.Lock", "/home/a/cart/lock.go", "example.com/shopping/cart/lock.go"},
	} {
		if got := fileOf(tc.function, tc.file, info); got != tc.want {
			t.Errorf("%s in %s: %s, want %s", tc.function, tc.file, got, tc.want)
		}
	}
	if got := fileOf("example.com/shop/billing.F", "/home/billing/lock.go", nil); got !=
		"example.com/shop/billing/lock.go" {
		t.Errorf("without the modules: %s", got)
	}
}

// create and protected stand for methods of a client library.
func create() Call { return Caller(ofClient) }

func protected() Call { return create() }

func ofClient(function string) bool {
	return strings.HasSuffix(function, "callsite.create") ||
		strings.HasSuffix(function, "callsite.protected")
}

// Caller and On find the method that the code under test has called, and the line.
func TestCaller(t *testing.T) {
	var pcs [20]uintptr
	got := []Call{create(), protected()}
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	frame, _ := frames.Next()
	site := Of(frame.Function, frame.File, frame.Line-1)
	if !strings.HasPrefix(site.Line, "internal/base/callsite/callsite_test.go:") ||
		site.Function != "callsite.TestCaller" {
		t.Errorf("this is %+v", site)
	}
	for i, method := range []string{"create", "protected"} {
		if want := (Call{method, site}); got[i] != want {
			t.Errorf("called by %+v, want %+v", got[i], want)
		}
	}
	blocked := []runtime.Frame{
		{Function: "runtime.gopark"},
		{Function: "runtime.chanrecv1"},
		{Function: "x/callsite.create"},
		{Function: "x/callsite.protected"},
		frame,
	}
	if on := On(blocked, ofClient); on.Method != "protected" || on.Site.Function != site.Function {
		t.Errorf("blocked in %+v", on)
	}
	if on := On(blocked[:4], ofClient); on != (Call{}) {
		t.Errorf("without code under test: %+v", on)
	}
}
