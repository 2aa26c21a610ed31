package certify

import (
	_ "embed"
	"html/template"
	"io"
	"time"

	"github.com/interlock-sim/interlock/internal/reportcard"
)

//go:embed certificate.gohtml
var body string

// WriteHTML writes the certificate as a web page that contains all that it needs. The links to
// recordings are relative to the directory, in which the file is.
func WriteHTML(w io.Writer, c *Certificate, directory string) error {
	card, err := reportcard.Template(c.Card, directory)
	if err != nil {
		return err
	}
	parsed, err := card.New("certificate").Funcs(template.FuncMap{
		"duration": func(ns *int64) string { return time.Duration(*ns).String() },
	}).Parse(body)
	if err != nil {
		return err
	}
	return reportcard.WritePage(w, "Certificate", parsed, c)
}
