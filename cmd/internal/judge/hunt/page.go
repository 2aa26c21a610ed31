package hunt

import (
	"fmt"
	"html/template"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/internal/base/localhttp"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/show/page"
)

// refreshSeconds is how often a browser loads the status page again.
const refreshSeconds = "5"

// Site returns the status page, the status as JSON, and the files of the counterexamples.
func (h *Hunt) Site() *localhttp.Site {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", h.page)
	mux.HandleFunc("GET /status.json", func(w http.ResponseWriter, _ *http.Request) {
		localhttp.Write(w, http.StatusOK, h.Status())
	})
	mux.HandleFunc("GET /failures/{directory}/{file}", h.file)
	return localhttp.NewSite(mux)
}

// file answers with a file of a counterexample.
func (h *Hunt) file(w http.ResponseWriter, r *http.Request) {
	root, err := os.OpenRoot(h.FailuresDirectory())
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer root.Close()
	http.ServeFileFS(w, r, root.FS(), r.PathValue("directory")+"/"+r.PathValue("file"))
}

// page answers with the status page.
func (h *Hunt) page(w http.ResponseWriter, _ *http.Request) {
	var body strings.Builder
	if err := pageTemplate.Execute(&body, h.Status()); err != nil {
		localhttp.WriteError(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Refresh", refreshSeconds)
	page.WriteStatic(w, "Hunt · Interlock", pageStyle, body.String()) // The client may have left.
}

const pageStyle = `
main { display: block; margin: 1rem; }
table { border-collapse: collapse; }
th, td { padding: .15rem .6rem; text-align: right; vertical-align: top; }
th:first-child, td:first-child, th:last-child, td.failures { text-align: left; }
tbody tr { border-top: 1px solid color-mix(in srgb, currentColor 20%, transparent); }
`

// pageTemplate is the body of the page.
var pageTemplate = template.Must(template.New("hunt").Funcs(template.FuncMap{
	"seconds": func(d time.Duration) string { return report.MarginSeconds(d) + " s" },
	"round":   func(d time.Duration) string { return d.Round(time.Second).String() },
	"perSecond": func(s *Status) string {
		return fmt.Sprintf("%.0f", float64(s.Schedules)/max(1e-9, s.Elapsed.Seconds()))
	},
	"join": func(names []string) string { return strings.Join(names, ", ") },
	"mutants": func(f Findings) string {
		y := f.Strategies[strategy.MutantName]
		return fmt.Sprintf("%d of %d", y.Behaviours, y.Schedules)
	},
	"cells":  func(f Findings) int { cells, _ := f.cells(); return cells },
	"struck": func(f Findings) int { _, struck := f.cells(); return struck },
}).Parse(`<main>
<h1>Hunt</h1>
<p id="summary">{{round .Elapsed}}, {{.Schedules}} schedules, {{perSecond .}}/s,
{{len .Locks}} locks, {{.Failures}} distinct failures. <a href="status.json">JSON</a></p>
{{if .Broken}}<p id="broken">{{.Found}} of {{.Broken}} broken locks found
{{- if .Missing}}, not {{join .Missing}}{{end}}.</p>{{end}}
<table id="locks">
<thead><tr><th>lock<th>turns<th>schedules<th>steps<th>behaviours
<th>of mutants<th>fault cells covered<th>faults
<th>smallest margins<th>failures</tr></thead>
<tbody>
{{range .Locks}}<tr><td>{{.Lock}}<td>{{.Turns}}<td>{{.Schedules}}<td>{{.Steps}}<td>{{.Behaviours}}
<td>{{mutants .}}<td>{{cells .}}<td>{{struck .}}
<td>{{range $name, $margin := .Margins}}{{$name}} {{seconds $margin}}<br>{{end}}
<td class="failures">{{range .Failures}}{{if .Directory -}}
<a href="failures/{{.Directory}}/timeline.html">{{.Signature}}</a>
{{- else}}{{.Signature}} (not reproduced){{end}} × {{.Schedules}}<br>{{end}}
{{- if .Differing}}{{.Differing}} nondeterministic{{end}}</tr>
{{end}}</tbody>
</table>
</main>
`))
