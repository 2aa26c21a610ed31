// Package chromium opens pages in Chromium, for tests.
package chromium

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// timeout bounds the whole use of a tab. Only a failing test waits that long.
const timeout = 2 * time.Minute

// A Tab is a tab of Chromium. Its methods fail the test on errors.
type Tab struct {
	*testing.T
	Context context.Context // of actions of chromedp

	mu       sync.Mutex
	problems []string
}

// Open opens a tab, or skips the test if Chromium is not installed. At the end, the test fails with
// each exception on the page, each message on the console, and each request for a URL that does not
// begin with the prefix.
func Open(t *testing.T, prefix string) *Tab {
	t.Helper()
	executable, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("INTERLOCK_REQUIRE_CHROMIUM") == "1" {
			t.Fatal("Chromium is not installed, and INTERLOCK_REQUIRE_CHROMIUM is 1")
		}
		t.Skip("Chromium is not installed: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(executable),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.WindowSize(1400, 900))
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &Tab{T: t, Context: ctx}
	if err := chromedp.Listen(ctx, func(event any) { b.note(event, prefix) }); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.report)
	return b
}

// note notes an event of the browser that a page must not cause.
func (b *Tab) note(event any, prefix string) {
	problem := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = e.ExceptionDetails.Text
	case *runtime.EventConsoleAPICalled:
		problem = "console " + string(e.Type)
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
func Evaluate[T any](b *Tab, expression string) T {
	b.Helper()
	return Get(b, chromedp.Evaluate[T](expression))
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

// Press presses a key.
func (b *Tab) Press(key string) {
	b.Helper()
	b.Do(chromedp.KeyEvent(key))
}
