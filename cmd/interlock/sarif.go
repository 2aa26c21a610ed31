package main

import (
	"cmp"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/base/program"
)

const (
	projectURI = "https://github.com/interlock-sim/interlock"

	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/" +
		"sarif-schema-2.1.0.json"

	// sarifFingerprint is the name of a violation's signature, by which readers recognize the
	// violation in later runs.
	sarifFingerprint = "interlockSignature/v1"

	// sarifRoot is the base of the URIs of files in the checkout. Its own URI is left out, as the
	// format allows: code scanning takes the root of the checkout.
	sarifRoot = "%SRCROOT%"
)

// sarif returns the report as a SARIF log.
func (r *result) sarif() *sarif.Report {
	status, text := exitStatus(r.outcome)
	if text == "" && status == exit.Violation && r.Common().Failure == nil {
		text = r.conclusion()
	}
	log, run := newSARIF(status, text)
	root := moduleRoot(".")
	for _, v := range r.violations() {
		line, function := v.source()
		result := addResult(run, string(v.Property), v.Signature, v.message(),
			sarifLocation(root, line, function, v.Artifact))
		result.Properties = sarif.NewPropertyBag().Add("schedule", v.Schedule).
			Add("artifact", v.Artifact).Add("replay", v.Replay)
		if v.Count > 0 {
			result.Properties.Add("count", v.Count)
		}
		if v.OutOfContract {
			result.Level = "note"
		}
	}
	return log
}

// newSARIF returns a log with a run that has ended with a status. It has no results yet, and its
// rules are the properties. The text, if any, says what went wrong.
func newSARIF(status int, text string) (*sarif.Report, *sarif.Run) {
	run := sarif.NewRunWithInformationURI("Interlock", projectURI)
	run.Tool.Driver.WithVersion(program.Version())
	for _, p := range check.Claimable() {
		addRule(run, string(p), "the lock violates "+string(p), "properties.md")
	}
	invocation := sarif.NewInvocation().WithExitCode(status).
		WithExecutionSuccessful(status == exit.OK || status == exit.Violation)
	if text != "" {
		invocation.AddToolExecutionNotification(sarif.NewNotification().WithLevel("error").
			WithMessage(sarif.NewTextMessage(text)))
	}
	run.AddInvocation(invocation)
	root := sarif.NewTextMessage("the root of the checkout, or of the module if Git has none")
	run.WithOriginalUriBaseIds(map[string]sarif.ArtifactLocation{
		sarifRoot: *sarif.NewArtifactLocation().WithDescription(root),
	})
	log := sarif.NewReport().AddRun(run)
	log.Schema = sarifSchema
	return log, run
}

// addRule adds a rule. The page of docs explains it.
func addRule(run *sarif.Run, id, description, page string) {
	run.AddRule(id).WithDescription(description).
		WithHelpURI(projectURI + "/blob/main/docs/" + page)
}

// addResult adds a result of a rule. The location may be nil.
func addResult(run *sarif.Run, rule, fingerprint, message string, at *sarif.Location,
) *sarif.Result {
	result := run.CreateResultForRule(rule).WithLevel("error").
		WithMessage(sarif.NewTextMessage(message)).
		WithPartialFingerprints(map[string]string{sarifFingerprint: fingerprint})
	if at != nil {
		result.AddLocation(at)
	}
	return result
}

// sarifLocation returns the line of the lock's code if it is in the module at the root, or else
// the counterexample, because code scanning drops results without a location. It returns nil if
// there is neither.
func sarifLocation(root, line, function, counterexample string) *sarif.Location {
	physical, checkout := sarif.NewPhysicalLocation(), checkoutRoot(root)
	file, number := splitLine(line)
	info, err := os.Stat(filepath.Join(root, filepath.FromSlash(file)))
	switch {
	case line != "" && err == nil && info.Mode().IsRegular():
		physical.WithArtifactLocation(artifactAt(checkout, filepath.Join(root, file)))
		if n, err := strconv.Atoi(number); err == nil && n > 0 {
			physical.WithRegion(sarif.NewRegion().WithStartLine(n))
		}
	case counterexample != "":
		timeline := filepath.Join(counterexample, "timeline.txt")
		physical.WithArtifactLocation(artifactAt(checkout, timeline))
	default:
		return nil
	}
	location := sarif.NewLocationWithPhysicalLocation(physical)
	if function != "" {
		location.AddLogicalLocation(sarif.NewLogicalLocation().WithKind("function").
			WithFullyQualifiedName(function))
	}
	return location
}

// artifactIn returns the location of a file below the root.
func artifactIn(path string) *sarif.ArtifactLocation {
	uri := url.URL{Path: filepath.ToSlash(path)}
	return sarif.NewSimpleArtifactLocation(uri.String()).WithURIBaseID(sarifRoot)
}

// artifactAt returns the location of a file: relative to the root if it is below, or else absolute.
func artifactAt(root, path string) *sarif.ArtifactLocation {
	absolute, err := filepath.Abs(path)
	if err != nil {
		uri := url.URL{Path: filepath.ToSlash(path)}
		return sarif.NewSimpleArtifactLocation(uri.String())
	}
	if within, err := filepath.Rel(root, absolute); err == nil && filepath.IsLocal(within) {
		return artifactIn(within)
	}
	uri := url.URL{
		Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(absolute), "/"),
	}
	return sarif.NewSimpleArtifactLocation(uri.String())
}

// moduleRoot returns the root of the module of a directory, or the directory if it is in none.
func moduleRoot(directory string) string {
	absolute, err := filepath.Abs(directory)
	if err != nil {
		return directory
	}
	return cmp.Or(nearestWith(absolute, "go.mod"), absolute)
}

// checkoutRoot returns the root of the Git repository of a directory, or of its module if it is in
// none.
func checkoutRoot(directory string) string {
	root := moduleRoot(directory)
	return cmp.Or(nearestWith(root, ".git"), root)
}
