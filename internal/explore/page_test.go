package explore_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/interlock-sim/interlock/internal/engine"
	"github.com/interlock-sim/interlock/internal/recording"
)

// pageTimeout bounds the whole use of a browser. Only a failing test waits that long.
const pageTimeout = 2 * time.Minute

// A browser is a page in Chromium. It notes what goes wrong on the page, and which hosts it asks.
type browser struct {
	*testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string
	urls     []string
}

// newBrowser starts Chromium, or skips the test if that is not installed.
func newBrowser(t *testing.T) *browser {
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
	ctx, cancel := context.WithTimeout(t.Context(), pageTimeout)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{T: t, ctx: ctx}
	if err := chromedp.Listen(ctx, b.note); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	return b
}

// note notes an event of the browser.
func (b *browser) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.problems = append(b.problems, "console "+string(e.Type))
	case *network.EventRequestWillBeSent:
		b.urls = append(b.urls, e.Request.URL)
	}
}

// do performs actions.
func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// get returns the value of an action.
func get[T any](b *browser, action chromedp.Action[T]) T {
	b.Helper()
	value, err := chromedp.Run(b.ctx, action)
	if err != nil {
		b.Fatal(err)
	}
	return value
}

// evaluate returns the value of a JavaScript expression.
func evaluate[T any](b *browser, expression string) T {
	b.Helper()
	return get(b, chromedp.Evaluate[T](expression))
}

// await waits until a JavaScript expression is true.
func (b *browser) await(condition string) {
	b.Helper()
	b.do(chromedp.Poll[chromedp.Void](condition, chromedp.WithPollingTimeout(pageTimeout)))
}

// at waits until the page shows the state after so many decisions.
func (b *browser) at(decision string) {
	b.Helper()
	b.await(`!busy && document.getElementById("where").textContent.startsWith("decision ` +
		decision + ` ·")`)
}

// text returns what an element shows.
func (b *browser) text(selector string) string {
	b.Helper()
	return get(b, chromedp.Text(chromedp.CSS(selector)))
}

// click clicks on an element.
func (b *browser) click(selector string) {
	b.Helper()
	b.do(chromedp.Click(chromedp.CSS(selector)))
}

// A person reaches the violation of no-recheck on the page by choosing steps, saves the schedule,
// and goes back.
func TestPage(t *testing.T) {
	b := newBrowser(t)
	out := t.TempDir()
	c := newClient(t, newExplorer(t, "no-recheck", 3, "cut=1"), out)
	b.do(chromedp.Navigate(c.url))
	b.at("0")
	if title := b.text("h1"); title != "no-recheck, 3 clients × 1 cycles, faults cut=1" {
		t.Errorf("title %q", title)
	}
	for i := range 10 {
		switch i % 3 {
		case 0:
			b.click(".choice") // The default step is the first.
		case 1:
			b.do(chromedp.KeyEvent("1"))
		default:
			b.do(chromedp.KeyEvent(kb.ArrowRight))
		}
		b.at([]string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}[i])
	}
	b.click(`.choice[data-step="cut c2"]`)
	b.at("11")
	if events := b.text("#events"); !strings.Contains(events, "FAULT cut c2, phase listing") {
		t.Errorf("events %s", events)
	}
	if processes := b.text("#processes"); !strings.Contains(processes,
		"c1 has the lock by c1#0; about to enter its critical section") {
		t.Errorf("processes %s", processes)
	}
	if queue := b.text("#queue"); queue != "c1#0 · c2#1 · c3#2" {
		t.Errorf("queue %s", queue)
	}
	for !b.violated() {
		b.click(`.choice:has(.tag)`) // the default step
		b.await("!busy")
	}
	if why := b.text("#whys"); !strings.Contains(why, "server-mutual-exclusion") ||
		!strings.Contains(why, "took the lock without listing again") {
		t.Errorf("why: %s", why)
	}
	b.screenshot("violation")

	b.click("#save")
	b.await(`!busy && document.getElementById("notice").textContent.startsWith("Saved: ")`)
	saved, err := filepath.Glob(filepath.Join(out, "*", "schedule.json"))
	if err != nil || len(saved) != 1 {
		t.Fatalf("saved %v, %v", saved, err)
	}
	r, err := recording.Read(saved[0])
	if err != nil {
		t.Fatal(err)
	}
	scenario := newScenario(t, r.Lock, r.Clients, r.Faults.String())
	again := engine.NewRunner(t).Run(&scenario, &engine.Replay{Deviations: r.Deviations})
	if engine.TraceHash(again.TraceHash) != r.TraceHash || len(r.Deviations) != 1 {
		t.Errorf("replayed to %016x, recorded %v with %v", again.TraceHash, r.TraceHash,
			r.Deviations)
	}

	// Back, another step, and to the first branch again.
	where := b.text("#where")
	b.do(chromedp.KeyEvent(kb.ArrowLeft))
	b.await("!busy && state.violations.length === 0")
	b.do(chromedp.Evaluate[chromedp.Void]("go(pathOf(state, 10))"))
	b.at("10")
	b.click(`.choice[data-step="cut c1"]`)
	b.at("11")
	b.click("#branches li:nth-child(2) button")
	b.await("!busy && state.violations.length > 0")
	if now := b.text("#where"); now != where {
		t.Errorf("the first branch ends at %q, not %q", now, where)
	}

	// The address names the state, and an error is shown.
	address := get(b, chromedp.Location())
	b.click("#reset")
	b.at("0")
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(address))
	b.do(chromedp.WaitVisible(chromedp.CSS("#whys h3")))
	b.await("!busy")
	b.do(chromedp.Evaluate[chromedp.Void](`choose("resume c1")`))
	b.await(`!busy && document.getElementById("notice").className === "error"`)
	if notice := b.text("#notice"); !strings.Contains(notice, "resume c1, is not enabled") {
		t.Errorf("notice %q", notice)
	}

	// The page fits a phone.
	b.do(chromedp.EmulateViewport(360, 740))
	scroll := evaluate[int](b, "document.documentElement.scrollWidth")
	width := evaluate[int](b, "document.documentElement.clientWidth")
	if scroll > width {
		t.Errorf("the page is %d pixels wide on a screen of %d", scroll, width)
	}
	b.screenshot("phone")

	b.mu.Lock()
	defer b.mu.Unlock()
	for _, problem := range b.problems {
		t.Errorf("on the page: %s", problem)
	}
	for _, url := range b.urls {
		if !strings.HasPrefix(url, c.url) && !strings.HasPrefix(url, "data:") &&
			url != "about:blank" {
			t.Errorf("the page loads %s", url)
		}
	}
}

// violated reports whether the page shows a violation.
func (b *browser) violated() bool {
	b.Helper()
	return evaluate[bool](b, `!document.getElementById("violations").hidden`)
}

// screenshot writes a picture of the page to the directory INTERLOCK_SCREENSHOTS, if that is set.
func (b *browser) screenshot(name string) {
	b.Helper()
	directory := os.Getenv("INTERLOCK_SCREENSHOTS")
	if directory == "" {
		return
	}
	picture := get(b, chromedp.FullScreenshot(100))
	if err := os.WriteFile(filepath.Join(directory, "explore-"+name+".png"), picture,
		0o644); err != nil {
		b.Fatal(err)
	}
}
