// Package chromium opens pages in Chromium, for tests.
package chromium

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// timeout bounds the whole use of a tab. Only a failing test waits that long.
const timeout = 2 * time.Minute

// shared is the browser of all tabs of a test binary, which starts with the first tab.
var shared struct {
	mu      sync.Mutex
	ends    bool // Run runs
	context context.Context
	end     func()
}

// Main runs the tests of a package that opens tabs, and ends the program.
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run runs the tests of a package that opens tabs, and ends their browser. It returns the status.
func Run(m *testing.M) int {
	shared.ends = true
	status := m.Run()
	if shared.end != nil {
		shared.end()
	}
	return status
}

// A Tab is a tab of Chromium with storage of its own. Its methods fail the test on errors.
type Tab struct {
	*testing.T
	Context context.Context // of actions of chromedp

	mu       sync.Mutex
	problems []string
}

// Open opens a tab, or skips the test if Chromium is not installed. At the end, the test fails with
// each exception on the page, each message on the console or in the log, and each request for a URL
// that does not begin with the prefix. TestMain of the package must call [Main] or [Run].
func Open(t *testing.T, prefix string) *Tab {
	t.Helper()
	b := &Tab{T: t}
	ctx, cancel := chromedp.NewContext(browser(t), chromedp.WithNewBrowserContext(),
		chromedp.WithListener(func(event any) { b.note(event, prefix) }))
	t.Cleanup(cancel)
	b.Context, cancel = context.WithTimeout(ctx, timeout)
	t.Cleanup(cancel)
	if _, err := chromedp.Call(b.Context, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	b.Resize(1400, 900, 1)
	t.Cleanup(b.report)
	return b
}

// browser returns the context of the shared browser, or skips the test.
func browser(t *testing.T) context.Context {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if !shared.ends {
		t.Fatal("TestMain calls neither chromium.Main nor chromium.Run")
	}
	if shared.end != nil {
		return shared.context
	}
	executable, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("INTERLOCK_REQUIRE_CHROMIUM") == "1" {
			t.Fatal("Chromium is not installed, and INTERLOCK_REQUIRE_CHROMIUM is 1")
		}
		t.Skip("Chromium is not installed: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(executable),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	shared.context, _ = chromedp.NewContext(ctx)
	shared.end = stop
	if err := chromedp.Do(shared.context); err != nil {
		t.Fatal(err)
	}
	return shared.context
}

// note notes an event of the browser that a page must not cause.
func (b *Tab) note(event any, prefix string) {
	problem := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = fmt.Sprintf("exception: %s %v", e.ExceptionDetails.Text,
			e.ExceptionDetails.Exception)
	case *runtime.EventConsoleAPICalled:
		problem = "console " + string(e.Type)
	case *log.EventEntryAdded:
		problem = "log: " + e.Entry.Text
	case *network.EventRequestWillBeSent:
		if url := e.Request.URL; !strings.HasPrefix(url, prefix) &&
			!strings.HasPrefix(url, "data:") && url != "about:blank" {
			problem = "request for " + url
		}
	}
	if problem != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.problems = append(b.problems, problem)
	}
}

// Expect fails if no problem has the text, and lets those that have it not fail the test.
func (b *Tab) Expect(text string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	others := slices.DeleteFunc(slices.Clone(b.problems),
		func(p string) bool { return strings.Contains(p, text) })
	if len(others) == len(b.problems) {
		b.Errorf("the browser reports %q, not %s", b.problems, text)
	}
	b.problems = others
}

func (b *Tab) report() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, problem := range b.problems {
		b.Errorf("on the page: %s", problem)
	}
}

// Do performs actions.
func (b *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.Context, actions...); err != nil {
		b.Fatal(err)
	}
}

// Get returns the value of an action.
func Get[T any](b *Tab, action chromedp.Action[T]) T {
	b.Helper()
	value, err := chromedp.Run(b.Context, action)
	if err != nil {
		b.Fatal(err)
	}
	return value
}

// Evaluate returns the value of a JavaScript expression.
func Evaluate[T any](b *Tab, expression string, options ...chromedp.EvaluateOption) T {
	b.Helper()
	return Get(b, chromedp.Evaluate[T](expression, options...))
}

// Await waits until a JavaScript expression is true. The browser has its own clock, so Await asks
// repeatedly; it asks again after an error, because a page that is being loaded has no values.
func (b *Tab) Await(condition string) {
	b.Helper()
	for {
		met, err := chromedp.Run(b.Context, chromedp.Evaluate[bool]("Boolean("+condition+")"))
		switch {
		case met && err == nil:
			return
		case b.Context.Err() != nil:
			b.Fatalf("%s does not become true: %v", condition, err)
		}
		b.Do(chromedp.Sleep(10 * time.Millisecond))
	}
}

// AwaitText waits until an element shows a text, with single blanks.
func (b *Tab) AwaitText(selector, text string) {
	b.Helper()
	b.Await(fmt.Sprintf(`document.querySelector(%q)?.innerText.replace(/\s+/g, " ").includes(%q)`,
		selector, text))
}

// Text returns what an element shows, with single blanks.
func (b *Tab) Text(selector string) string {
	b.Helper()
	return strings.Join(strings.Fields(Get(b, chromedp.Text(chromedp.CSS(selector)))), " ")
}

// Click clicks on an element.
func (b *Tab) Click(selector string) {
	b.Helper()
	b.Do(chromedp.Click(chromedp.CSS(selector)))
}

// Resize sets the size of the window, in pixels of the page, and how many of the screen each has.
func (b *Tab) Resize(width, height int64, scale float64) {
	b.Helper()
	b.Do(chromedp.EmulateViewport(width, height, chromedp.EmulateScale(scale)))
}

// Press presses a key.
func (b *Tab) Press(key string) {
	b.Helper()
	b.Do(chromedp.KeyEvent(key))
}
