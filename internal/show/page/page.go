// Package page renders a run as a page for browsers: one HTML file that contains all that it needs,
// and connects to nothing unless it is live.
//
// The page's program is written in TypeScript, in the directory web. Its bundle is checked in, so
// that the module builds without Node.js; make page rebuilds it.
package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
)

var (
	//go:embed bundle.js
	program string
	//go:embed bundle.css
	style string
)

// A Page shows a run.
type Page struct {
	Data *Data `json:"data"`
	// The page is that of interlock explore: its reader chooses the schedule, and the page asks the
	// server that it came from where that leads.
	Live bool `json:"live"`
}

// Write writes the page as HTML. Equal pages are written as equal bytes. The names in a run do not
// get out of the data: the encoder escapes <, > and &, and the browser runs only scripts with the
// hashes that the page declares.
func (p *Page) Write(w io.Writer) error {
	content, err := json.Marshal(p)
	if err != nil {
		return err
	}
	data := "window.interlock = " + string(content)
	connect := "'none'"
	if p.Live {
		connect = "'self'"
	}
	_, err = fmt.Fprintf(w, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:;
script-src %s %s;
style-src %s; connect-src %s;
base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>%s</title>
<style>%s</style>
</head>
<body>
<noscript>This page needs JavaScript. timeline.txt has the same content.</noscript>
<div id="page"></div>
<script>%s</script>
<script>%s</script>
</body>
</html>
`, hash(data), hash(program), hash(style), connect, html.EscapeString(p.Data.title()), style, data,
		program)
	return err
}

// WriteStatic writes a page without a program: a body in HTML, in the style of the other pages and
// the given one.
func WriteStatic(w io.Writer, title, ownStyle, body string) error {
	all := style + ownStyle
	_, err := fmt.Fprintf(w, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:;
style-src %s; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>%s</title>
<style>%s</style>
</head>
<body>
%s</body>
</html>
`, hash(all), html.EscapeString(title), all, body)
	return err
}

// title names the run, and the property that it violates first.
func (d *Data) title() string {
	if len(d.Violations) == 0 {
		return d.About.Lock + " · Interlock"
	}
	return d.About.Lock + " violates " + string(d.Violations[0].Property) + " · Interlock"
}

// hash returns the source of a Content Security Policy that allows only the text.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
