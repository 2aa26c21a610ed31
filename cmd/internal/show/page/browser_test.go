package page_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/interlock-sim/interlock/cmd/internal/testkit/chromium"
	"github.com/interlock-sim/interlock/internal/show/page"
)

// TestMain ends the browser of the tests.
func TestMain(m *testing.M) { chromium.Main(m) }

// A browser is a tab of Chromium that shows a page from a file.
type browser struct {
	*chromium.Tab
	path string
}

// open writes the page to a file and opens a tab.
func open(t *testing.T, data *page.Data) *browser {
	t.Helper()
	path := filepath.Join(t.TempDir(), "timeline.html")
	b := &browser{chromium.Open(t, "file://"+path), path}
	b.write(data)
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

func (b *browser) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// load loads the page with a hash, such as #event=12.
func (b *browser) load(hash string) {
	b.Helper()
	address := url.URL{Scheme: "file", Path: b.path}
	b.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(address.String()+hash))
	b.Await(`document.querySelector("footer") !== null`)
}

// prefer sets the color scheme that the system prefers.
func (b *browser) prefer(scheme string) {
	b.Helper()
	_, err := chromedp.Call(b.Context, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
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
			_, err := chromedp.Call(b.Context, input.DispatchKeyEvent, *event)
			b.must(err)
		}
	}
}

// evaluate returns the value of a JavaScript expression.
func evaluate[T any](b *browser, expression string, options ...chromedp.EvaluateOption) T {
	b.Helper()
	return chromium.Evaluate[T](b.Tab, expression, options...)
}

// text returns the text of the first element that matches.
func (b *browser) text(selector string) string {
	b.Helper()
	return evaluate[string](b, fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector))
}
