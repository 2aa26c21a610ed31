package site_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/interlock-sim/interlock/cmd/internal/testkit/chromium"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/recording"
)

// A browser is a page of the explorer in Chromium.
type browser struct{ *chromium.Tab }

// at waits until the page shows the state after so many steps.
func (b *browser) at(steps int) {
	b.Helper()
	b.Await(fmt.Sprintf(`document.querySelector('#live[data-length="%d"][aria-busy="false"]') &&
		new URLSearchParams(location.hash.slice(1)).get("path")?.split(",")[0] === "%[1]d"`,
		steps))
}

// length returns how many steps have led to the state on the page.
func (b *browser) length() int {
	b.Helper()
	return chromium.Evaluate[int](b.Tab, `Number(document.querySelector("#live").dataset.length)`)
}

// has returns an error unless an element shows the text.
func (b *browser) has(selector, text string) {
	b.Helper()
	if shown := b.Text(selector); !strings.Contains(shown, text) {
		b.Errorf("%s shows %q, not %q", selector, shown, text)
	}
}

// choose clicks on an enabled step.
func (b *browser) choose(step string) {
	b.Helper()
	b.Click(fmt.Sprintf(".choice[data-step=%q]", step))
}

// violated reports whether the page shows a violation.
func (b *browser) violated() bool {
	b.Helper()
	return chromium.Evaluate[bool](b.Tab, `document.querySelector("#live .broken") !== null`)
}

// TestMain ends the browser of the tests.
func TestMain(m *testing.M) { chromium.Main(m) }

// explores opens the page for a lock.
func explores(t *testing.T, lock, plan, out string) (*browser, client) {
	t.Helper()
	c := newClient(t, exploring(t, newScenario(t, lock, 3, plan), out))
	b := &browser{chromium.Open(t, c.url)}
	b.Do(chromedp.Navigate(c.url))
	b.at(0)
	return b, c
}

// cutListing leads by hand to the state in which c2 is cut off while it lists the queue: by the
// list of enabled steps, by the number of a step in it, and by the key for the default step.
func (b *browser) cutListing() {
	b.Helper()
	for i := range 10 {
		switch i % 3 {
		case 0:
			b.Click(".choice") // The default step is the first.
		case 1:
			b.Press("1")
		default:
			b.Do(chromedp.Evaluate[chromedp.Void]("document.activeElement.blur()"))
			b.Press(kb.Enter)
		}
		b.at(i + 1)
	}
	b.choose("cut c2")
	b.at(11)
}

// A person reaches the violation of no-recheck on the page by choosing steps, sees why, saves the
// schedule, and replays it to the same trace.
func TestPage(t *testing.T) {
	out := t.TempDir()
	b, _ := explores(t, "no-recheck", "cut=1", out)
	b.has("header", "no-recheck")
	b.has("header", "no violation")
	b.has(".scenario", "3 clients × 1 cycles, faults cut=1")
	b.cutListing()
	b.has(".timeline", "FAULT cut c2, phase list")
	b.has(".row.here", "c2")
	b.has(".state tr:first-child", "has the lock by c1#0; about to enter its critical section")
	b.has(".queue", "c1#0 holds c2#1 waits c3#2 waits")
	b.has(".state", "In flight")
	for !b.violated() {
		next := b.length() + 1
		b.Click(".choice:has(.tag)") // the default step
		b.at(next)
	}
	b.has("#live .broken", "server-mutual-exclusion")
	b.has("header", "violates server-mutual-exclusion")
	b.has(".why", "took the lock without listing again")

	b.Press("s")
	b.Await(`document.querySelector(".notice").innerText.startsWith("Saved: ")`)
	b.has(".notice", "Saved: server-mutual-exclusion: ")
	r := onlySaved(t, out)
	scenario := newScenario(t, r.Lock, r.Clients, r.Faults.String())
	again := engine.NewRunner(t).Run(&scenario, &engine.Replay{Deviations: r.Deviations})
	if engine.TraceHash(again.TraceHash) != r.TraceHash || len(r.Deviations) != 1 {
		t.Errorf("replayed to %016x, recorded %v with %v", again.TraceHash, r.TraceHash,
			r.Deviations)
	}
}

// The page of a lock on Redis shows keys, and no parts that only ZooKeeper has.
func TestKeys(t *testing.T) {
	b, _ := explores(t, "setnx-lease", "none", t.TempDir())
	b.has(".state", "Keys")
	b.Click(".choice:has(.tag)") // the default step: c1's SET is served
	b.at(1)
	b.has(".state", "expires at")
	for _, part := range []string{"Watches", "Sessions", "Tree"} {
		b.Await(fmt.Sprintf(`!document.querySelector(".state").innerText.includes(%q)`, part))
	}
}

