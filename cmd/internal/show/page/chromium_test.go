package page_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/interlock-sim/interlock/cmd/internal/testkit/chromium"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/show/page"
	"github.com/interlock-sim/interlock/internal/testkit/long"
)

// atStep waits until the page shows an event.
func (b *browser) atStep(step int) {
	b.Helper()
	b.Await(fmt.Sprintf(`document.querySelector('[aria-current="step"]')?.dataset.step === "%d" &&
		new URLSearchParams(location.hash.slice(1)).get("event") === "%d"`, step, step))
}

// cited returns the step of the first link in the explanation.
func (b *browser) cited() int {
	b.Helper()
	const link = `.why a[href^="#event="]`
	b.Await(fmt.Sprintf("document.querySelector('%s') !== null", link))
	return evaluate[int](b, fmt.Sprintf(`Number(document.querySelector('%s').hash.slice(7))`, link))
}

// full waits until the page shows all events, or only those that mattered.
func (b *browser) full(want bool) {
	b.Helper()
	b.Await(fmt.Sprintf(`(document.querySelector('.switch [aria-pressed="true"]').innerText !==
		"Decisive") === %t`, want))
}

// violated returns the step of the first violation.
func violated(data *page.Data) int { return data.Violations[0].Step }

// stepOf returns the first step that matches.
func stepOf(t *testing.T, data *page.Data, matches func(*page.Step) bool) int {
	t.Helper()
	n := slices.IndexFunc(data.Steps, func(s page.Step) bool { return matches(&s) })
	if n < 0 {
		t.Fatal("no such step")
	}
	return n
}

// A reader begins at the violation, where two processes believe that they hold the lock.
func TestStart(t *testing.T) {
	data := brokenLock(t)
	b := open(t, data)
	b.Resize(1440, 900, 1)
	b.load("")
	b.atStep(violated(data))
	b.full(false)
	if n := evaluate[int](b, `document.querySelectorAll(".state table .belief.holds").length`); n != 2 {
		t.Errorf("%d processes hold the lock, want 2", n)
	}
	if text := b.text(".why"); !strings.Contains(text, "took the lock without listing again") {
		t.Errorf("the reason is %q", text)
	}
	if rows := evaluate[int](b, `document.querySelectorAll(".row[data-step]").length`); rows !=
		len(data.Decisive) {
		t.Errorf("%d rows, want %d", rows, len(data.Decisive))
	}
	for _, text := range []string{"c1", "c2", "c3", "zk"} {
		if !strings.Contains(b.text(".heads"), text) {
			t.Errorf("no lane %s in %q", text, b.text(".heads"))
		}
	}
}

// The slider moves through the steps, and the state follows.
func TestSlider(t *testing.T) {
	data := brokenLock(t)
	b := open(t, data)
	b.Resize(1440, 900, 1)
	b.load("")
	at := func(part float64) {
		t.Helper()
		place := evaluate[[]float64](b, `(() => {
			const r = document.querySelector("input[type=range]").getBoundingClientRect();
			return [r.left, r.width, r.top + r.height / 2];
		})()`)
		b.Do(chromedp.MouseClickXY(place[0]+4+(place[1]-8)*part, place[2]))
	}
	at(0)
	b.atStep(data.Decisive[0])
	if n := evaluate[int](b, `document.querySelectorAll(".state .belief.holds").length`); n != 0 {
		t.Errorf("%d processes hold the lock at the beginning", n)
	}
	if text := b.text(".state"); strings.Contains(text, "c1#0") {
		t.Errorf("the state at the beginning is %q", text)
	}
	at(1)
	b.atStep(data.Decisive[len(data.Decisive)-1])
	b.Click(`[aria-label="Previous event"]`)
	b.atStep(data.Decisive[len(data.Decisive)-2])
	if n := evaluate[int](b, `document.querySelectorAll(".state table .belief.holds").length`); n != 1 {
		t.Errorf("%d processes hold the lock before the violation, want 1", n)
	}
	armed := stepOf(t, data, func(s *page.Step) bool { return s.Kind == history.WatchArmed })
	b.load("#event=" + strconv.Itoa(armed))
	b.Await(`document.querySelector(".state").innerText.includes("for its change")`)
}

