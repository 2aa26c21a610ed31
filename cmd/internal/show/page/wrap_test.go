package page_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/interlock-sim/interlock/history"
)

// A wrapped is what a test reads of the rows that the page has drawn.
type wrapped struct {
	Rows, Wrapped int
	Wrong         []string // rows that are cut or overlap, and dots beside their rows
}

// Texts are whole at every width: a row is as high as its lines need, the next begins where it
// ends, and the dot of its event is in its middle.
func TestWholeTexts(t *testing.T) {
	data := reported(smallHistory(), &history.Violation{
		Property: history.ClientMutualExclusion, Event: 17,
		Reason: "two are inside", Detail: strings.Repeat("c1 entered while c2 was inside ", 20),
	})
	data.Decisive = []int{}
	for i := range data.Steps {
		step := &data.Steps[i]
		step.Source = "recipe.go:494"
		switch i % 3 {
		case 1:
			step.Text += strings.Repeat(" and c2#1 waits for it", i/2)
		case 2:
			step.Text += " /" + strings.Repeat("lock", 5*i)
		}
	}
	b := open(t, data)
	b.load("")
	for _, width := range []int64{1280, 390, 1440} { // The page lays out again when resized.
		b.Resize(width, 6000, 1)
		b.Await(fmt.Sprintf("innerWidth === %d", width))
		seen := evaluate[wrapped](b, `(async () => {
			for (let n = 0; n < 3; n++) await new Promise(requestAnimationFrame);
			const rows = [...document.querySelectorAll(".row")];
			const box = (e) => e.getBoundingClientRect();
			const dots = [...document.querySelectorAll(".dot")].map(box)
				.map((r) => (r.top + r.bottom) / 2);
			const wrong = (row, n) => {
				const text = row.querySelector(".text > span");
				const at = box(row);
				return text.scrollWidth > text.clientWidth || row.scrollHeight > row.clientHeight ||
					box(text).top < at.top || box(text).bottom > at.bottom ||
					box(text).right > innerWidth || n > 0 && box(rows[n - 1]).bottom !== at.top ||
					row.dataset.step && !row.matches(".ticks") &&
						!dots.some((y) => Math.abs(y - (at.top + at.bottom) / 2) < 1);
			};
			return {
				Rows: rows.length,
				Wrapped: rows.filter((r) => r.offsetHeight > 60).length,
				Wrong: rows.filter(wrong).map((r) => r.innerText),
			};
		})()`, chromedp.EvalAwaitPromise)
		t.Logf("%d pixels: %d rows, %d of them wrapped", width, seen.Rows, seen.Wrapped)
		if seen.Rows < len(data.Steps) || seen.Wrapped < 5 || len(seen.Wrong) > 0 {
			t.Errorf("%d pixels: %+v", width, seen)
		}
	}
}
