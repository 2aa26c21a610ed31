package main

import (
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	"go.yaml.in/yaml/v3"
)

// The workflow for GitHub is valid.
func TestGitHubWorkflow(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "ci", "github.yml")
	if problems := lintWorkflow(t, readFile(t, path)); len(problems) > 0 {
		t.Errorf("%s: %v", path, problems)
	}
	const broken = "on: push\njobs:\n  one:\n    steps: []\n"
	if problems := lintWorkflow(t, []byte(broken)); len(problems) == 0 {
		t.Error("a job without a runner passes")
	}
}

// lintWorkflow returns what actionlint says of a workflow.
func lintWorkflow(t *testing.T, content []byte) []*actionlint.Error {
	t.Helper()
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	problems, err := linter.Lint("certify.yml", content, nil)
	if err != nil {
		t.Fatal(err)
	}
	return problems
}

// The job for GitLab runs the script, and keeps the report that GitLab shows.
func TestGitLabJob(t *testing.T) {
	var jobs map[string]struct {
		Script    []string `yaml:"script"`
		Artifacts struct {
			Reports struct {
				JUnit string `yaml:"junit"`
			} `yaml:"reports"`
		} `yaml:"artifacts"`
	}
	content := readFile(t, filepath.Join("..", "..", "docs", "ci", "gitlab.yml"))
	if err := yaml.Unmarshal(content, &jobs); err != nil {
		t.Fatal(err)
	}
	job := jobs["certify"]
	if script := strings.Join(job.Script, "\n"); job.Artifacts.Reports.JUnit == "" ||
		!strings.Contains(script, "--junit "+job.Artifacts.Reports.JUnit+" ") {
		t.Errorf("the report %q is not written by %s", job.Artifacts.Reports.JUnit, script)
	}
}

// Both run certify with flags and a plan that exist.
func TestCIRunsCertify(t *testing.T) {
	command := regexp.MustCompile(`bin/interlock certify ([^"\n]*)`)
	for _, name := range []string{"github.yml", "gitlab.yml"} {
		found := command.FindSubmatch(readFile(t, filepath.Join("..", "..", "docs", "ci", name)))
		if found == nil {
			t.Fatalf("%s does not run certify", name)
		}
		certify := newCertify(t)
		if err := certify.ParseFlags(strings.Fields(string(found[1]))); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		plans := certify.Flags().Args()
		if len(plans) != 1 {
			t.Fatalf("%s: plans %q", name, plans)
		}
		readFile(t, filepath.Join("..", "..", plans[0]))
	}
}