// The search finds events, and counts those that the decisive part leaves out.
func TestSearch(t *testing.T) {
	data := brokenLock(t)
	b := open(t, data)
	b.Resize(1440, 900, 1)
	b.load("")
	grants := []int{
		stepOf(t, data, func(s *page.Step) bool { return s.Text == "c1 HAS THE LOCK by c1#0" }),
		stepOf(t, data, func(s *page.Step) bool { return s.Text == "c3 HAS THE LOCK by c3#2" }),
	}
	b.press("/", "has the lock")
	b.Await(`document.querySelectorAll(".row.found").length === 2 &&
		document.querySelectorAll("mark").length === 2`)
	b.press(kb.Enter)
	b.atStep(grants[0])
	b.Await(`document.querySelector(".search output").innerText === "1 of 2"`)
	b.press(kb.Enter)
	b.atStep(grants[1])
	b.press(kb.Escape)
	b.Await(`document.querySelector("input[type=search]").value === "" &&
		document.querySelectorAll(".row.found").length === 0`)

	b.press("/", "sends connect")
	b.Await(`document.querySelector(".elsewhere") !== null`)
	b.Click(".elsewhere")
	b.full(true)
	b.press("/", kb.Enter)
	b.atStep(stepOf(t, data, func(s *page.Step) bool { return s.Text == "c2 sends connect" }))
}

// A link leads to a step. If the decisive part lacks the step, the page shows all events.
func TestStepLink(t *testing.T) {
	data := brokenLock(t)
	b := open(t, data)
	b.Resize(1440, 900, 1)
	b.load(fmt.Sprintf("#event=%d", data.Decisive[3]))
	b.atStep(data.Decisive[3])
	b.full(false)
	hidden := stepOf(t, data, func(s *page.Step) bool { return s.Kind == history.SessionState })
	b.load(fmt.Sprintf("#event=%d", hidden))
	b.atStep(hidden)
	b.full(true)
	evaluate[string](b, fmt.Sprintf(`location.hash = "#event=%d"`, data.Decisive[0]))
	b.atStep(data.Decisive[0])
	b.load(fmt.Sprintf("#event=%d&full", data.Decisive[3]))
	b.atStep(data.Decisive[3])
	b.full(true)
	for _, wrong := range []string{"#event=", "#event=x", "#event=-3", "#other"} {
		b.load(wrong)
		b.atStep(violated(data))
	}
	b.load("#event=999999")
	b.atStep(len(data.Steps) - 1)

	// The numbers in the explanation are links too.
	b.load("")
	first := b.cited()
	b.Click(fmt.Sprintf(`.why a[href="#event=%d"]`, first))
	b.atStep(first)
}

// All steps can be reached by keys.
func TestKeyboard(t *testing.T) {
	data := brokenLock(t)
	b := open(t, data)
	b.Resize(1440, 900, 1)
	b.load("")
	shown := data.Decisive
	b.press(kb.Home)
	b.atStep(shown[0])
	b.press(kb.ArrowRight, kb.ArrowDown)
	b.atStep(shown[2])
	b.press(kb.ArrowLeft)
	b.atStep(shown[1])
	b.press(kb.End)
	b.atStep(shown[len(shown)-1])
	b.press("f")
	b.full(true)
	b.press(kb.Home)
	b.atStep(0)
	b.press(kb.ArrowRight)
	b.atStep(1)
	b.press(kb.End)
	b.atStep(len(data.Steps) - 1)
	b.press("f")
	b.full(false)
	b.press(kb.Home, "/", "c2", kb.Enter, kb.ArrowRight) // An arrow in the search moves its cursor.
	found := stepOf(t, data, func(s *page.Step) bool { return s.Text == "c2 asks for the lock" })
	b.atStep(found)
}

