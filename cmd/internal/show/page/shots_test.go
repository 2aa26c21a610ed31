package page_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

var images = flag.String("images", "", "write the images of the documentation to this `directory`")

// TestImages writes the images of the documentation; see make page-images.
func TestImages(t *testing.T) {
	if *images == "" {
		t.Skip("no -images")
	}
	data, _, _ := likelyLock(t)
	b := open(t, data)
	for _, image := range []struct {
		name, scheme, hash string
		width, height      int64
		scale              float64
	}{
		{"timeline-light", "light", "", 1440, 900, 1},
		{"timeline-dark", "dark", "#event=34&full", 1440, 900, 1},
		{"timeline-phone", "light", "", 390, 844, 2},
	} {
		b.Resize(image.width, image.height, image.scale)
		b.prefer(image.scheme)
		b.load(image.hash)
		picture, err := chromedp.Run(b.Context, chromedp.CaptureScreenshot())
		b.must(err)
		b.must(os.WriteFile(filepath.Join(*images, image.name+".png"), picture, 0o644))
	}
}
