package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/jstemmer/go-junit-report/v2/junit"
)

// readJUnit checks a report strictly against JUnit's XML format, and returns its suites.
func readJUnit(t *testing.T, content []byte) []junitSuite {
	t.Helper()
	if err := checkJUnit(content); err != nil {
		t.Fatalf("%v in\n%s", err, content)
	}
	var document struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	if err := xml.Unmarshal(content, &document); err != nil {
		t.Fatal(err)
	}
	return document.Suites
}

// checkJUnit decodes a report as go-junit-report does, with the elements and attributes that
// Jenkins and other readers of JUnit's format know, and encodes it again. encoding/xml ignores what
// it does not know and keeps one of several elements, so the report conforms only if its content
// and the order of its elements survive.
func checkJUnit(content []byte) error {
	var report junit.Testsuites
	if err := xml.Unmarshal(content, &report); err != nil {
		return err
	}
	encoded, err := xml.Marshal(&report)
	if err != nil {
		return err
	}
	want, err := xmlItems(content)
	if err != nil {
		return err
	}
	got, err := xmlItems(encoded)
	if err != nil {
		return err
	}
	for i, item := range want {
		if i >= len(got) || got[i] != item {
			return fmt.Errorf("JUnit's format does not have %s here", item)
		}
	}
	return nil
}

// xmlItems returns the elements, the attributes and the text of a document. An attribute that is
// empty or 0 counts as absent.
func xmlItems(content []byte) (items []string, err error) {
	decoder := xml.NewDecoder(bytes.NewReader(content))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return items, nil
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			items = append(items, "<"+token.Name.Local+">")
			slices.SortFunc(token.Attr,
				func(a, b xml.Attr) int { return strings.Compare(a.Name.Local, b.Name.Local) })
			for _, a := range token.Attr {
				if a.Value != "" && a.Value != "0" {
					items = append(items, fmt.Sprintf("%s=%q", a.Name.Local, a.Value))
				}
			}
		case xml.EndElement:
			items = append(items, "</"+token.Name.Local+">")
		case xml.CharData:
			if text := strings.TrimSpace(string(token)); text != "" {
				items = append(items, text)
			}
		}
	}
}

// The check of the format finds unknown, misplaced and repeated elements, and unknown attributes.
func TestCheckJUnit(t *testing.T) {
	report := `<testsuites><testsuite name="s" tests="1" failures="1" errors="0">` +
		`<properties><property name="p" value="v"/></properties>` +
		`<testcase classname="c" name="n"><failure message="m">text</failure></testcase>` +
		`</testsuite></testsuites>`
	if err := checkJUnit([]byte(report)); err != nil {
		t.Error(err)
	}
	for _, change := range []struct{ from, to, want string }{
		{"<testsuites>", "<suites>", "testsuites"},
		{` name="n"`, ` name="n" title="x"`, "title"},
		{"<failure ", "<reason/><failure ", "<reason>"},
		{"<failure ", `<failure message="first"/><failure `, `message="first"`},
		{` tests="1"`, ` tests="one"`, `"one"`},
		{"</properties>", "</properties>stray", "stray"},
		{"<properties>", "<system-out>x</system-out><properties>", "<system-out>"},
	} {
		changed := strings.Replace(report, change.from, change.to, 1)
		if change.from == "<testsuites>" {
			changed = strings.Replace(changed, "</testsuites>", "</suites>", 1)
		}
		err := checkJUnit([]byte(changed))
		if err == nil || !strings.Contains(err.Error(), change.want) {
			t.Errorf("%s instead of %s: %v", change.to, change.from, err)
		}
	}
}