// At the width of a phone the page has tabs, and nothing is wider than the window.
func TestPhone(t *testing.T) {
	data := brokenLock(t)
	b := open(t, data)
	b.Resize(390, 844, 2)
	b.load("")
	b.atStep(violated(data))
	for n, want := range []string{"c3 HAS THE LOCK", "Sessions", "took the lock without listing"} {
		b.Click(fmt.Sprintf("nav button:nth-child(%d)", n+1))
		b.Await(fmt.Sprintf(`document.querySelector("main").innerText.includes(%q)`, want))
		if wide := evaluate[int](b, `document.documentElement.scrollWidth`); wide > 390 {
			t.Errorf("tab %d is %d pixels wide", n+1, wide)
		}
		if over := evaluate[string](b, `[...document.querySelectorAll("main *, header *, footer *")]
			.filter((e) => e.getBoundingClientRect().right > 391 && e.closest(".leaf") === null)
			.map((e) => e.tagName + "." + e.getAttribute("class")).join(" ")`); over != "" {
			t.Errorf("tab %d: beyond the edge: %s", n+1, over)
		}
	}
	first := b.cited()
	b.Click(fmt.Sprintf(`.why a[href="#event=%d"]`, first))
	b.Await(`document.querySelector("main .timeline") !== null`)
	b.atStep(first)
}

// The page follows the color scheme of the system unless its reader chooses one.
func TestTheme(t *testing.T) {
	b := open(t, brokenLock(t))
	b.Resize(1440, 900, 1)
	const light = `getComputedStyle(document.querySelector(".timeline")).backgroundColor ===
		"rgb(255, 255, 255)"`
	b.prefer("dark")
	b.load("")
	b.Await("!(" + light + ")")
	b.prefer("light")
	b.Await(light)
	b.Click(".theme") // light
	b.prefer("dark")
	b.Await(light)
	b.Click(".theme") // dark
	b.prefer("light")
	b.Await("!(" + light + ")")
	b.Click(".theme") // as the system
	b.Await(light)
}

// The state at a step shows what a process believes and what the ensemble has: here a holder that
// was notified of its loss, and a session that has expired with its node.
func TestStateAtStep(t *testing.T) {
	data := reported(smallHistory())
	b := open(t, data)
	b.Resize(1440, 900, 1)
	for _, at := range []struct {
		step       int
		has, hasNo string
	}{
		{4, "waits", "holds"},
		{8, "holds", "c2#1"},
		{17, "for its change", "believes lost"},
		{21, "holds", "c2#1 waits"},
		{22, "fired: deleted", "expired"},
		{24, "expired", "fired"},
		{25, "believes lost", "holds"},
		{28, "idle", "believes lost"},
	} {
		b.load(fmt.Sprintf("#event=%d", at.step))
		b.atStep(at.step)
		text := strings.Join(strings.Fields(b.text(".state")), " ")
		if !strings.Contains(text, at.has) || strings.Contains(text, at.hasNo) {
			t.Errorf("step %d: %q, want %q and no %q", at.step, text, at.has, at.hasNo)
		}
	}
}

// A process that waits forever is shown at the end.
func TestStuckProcess(t *testing.T) {
	events := smallHistory()
	data := reported(events, &history.Violation{
		Property: history.Progress, Event: 9, Reason: "a process waits for the lock for ever",
	})
	b := open(t, data)
	b.load("")
	b.atStep(len(events) - 1)
	if row := b.text(".row.stuck"); !strings.Contains(row, "c2 STILL WAITS") {
		t.Errorf("the last row is %q", row)
	}
	b.press(kb.Home)
	b.atStep(9)
}

// A scrolled is what the page drew while a test scrolled through it.
type scrolled struct {
	Steps    int // by which the test scrolled
	All      int // rows seen
	Elements int // the most in the timeline at once
	Rows     int // the most at once
	Rendered int // rows in all
	Most     int // rows in one step
	Last     int // the step of the last row
}

