package main

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/base/program"
)

// The part of SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format) that a report has: a
// rule for each property, and a result for each violation. encoding/json suffices to write it; a
// library with the whole format verifies it in the tests.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool            `json:"tool"`
		Invocations []sarifInvocation    `json:"invocations"`
		Bases       map[string]sarifBase `json:"originalUriBaseIds"`
		Results     []sarifResult        `json:"results"`
	}
	sarifBase struct {
		Description sarifText `json:"description"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		URI     string      `json:"informationUri"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID          string    `json:"id"`
		Description sarifText `json:"shortDescription"`
		Help        string    `json:"helpUri"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		ExitCode      int                 `json:"exitCode"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifResult struct {
		Rule         string            `json:"ruleId"`
		Index        int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations,omitempty"`
		Fingerprints map[string]string `json:"partialFingerprints"`
		Properties   *sarifProperties  `json:"properties,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
	sarifProperties struct {
		Schedule int    `json:"schedule"`
		Artifact string `json:"artifact"`
		Replay   string `json:"replay"`
		Count    int    `json:"count,omitempty"`
	}
)

const (
	projectURI = "https://github.com/interlock-sim/interlock"

	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/" +
		"sarif-schema-2.1.0.json"

	// sarifFingerprint is the name of a violation's signature, by which readers recognize the
	// violation in later runs.
	sarifFingerprint = "interlockSignature/v1"

	// sarifRoot is the base of the URIs of files in the module. Its own URI is left out, as the
	// format allows: code scanning takes the root of the checkout.
	sarifRoot = "%SRCROOT%"
)

// sarif returns the report as a SARIF log.
func (r *result) sarif() *sarifLog {
	status, text := exitStatus(r.outcome)
	if text == "" && status == statusViolation && r.Common().Failure == nil {
		text = r.conclusion()
	}
	run := newSARIFRun(status, text)
	root := moduleRoot()
	for _, v := range r.explained() {
		result := sarifResult{
			Rule: string(v.Property), Index: run.rule(string(v.Property)), Level: "error",
			Message: sarifText{v.message()}, Locations: v.sarifLocations(root),
			Fingerprints: map[string]string{sarifFingerprint: v.Signature},
			Properties:   &sarifProperties{v.Schedule, v.Artifact, v.Replay, v.Count},
		}
		if v.OutOfContract {
			result.Level = "note"
		}
		run.Results = append(run.Results, result)
	}
	return &sarifLog{sarifSchema, "2.1.0", []sarifRun{*run}}
}

// newSARIFRun returns a run that has ended with a status. It has no results yet, and its rules are
// the properties. The text, if any, says what went wrong.
func newSARIFRun(status int, text string) *sarifRun {
	invocation := sarifInvocation{Successful: status != statusInternal, ExitCode: status}
	if text != "" {
		invocation.Notifications = []sarifNotification{{"error", sarifText{text}}}
	}
	run := &sarifRun{
		Tool: sarifTool{sarifDriver{
			Name: "Interlock", Version: program.Version(), URI: projectURI, Rules: []sarifRule{},
		}},
		Invocations: []sarifInvocation{invocation}, Results: []sarifResult{},
		Bases: map[string]sarifBase{
			sarifRoot: {sarifText{"the root of the module of the working directory"}},
		},
	}
	for _, p := range check.Claimable() {
		run.addRule(string(p), "the lock violates "+string(p), "properties.md")
	}
	return run
}

// addRule adds a rule. The page of docs explains it.
func (r *sarifRun) addRule(id, description, page string) {
	r.Tool.Driver.Rules = append(r.Tool.Driver.Rules, sarifRule{
		id, sarifText{description}, projectURI + "/blob/main/docs/" + page,
	})
}

// rule returns the index of the rule with the identifier.
func (r *sarifRun) rule(id string) int {
	return slices.IndexFunc(r.Tool.Driver.Rules, func(known sarifRule) bool {
		return known.ID == id
	})
}

// sarifLocations returns the line of the lock's code if it is in the module at the root, or else
// the counterexample, because code scanning drops results without a location.
func (v *explainedViolation) sarifLocations(root string) []sarifLocation {
	var location sarifLocation
	file, number := splitLine(v.line)
	info, err := os.Stat(filepath.Join(root, filepath.FromSlash(file)))
	switch {
	case v.line != "" && err == nil && info.Mode().IsRegular():
		location.Physical.Artifact = sarifArtifact{(&url.URL{Path: file}).String(), sarifRoot}
		if n, err := strconv.Atoi(number); err == nil && n > 0 {
			location.Physical.Region = &sarifRegion{n}
		}
	case v.Artifact != "":
		location.Physical.Artifact = artifactAt(root, filepath.Join(v.Artifact, "timeline.txt"))
	default:
		return nil
	}
	if v.function != "" {
		location.Logical = []sarifLogical{{v.function, "function"}}
	}
	return []sarifLocation{location}
}

// artifactAt returns the location of a file: relative to the root if it is below, or else absolute.
func artifactAt(root, path string) sarifArtifact {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return sarifArtifact{URI: (&url.URL{Path: filepath.ToSlash(path)}).String()}
	}
	if within, err := filepath.Rel(root, absolute); err == nil && filepath.IsLocal(within) {
		return sarifArtifact{(&url.URL{Path: filepath.ToSlash(within)}).String(), sarifRoot}
	}
	absolute = "/" + strings.TrimPrefix(filepath.ToSlash(absolute), "/")
	return sarifArtifact{URI: (&url.URL{Scheme: "file", Path: absolute}).String()}
}

// moduleRoot returns the root of the module of the working directory, or the working directory if
// that is in no module.
func moduleRoot() string {
	working, err := os.Getwd()
	if err != nil {
		return "."
	}
	for root := working; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return root
		}
		if root == filepath.Dir(root) {
			return working
		}
	}
}
