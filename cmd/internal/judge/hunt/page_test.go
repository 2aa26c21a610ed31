package hunt

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/interlock-sim/interlock/cmd/internal/testkit/chromium"
)

// A reader follows a failure on the status page to its timeline.
func TestPage(t *testing.T) {
	h := newHunt(t, t.TempDir(), "textbook", "exists-then-wait")
	h.Targets[0].Broken, h.Targets[1].Broken = true, true
	run(t, h, 2)
	url := serve(t, h)
	tab := chromium.Open(t, url)
	link := chromedp.CSS("#locks tbody tr:nth-child(2) td.failures a")
	tab.Do(chromedp.Navigate(url), chromedp.WaitVisible(link))
	if summary := chromium.Evaluate[string](tab,
		`document.querySelector("#summary").innerText`); !strings.Contains(summary,
		"128 schedules") {
		t.Errorf("summary %q", summary)
	}
	if broken := chromium.Evaluate[string](tab,
		`document.querySelector("#broken").innerText`); broken !=
		"1 of 2 broken locks found, not textbook." {
		t.Errorf("broken locks: %q", broken)
	}
	if left := chromium.Evaluate[float64](tab,
		`document.querySelector("#locks").getBoundingClientRect().left`); left > 100 {
		t.Errorf("the table begins at %v pixels", left)
	}
	// A long link wraps, so its centre may be beside it.
	tab.Do(chromedp.Focus(link), chromedp.KeyEvent(kb.Enter))
	want := "exists-then-wait violates " + string(h.Status().Locks[1].Failures[0].Property)
	tab.Await(`document.title.startsWith("` + want + `")`)
}