// scroll scrolls from the top to the bottom in steps of some pixels, and waits after each until
// rows cover what is visible.
func (b *browser) scroll(pixels int) scrolled {
	b.Helper()
	return chromium.Evaluate[scrolled](b.Tab, fmt.Sprintf(`(async () => {
		const box = document.querySelector(".timeline");
		// Chromium can leave out a frame on a busy machine.
		const frame = () => new Promise((done) => {
			requestAnimationFrame(done);
			setTimeout(done, 1000);
		});
		const heads = box.querySelector(".heads").offsetHeight;
		const covered = () => {
			const rows = [...box.querySelectorAll(".row")];
			const end = box.querySelector(".rows").offsetHeight - 24;
			const top = Math.min(...rows.map((r) => r.offsetTop));
			const bottom = Math.max(...rows.map((r) => r.offsetTop + r.offsetHeight));
			return top <= box.scrollTop &&
				bottom >= Math.min(end, box.scrollTop + box.clientHeight - heads);
		};
		const to = async (top) => {
			box.scrollTop = top;
			for (let n = 0; n < 2 || !covered(); n++) {
				if (n === 600) throw new Error("no rows at " + top);
				await frame();
			}
		};
		await to(0);
		const all = new Set();
		const note = () => box.querySelectorAll(".row").forEach((r) => all.add(r.style.top));
		note();
		const seen = { Steps: 0, All: 0, Elements: 0, Rows: 0, Rendered: 0, Most: 0, Last: 0 };
		const first = interlock.rendered.rows;
		while (box.scrollTop + box.clientHeight < box.scrollHeight - 1) {
			const before = interlock.rendered.rows;
			await to(box.scrollTop + %d);
			note();
			seen.Steps++;
			seen.Elements = Math.max(seen.Elements, box.querySelectorAll("*").length);
			seen.Rows = Math.max(seen.Rows, box.querySelectorAll(".row").length);
			seen.Most = Math.max(seen.Most, interlock.rendered.rows - before);
		}
		seen.All = all.size;
		seen.Rendered = interlock.rendered.rows - first;
		seen.Last = Number([...box.querySelectorAll(".row[data-step]")].at(-1).dataset.step);
		return seen;
	})()`, pixels), chromedp.EvalAwaitPromise)
}

// A run of 3,000 events costs no more to scroll than a short one: the page has only the rows near
// the visible part, and renders each row once, when it comes near. To choose another event renders
// the rows of both.
func TestScroll(t *testing.T) {
	const (
		height   = 900 // of the window
		row      = 30
		overscan = 300 // drawn above and below the visible part
		near     = (height+2*overscan)/row + 2
	)
	data := longRun(t)
	data.Decisive = []int{}
	b := open(t, data)
	b.Resize(1440, height, 1)
	b.load("#event=0")
	b.atStep(0)
	length := evaluate[int](b, `document.querySelector(".rows").offsetHeight`)
	for _, pixels := range long.Sample([]int{1200, 610}, 1) {
		seen := b.scroll(pixels)
		t.Logf("%d pixels: %+v", pixels, seen)
		if seen.Last != len(data.Steps)-1 || seen.Steps < (length-height)/pixels {
			t.Errorf("%d pixels: %d steps down to event %d", pixels, seen.Steps, seen.Last)
		}
		if seen.Rows > near || seen.Elements > 20*near {
			t.Errorf("%d pixels: %d rows and %d elements at once, want at most %d and %d", pixels,
				seen.Rows, seen.Elements, near, 20*near)
		}
		// The view moves on when it is half the overscan behind.
		if most := min(near, (pixels+overscan)/row+2); seen.Most > most {
			t.Errorf("%d pixels: a step renders %d rows, want at most %d", pixels, seen.Most, most)
		}
		if seen.Rendered > seen.All {
			t.Errorf("%d pixels: %d renderings of %d rows", pixels, seen.Rendered, seen.All)
		}
	}
	b.press(kb.End)
	b.atStep(len(data.Steps) - 1)
	b.press(kb.Home)
	b.atStep(0)
	before := evaluate[int](b, "interlock.rendered.rows")
	b.press(kb.ArrowRight)
	b.atStep(1)
	if n := evaluate[int](b, "interlock.rendered.rows") - before; n != 2 {
		t.Errorf("another event renders %d rows, want 2", n)
	}
}

