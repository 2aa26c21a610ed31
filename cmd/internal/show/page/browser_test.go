package page_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/interlock-sim/interlock/internal/show/page"
)

// A browser is a tab of Chromium that shows a page from a file.
type browser struct {
	*testing.T
	tab  context.Context
	path string

	mutex    sync.Mutex
	problems []string // errors in the console, and requests other than that for the page
}

// open writes the page to a file and opens a tab. At the end of the test it reports each error in
// the console and each request of the page.
func open(t *testing.T, data *page.Data) *browser {
	t.Helper()
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		if os.Getenv("INTERLOCK_REQUIRE_CHROMIUM") == "1" {
			t.Fatal("Chromium is not installed, and INTERLOCK_REQUIRE_CHROMIUM is 1")
		}
		t.Skip("Chromium is not installed: on Debian, apt-get install chromium")
	}
	b := &browser{T: t, path: filepath.Join(t.TempDir(), "timeline.html")}
	b.write(data)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true))
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	tab, closeTab := chromedp.NewContext(allocator, chromedp.WithListener(b.hear))
	t.Cleanup(closeTab)
	tab, cancel := context.WithTimeout(tab, 5*time.Minute)
	t.Cleanup(cancel)
	b.tab = tab
	_, err := chromedp.Call(tab, network.Enable, network.EnableParams{})
	b.must(err)
	t.Cleanup(func() {
		b.mutex.Lock()
		defer b.mutex.Unlock()
		for _, problem := range b.problems {
			t.Error(problem)
		}
	})
	return b
}

// write writes the page to the file.
func (b *browser) write(data *page.Data) {
	b.Helper()
	f, err := os.Create(b.path)
	b.must(err)
	b.must((&page.Page{Data: data}).Write(f))
	b.must(f.Close())
}

// hear notes what the page must not do.
func (b *browser) hear(event any) {
	problem := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = fmt.Sprintf("exception: %s %v", e.ExceptionDetails.Text,
			e.ExceptionDetails.Exception)
	case *runtime.EventConsoleAPICalled:
		problem = fmt.Sprintf("console.%s", e.Type)
	case *log.EventEntryAdded:
		problem = fmt.Sprintf("log: %s", e.Entry.Text)
	case *network.EventRequestWillBeSent:
		if address := e.Request.URL; !strings.HasPrefix(address, "data:") &&
			address != "about:blank" && !strings.HasPrefix(address, "file://"+b.path) {
			problem = "request of " + address
		}
	}
	if problem != "" {
		b.mutex.Lock()
		defer b.mutex.Unlock()
		b.problems = append(b.problems, problem)
	}
}

func (b *browser) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// do runs actions.
func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	b.must(chromedp.Do(b.tab, actions...))
}

// load loads the page with a hash, such as #step=12.
func (b *browser) load(hash string) {
	b.Helper()
	address := url.URL{Scheme: "file", Path: b.path}
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(address.String()+hash))
	b.wait(`document.querySelector("footer") !== null`)
}

// size sets the size of the window in CSS pixels.
func (b *browser) size(width, height int64, scale float64) {
	b.Helper()
	b.do(chromedp.EmulateViewport(width, height, chromedp.EmulateScale(scale)))
}

// prefer sets the color scheme that the system prefers.
func (b *browser) prefer(scheme string) {
	b.Helper()
	_, err := chromedp.Call(b.tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	b.must(err)
}

// press presses keys one after another. As with a keyboard, a key types its character only if the
// page lets it.
func (b *browser) press(texts ...string) {
	b.Helper()
	for _, key := range strings.Join(texts, "") {
		events := kb.Encode(key)
		down := *events[0]
		if len(events) == 3 {
			down.Text, down.UnmodifiedText = events[1].Text, events[1].UnmodifiedText
		}
		for _, event := range []*input.DispatchKeyEventParams{&down, events[len(events)-1]} {
			_, err := chromedp.Call(b.tab, input.DispatchKeyEvent, *event)
			b.must(err)
		}
	}
}

// wait waits until an expression is true. The browser has its own clock, so wait asks repeatedly;
// it asks again after an error, because a page that is being loaded has no values.
func (b *browser) wait(expression string) {
	b.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		value, err := chromedp.Run(b.tab, chromedp.Evaluate[bool](expression))
		if value && err == nil {
			return
		}
		if b.tab.Err() != nil || time.Now().After(deadline) {
			b.Fatalf("%s does not become true: %v\nthe hash is %s", expression, err,
				evaluate[string](b, "location.hash"))
		}
		b.do(chromedp.Sleep(10 * time.Millisecond))
	}
}

// click clicks the first element that matches.
func (b *browser) click(selector string) {
	b.Helper()
	b.do(chromedp.Click(chromedp.CSS(selector)))
}

// evaluate returns the value of an expression.
func evaluate[T any](b *browser, expression string, options ...chromedp.EvaluateOption) T {
	b.Helper()
	value, err := chromedp.Run(b.tab, chromedp.Evaluate[T](expression, options...))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return value
}

// text returns the text of the first element that matches.
func (b *browser) text(selector string) string {
	b.Helper()
	return evaluate[string](b, fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector))
}
