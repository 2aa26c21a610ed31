package certify

import (
	_ "embed"
	"html/template"
	"io"
	"path/filepath"

	"github.com/interlock-sim/interlock/cmd/internal/judge/reportcard"
)

//go:embed certificate.gohtml
var body string

// WriteHTML writes the certificate of a plan as a self-contained web page in the given directory:
// links to recordings are relative to that. The counterexamples are in the directory out.
func WriteHTML(w io.Writer, c *Certificate, p *Plan, out, directory string) error {
	card, err := reportcard.Template(c.Card, directory, func(recording string) string {
		return filepath.Join(out, recording)
	})
	if err != nil {
		return err
	}
	parsed, err := card.New("certificate").Funcs(template.FuncMap{"planned": p.File}).Parse(body)
	if err != nil {
		return err
	}
	return reportcard.WritePage(w, "Certificate", parsed, c)
}