// The bug-probability curve is under the slider. Its marks lead to the events of the steps that
// mattered most, as do the numbers in the text, and a click on it leads to the event there.
func TestCurve(t *testing.T) {
	data, report, _ := likelyLock(t)
	l := report.Likelihood
	b := open(t, data)
	b.Resize(1440, 900, 1)
	b.load("")
	if n := evaluate[int](b, `document.querySelectorAll("footer .curve svg path.line").length`); n != 1 {
		t.Fatalf("%d curves, want 1", n)
	}
	for selector, d := range map[string]*page.Decision{
		"footer .curve .rise":      data.Likelihood.Jump,
		"footer .curve .avoidable": data.Likelihood.Avoidable,
		fmt.Sprintf(`.why .likely a[href="#event=%d"]`, data.Likelihood.Jump.Step): data.Likelihood.Jump,
	} {
		b.press(kb.End)
		b.Click(selector)
		b.atStep(d.Step)
		// The mark is above the knob of the slider, which is at the event now.
		off := evaluate[float64](b, fmt.Sprintf(`(() => {
			const slider = document.querySelector("input[type=range]");
			const box = slider.getBoundingClientRect();
			const part = slider.max > 0 ? slider.value / slider.max : 0;
			const mark = document.querySelector(%q).getBoundingClientRect();
			return mark.left + mark.width / 2 - (box.left + 8 + (box.width - 16) * part);
		})()`, "footer .curve ."+markOf(d, data)))
		if off < -2 || off > 2 {
			t.Errorf("%s is %v pixels beside the knob of the slider", selector, off)
		}
	}
	if title := evaluate[string](b, `document.querySelector(".curve .rise").title`); !strings.Contains(
		title, fmt.Sprintf("step %d, %s; event ", l.Jump.Step, l.Jump.Taken)) {
		t.Errorf("the mark says %q", title)
	}
	if text := b.text(".why .likely"); !strings.Contains(text, "it does not occur") {
		t.Errorf("the text is %q", text)
	}
	// The curve has all points, and ends at the top.
	if path := evaluate[string](b, `document.querySelector("footer .curve .line").
		getAttribute("d")`); !strings.HasSuffix(path, "L100 0") ||
		strings.Count(path, "L") != len(l.Curve)+1 {
		t.Errorf("the curve is %s", path)
	}
	place := evaluate[[]float64](b, `(() => {
		const r = document.querySelector("footer .curve svg").getBoundingClientRect();
		return [r.left, r.width, r.top + r.height / 2];
	})()`)
	b.Do(chromedp.MouseClickXY(place[0]+place[1]-1, place[2]))
	b.atStep(data.Decisive[len(data.Decisive)-1])

	b.Resize(390, 844, 2)
	b.Await(`document.querySelector("nav") !== null`)
	b.Click("footer .curve .rise")
	b.atStep(data.Likelihood.Jump.Step)
	if wide := evaluate[int](b, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("%d pixels wide", wide)
	}
}

// markOf returns the class of the mark of a step.
func markOf(d *page.Decision, data *page.Data) string {
	if d == data.Likelihood.Jump {
		return "rise"
	}
	return "avoidable"
}

// Names in a run are text for the browser too.
func TestHostileNamesInBrowser(t *testing.T) {
	const name = `</script><img src=x onerror=alert(1)><b>`
	report, _ := brokenReport(t)
	data := page.New(page.About{Lock: name, Scenario: name, Replay: name, Deviations: []string{name}},
		report)
	for i := range data.Steps {
		data.Steps[i].Text, data.Steps[i].Source = name, name
	}
	for i := range data.Nodes {
		data.Nodes[i].Name, data.Nodes[i].Path = name, "/lock/"+name+"0000000001"
	}
	data.Violations[0].Why, data.Violations[0].Detail = name, name
	b := open(t, data)
	b.Resize(1440, 900, 1)
	b.load("")
	b.Await(`document.querySelector("h1") !== null`)
	if text := b.text("h1"); text != name {
		t.Errorf("the title is %q", text)
	}
	if n := evaluate[int](b, `document.querySelectorAll("img, .row b").length`); n != 0 {
		t.Errorf("%d elements from names", n)
	}
}

// The browser refuses requests of the page, and the tests would notice one.
func TestNoConnections(t *testing.T) {
	b := open(t, brokenLock(t))
	b.load("")
	if text := evaluate[string](b, `fetch("http://127.0.0.1:9/").then(() => "", (e) => e.name)`,
		chromedp.EvalAwaitPromise); text != "TypeError" {
		t.Errorf("a request ends with %q", text)
	}
	b.Expect("Content Security Policy")
}