// onlySaved returns the only recording below a directory.
func onlySaved(t *testing.T, out string) *recording.Recording {
	t.Helper()
	saved, err := filepath.Glob(filepath.Join(out, "*", "schedule.json"))
	if err != nil || len(saved) != 1 {
		t.Fatalf("saved %v, %v", saved, err)
	}
	r, err := recording.Read(saved[0])
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Another step than before begins a branch. The first one stays in the list, and leads to the same
// state again. A branch that is left in its middle can be followed to its end.
func TestBranching(t *testing.T) {
	b, _ := explores(t, "no-recheck", "cut=1", t.TempDir())
	b.cutListing()
	b.Click(".run")
	b.Await(`document.querySelector("#live .broken") !== null`)
	end := b.length()
	b.at(end)
	events, state := b.Text(".timeline"), b.Text(".state")

	// Back to step 10, by the event to which it led.
	chromium.Evaluate[int](b.Tab, `document.querySelector(".timeline").scrollTop = 300`)
	b.Await(`document.querySelector(".row.fault") !== null`)
	b.Click(`.row.fault`)
	b.has(".earlier", "Choose again at step 10")
	b.Click(".earlier")
	b.at(10)
	if b.violated() {
		t.Error("violated before the fault")
	}
	b.has(".taken li:first-child", fmt.Sprintf("%d more on this branch", end-10))
	b.choose("cut c1")
	b.at(11)
	b.has(".timeline", "FAULT cut c1")
	b.has(".branches li:nth-child(1)", "10: cut c1 11 steps")
	b.has(".branches li:nth-child(2)", fmt.Sprintf("10: cut c2 %d steps", end))

	b.Click(".branches li:nth-child(2) button")
	b.at(end)
	if now := b.Text(".timeline"); now != events {
		t.Errorf("the first branch ends with the events %s, not %s", now, events)
	}
	if now := b.Text(".state"); now != state {
		t.Errorf("the first branch ends with the state %s, not %s", now, state)
	}
	b.has(".branches li:nth-child(2)", "10: cut c1 11 steps")

	// Forward follows the branch, fault included.
	b.Click(".taken li:last-child button") // step 0
	b.at(0)
	for i := range 11 {
		b.Click(".forward")
		b.at(i + 1)
	}
	b.has(".timeline", "FAULT cut c2")
	if n := chromium.Evaluate[int](b.Tab, `document.querySelectorAll(".branches li").length`); n != 2 {
		t.Errorf("%d branches, want 2", n)
	}
}

// The reader goes back by a key, by the browser's history, and by a link. An event can be chosen
// without leaving the state.
func TestBack(t *testing.T) {
	out := t.TempDir()
	b, c := explores(t, "no-recheck", "cut=1", out)
	b.cutListing()
	fault := b.Text(".row.here")
	address := chromium.Get(b.Tab, chromedp.Location())
	b.Press(kb.Backspace)
	b.at(10)
	b.Do(chromedp.NavigateBack()) // to where Backspace was pressed
	b.at(11)
	b.Do(chromedp.NavigateBack())
	b.at(10)
	b.Do(chromedp.NavigateForward())
	b.at(11)
	b.Press(kb.ArrowLeft) // the event before
	b.Await(`document.querySelector(".row.here") && !document.querySelector(".row.fault.here")`)
	b.at(11)
	b.has(".earlier", "Choose again at step")

	b.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(address))
	b.at(11)
	if now := b.Text(".row.here"); now != fault {
		t.Errorf("the link shows event %q, not %q", now, fault)
	}
	// A link to a step that is not enabled says so, and shows the start.
	b.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(c.url+"#path=1,0:enter+c1"))
	b.Await(`document.querySelector(".notice.error") !== null`)
	b.has(".notice", "enter c1, is not enabled")
	b.at(0)
	b.Expect("400 (Bad Request)")

	// A schedule that violates nothing can be saved too.
	b.Click(".save")
	b.Await(`document.querySelector(".notice").innerText.startsWith("Saved: ")`)
	b.has(".notice", "Saved: violates nothing. Replay it with replay "+out)
	if r := onlySaved(t, out); r.Violates() || len(r.Deviations) > 0 {
		t.Errorf("recorded %s with %v", r.Signature, r.Deviations)
	}
}

// At the width of a phone the steps have a tab, and nothing is wider than the window.
func TestPhone(t *testing.T) {
	b, _ := explores(t, "no-recheck", "cut=1", t.TempDir())
	b.Do(chromedp.EmulateViewport(390, 844))
	b.Await(`document.querySelectorAll("nav button").length === 4`)
	b.cutListing()
	for n, want := range []string{"Next step", "FAULT cut c2", "Sessions", "violates no property"} {
		b.Click(fmt.Sprintf("nav button:nth-child(%d)", n+1))
		b.Await(fmt.Sprintf(`document.querySelector("main").innerText.includes(%q)`, want))
		if wide := chromium.Evaluate[int](b.Tab, "document.documentElement.scrollWidth"); wide > 390 {
			t.Errorf("tab %d is %d pixels wide", n+1, wide)
		}
		if over := chromium.Evaluate[string](b.Tab, `[...document.querySelectorAll("main *, header *, footer *")]
			.filter((e) => e.getBoundingClientRect().right > 391 && e.closest(".leaf") === null)
			.map((e) => e.tagName + "." + e.getAttribute("class")).join(" ")`); over != "" {
			t.Errorf("tab %d: beyond the edge: %s", n+1, over)
		}
	}
}

var images = flag.String("images", "", "write the images of the documentation to this `directory`")

// TestImages writes the images of the documentation; see make page-images.
func TestImages(t *testing.T) {
	if *images == "" {
		t.Skip("no -images")
	}
	b, _ := explores(t, "no-recheck", "cut=1", t.TempDir())
	for _, image := range []struct {
		name, scheme  string
		width, height int64
		scale         float64
	}{
		{"explore-phone", "light", 390, 844, 2},
		{"explore-light", "light", 1440, 900, 1},
		{"explore-dark", "dark", 1440, 900, 1},
	} {
		b.Do(chromedp.EmulateViewport(image.width, image.height,
			chromedp.EmulateScale(image.scale)))
		_, err := chromedp.Call(b.Context, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: image.scheme},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if b.length() == 0 {
			b.cutListing()
		}
		picture := chromium.Get(b.Tab, chromedp.CaptureScreenshot())
		path := filepath.Join(*images, image.name+".png")
		if err := os.WriteFile(path, picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
