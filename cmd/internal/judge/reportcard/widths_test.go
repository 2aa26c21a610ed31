package reportcard_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/interlock-sim/interlock/cmd/internal/testkit/chromium"
)

// A shown is what a test reads of the page.
type shown struct {
	Width, Height int
	Scrolls       []string // elements inside the page that scroll, or are wider than the window
	Named         int      // verdicts beside the names of their properties
	Columns       bool     // the names of the properties are above columns
}

// The page of the committed card is no wider than the window, and nothing inside it scrolls. Where
// its columns do not fit, names are beside the symbols, and only what a symbol leads to is shown.
func TestWidths(t *testing.T) {
	path, err := filepath.Abs(filepath.Join(root, "docs", "report-card.html"))
	if err != nil {
		t.Fatal(err)
	}
	b := chromium.Open(t, "file://"+path)
	const details = `[...document.querySelectorAll(".grounds")].filter((e) => e.offsetHeight > 0)`
	for _, at := range []struct {
		width   int64
		columns bool
		height  int // at most
	}{{390, false, 25_000}, {800, false, 25_000}, {1280, true, 100_000}} {
		b.Resize(at.width, 900, 1)
		b.Do(chromedp.Navigate("about:blank"), chromedp.Navigate("file://"+path))
		b.Await(`document.querySelector("tbody") !== null`)
		seen := chromium.Evaluate[shown](b, `(() => {
			const page = document.documentElement;
			const names = [...document.querySelectorAll("td a .name")];
			return {
				Width: page.scrollWidth,
				Height: page.scrollHeight,
				Scrolls: [...document.querySelectorAll("main, main *:not(.hidden)")].filter((e) =>
					e.getBoundingClientRect().right > innerWidth ||
					/auto|scroll/.test(getComputedStyle(e).overflow)).map((e) => e.outerHTML),
				Named: names.filter((e) => e.offsetHeight > 0).length,
				Columns: document.querySelector("thead").offsetHeight > 0,
			};
		})()`)
		if seen.Width > int(at.width) || len(seen.Scrolls) > 0 || seen.Height > at.height {
			t.Errorf("%d pixels: %+v", at.width, seen)
		}
		if seen.Columns != at.columns || (seen.Named == 0) != at.columns {
			t.Errorf("%d pixels: columns %v, names beside %d symbols", at.width, seen.Columns,
				seen.Named)
		}
		link := chromium.Evaluate[string](b, `(() => {
			const link = document.querySelector("td.violated a");
			link.click();
			return link.hash;
		})()`)
		b.Await(fmt.Sprintf(`(() => {
			const to = document.getElementById(%q).getBoundingClientRect();
			return to.height > 0 && to.top >= -1 && to.bottom <= innerHeight;
		})()`, link[1:]))
		if open := chromium.Evaluate[int](b, details+".length"); (open == 1) == at.columns {
			t.Errorf("%d pixels: the details of %d locks", at.width, open)
		}
		if wide := chromium.Evaluate[int](b, "document.documentElement.scrollWidth"); wide >
			int(at.width) {
			t.Errorf("%d pixels: %d with the details", at.width, wide)
		}
	}
}
