package contributing_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Links between pages lead to a file, and to a heading if they name one. The index, docs/README.md,
// leads to every page.
func TestLinks(t *testing.T) {
	pages := documentation(t)
	indexed := map[string]bool{"README.md": true, "docs/README.md": true}
	for of, text := range pages {
		for _, target := range links(text) {
			if problem := broken(pages, of, target); problem != "" {
				t.Errorf("%s: %s", of, problem)
			}
			if to, _, _ := strings.Cut(target, "#"); of == "docs/README.md" {
				indexed[path.Join("docs", to)] = true
			}
		}
	}
	for page := range pages {
		if !indexed[page] {
			t.Errorf("docs/README.md has no link to %s", page)
		}
	}
}

// Links that lead nowhere are found.
func TestBrokenLinks(t *testing.T) {
	pages := map[string]string{
		"docs/a.md": "# A page\n## `x` in [y](b.md), z\n## A *zk.Conn\n```sh\n# no heading\n[no](link)\n```\n",
		"docs/b.md": "",
	}
	for target, want := range map[string]string{
		"b.md": "", "#a-page": "", "a.md#x-in-y-z": "", "a.md#a-zkconn": "",
		"https://example.com#nothing": "", "../README.md": "",
		"c.md":            "there is no docs/c.md",
		"a.md#no-heading": "docs/a.md has no heading #no-heading",
		"b.md#a-page":     "docs/b.md has no heading #a-page",
	} {
		if got := broken(pages, "docs/a.md", target); got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
	if got := fmt.Sprint(links(pages["docs/a.md"])); got != "[b.md]" {
		t.Errorf("links %s", got)
	}
}

var (
	fencedBlock = regexp.MustCompile("(?ms)^```.*?^```$")
	inlineLink  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading     = regexp.MustCompile(`(?m)^#+ (.*)$`)
	linkText    = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// links returns the targets of the links of a page.
func links(text string) (targets []string) {
	for _, link := range inlineLink.FindAllStringSubmatch(fencedBlock.ReplaceAllString(text, ""), -1) {
		targets = append(targets, link[1])
	}
	return targets
}

// broken returns what is wrong with a link of a page, or "".
func broken(pages map[string]string, of, target string) string {
	if strings.Contains(target, "://") {
		return ""
	}
	to, anchor, hasAnchor := strings.Cut(target, "#")
	file := of
	if to != "" {
		file = path.Join(path.Dir(of), to)
	}
	text, isPage := pages[file]
	if _, err := os.Stat(filepath.Join(module, file)); err != nil && !isPage {
		return "there is no " + file
	}
	if hasAnchor && !anchors(text)[anchor] {
		return file + " has no heading #" + anchor
	}
	return ""
}

// anchors returns the names that GitHub gives to the headings of a page.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for _, found := range heading.FindAllStringSubmatch(fencedBlock.ReplaceAllString(text, ""), -1) {
		name := linkText.ReplaceAllString(strings.ToLower(found[1]), "$1")
		names[strings.ReplaceAll(notInAnchor.ReplaceAllString(name, ""), " ", "-")] = true
	}
	return names
}
