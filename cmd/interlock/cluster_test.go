package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/internal/search/campaign"
)

// A manifest is what the documents of a file declare.
type manifest struct {
	jobs        map[string]*batch.Job
	deployments map[string]*apps.Deployment
	claims      map[string]*core.PersistentVolumeClaim
}

// readManifest reads a file as Kubernetes does that validates strictly: unknown, repeated and
// mistyped fields are errors.
func readManifest(t *testing.T, name string) *manifest {
	t.Helper()
	m, err := parseManifest(readFile(t, filepath.Join("..", "..", "docs", "cluster", name)))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return m
}

func parseManifest(content []byte) (*manifest, error) {
	m := &manifest{
		make(map[string]*batch.Job), make(map[string]*apps.Deployment),
		make(map[string]*core.PersistentVolumeClaim),
	}
	for _, document := range bytes.Split(content, []byte("\n---\n")) {
		var kind struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Metadata   struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		if err := yaml.Unmarshal(document, &kind); err != nil {
			return nil, err
		}
		var object any
		switch kind.APIVersion + " " + kind.Kind {
		case "batch/v1 Job":
			m.jobs[kind.Metadata.Name] = new(batch.Job)
			object = m.jobs[kind.Metadata.Name]
		case "apps/v1 Deployment":
			m.deployments[kind.Metadata.Name] = new(apps.Deployment)
			object = m.deployments[kind.Metadata.Name]
		case "v1 PersistentVolumeClaim":
			m.claims[kind.Metadata.Name] = new(core.PersistentVolumeClaim)
			object = m.claims[kind.Metadata.Name]
		default:
			return nil, fmt.Errorf("unknown kind %q %q", kind.APIVersion, kind.Kind)
		}
		if err := yaml.UnmarshalStrict(document, object); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// validate returns what the API server rejects in the pods of a file beyond the types of fields, or
// nil: volumes that are not declared, restart policies, exit codes.
func (m *manifest) validate() error {
	for name, d := range m.deployments {
		for key, value := range d.Spec.Selector.MatchLabels {
			if d.Spec.Template.Labels[key] != value {
				return fmt.Errorf("%s selects %s=%s, which its pods are not", name, key, value)
			}
		}
		if err := m.validatePod(&d.Spec.Template.Spec); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for name, job := range m.jobs {
		pod := &job.Spec.Template.Spec
		if pod.RestartPolicy != core.RestartPolicyNever {
			return fmt.Errorf("%s has a pod failure policy or shards, and restarts containers", name)
		}
		indexed := job.Spec.CompletionMode != nil &&
			*job.Spec.CompletionMode == batch.IndexedCompletion
		if job.Spec.BackoffLimitPerIndex != nil && !indexed {
			return fmt.Errorf("%s has a limit for each index, and is not indexed", name)
		}
		if policy := job.Spec.PodFailurePolicy; policy != nil {
			for _, rule := range policy.Rules {
				if exit := rule.OnExitCodes; exit != nil &&
					*exit.ContainerName != pod.Containers[0].Name {
					return fmt.Errorf("%s has a rule for the container %s", name,
						*exit.ContainerName)
				}
			}
		}
		if err := m.validatePod(pod); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// validatePod returns which volume of a pod is not declared, or nil.
func (m *manifest) validatePod(pod *core.PodSpec) error {
	volumes := make(map[string]bool)
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
		claim := v.PersistentVolumeClaim
		switch {
		case claim == nil && v.Secret == nil:
			return fmt.Errorf("the volume %s has no source", v.Name)
		case claim != nil && m.claims[claim.ClaimName] == nil:
			return fmt.Errorf("the claim %s is not declared", claim.ClaimName)
		case claim != nil && !ownsVolumes(pod.SecurityContext):
			return fmt.Errorf("the volume %s belongs to root, and the image has another user",
				v.Name)
		}
	}
	for _, c := range pod.Containers {
		for _, mount := range c.VolumeMounts {
			if !volumes[mount.Name] {
				return fmt.Errorf("the volume %s is not declared", mount.Name)
			}
		}
	}
	return nil
}

// nonroot is the user and the group of the images that the Dockerfile builds.
const nonroot = 65532

// ownsVolumes reports whether a pod of the image may write to a volume that belongs to root.
func ownsVolumes(c *core.PodSecurityContext) bool {
	return c != nil && c.FSGroup != nil && *c.FSGroup == nonroot && c.RunAsUser != nil &&
		*c.RunAsUser == nonroot
}

// failsForGood reports whether a Job ends at once if its container ends with a status.
func failsForGood(job *batch.Job, status int) bool {
	for _, rule := range job.Spec.PodFailurePolicy.Rules {
		if exit := rule.OnExitCodes; rule.Action == batch.PodFailurePolicyActionFailJob &&
			slices.Contains(exit.Values, int32(status)) {
			return true
		}
	}
	return false
}

// Jobs end for good where another attempt fails too, and only there. Pods that need a shell have an
// image with one. No file of the docs has a password on a command line.
func TestClusterJobs(t *testing.T) {
	stages := readDockerfile(t).stages()
	for _, file := range []string{"shards.yaml", "workers.yaml"} {
		for name, job := range readManifest(t, file).jobs {
			container := job.Spec.Template.Spec.Containers[0]
			image, _, _ := strings.Cut(filepath.Base(container.Image), ":")
			target := strings.TrimPrefix(image, "interlock")
			base := stages[strings.TrimPrefix(target, "-")]
			if needed := len(container.Command) > 0; strings.Contains(base, ":debug") != needed {
				t.Errorf("%s runs %q in an image based on %q", name, container.Command, base)
			}
			if job.Spec.PodFailurePolicy == nil {
				continue
			}
			for status, want := range map[int]bool{
				exit.Usage: true, exit.Internal: true, exit.Partial: false,
				exit.Unreachable: false, exit.Interrupted: false,
			} {
				if failsForGood(job, status) != want {
					t.Errorf("%s ends for good with status %d: %v", name, status, !want)
				}
			}
		}
	}
	err := filepath.WalkDir(filepath.Join("..", "..", "docs"),
		func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			if found := password.Find(readFile(t, path)); found != nil {
				t.Errorf("%s has a password in %s", path, found)
			}
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	if !password.MatchString("nats://user:secret@nats:4222") {
		t.Error("passwords are not found")
	}
}

// password matches a URL of NATS with a password.
var password = regexp.MustCompile(`(nats|tls)://[^/@\s]*:[^/@\s]*@`)

// command returns the arguments of interlock in the container of a pod.
func command(pod *core.PodSpec) []string {
	c := pod.Containers[0]
	if len(c.Command) == 0 {
		return c.Args
	}
	script, _, _ := strings.Cut(c.Args[0], " || ") // of sh -c
	return strings.Fields(strings.ReplaceAll(script, `"`, ""))[1:]
}

// parsedCheck returns the campaign that a command line of check describes. Variables have the given
// values.
func parsedCheck(t *testing.T, arguments []string, variables map[string]string) (
	*campaign.Campaign, error,
) {
	t.Helper()
	var f checkFlags
	c := &cobra.Command{Use: "check"}
	f.defineFlags(c)
	if arguments[0] != c.Name() {
		return nil, fmt.Errorf("%q is not a check", arguments)
	}
	arguments = slices.Clone(arguments)
	for i := range arguments {
		for name, value := range variables {
			arguments[i] = strings.ReplaceAll(arguments[i], name, value)
		}
	}
	if err := c.ParseFlags(arguments[1:]); err != nil {
		return nil, err
	}
	return f.campaign(c.Flags().Changed)
}

// exhaustiveInstead returns the arguments with the replacement that the comment in shards.yaml
// names.
func exhaustiveInstead(t *testing.T, arguments []string) []string {
	t.Helper()
	content := readFile(t, filepath.Join("..", "..", "docs", "cluster", "shards.yaml"))
	named := regexp.MustCompile(`replace (--.*) by (--.*)\n`).FindSubmatch(content)
	if named == nil {
		t.Fatal("shards.yaml names no replacement")
	}
	line, old := strings.Join(arguments, " "), string(named[1])
	if !strings.Contains(line, old) {
		t.Fatalf("%q is not in %q", old, line)
	}
	return strings.Fields(strings.Replace(line, old, string(named[2]), 1))
}

// The manifests are valid, and run commands that exist with flags that belong together.
func TestClusterManifests(t *testing.T) {
	shards, workers := readManifest(t, "shards.yaml"), readManifest(t, "workers.yaml")
	for _, m := range []*manifest{shards, workers} {
		if err := m.validate(); err != nil {
			t.Error(err)
		}
	}
	job := shards.jobs["interlock-shards"]
	arguments := command(&job.Spec.Template.Spec)
	for index := range *job.Spec.Completions {
		c, err := parsedCheck(t, arguments, map[string]string{
			"$JOB_COMPLETION_INDEX": fmt.Sprint(index),
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := int32(c.Schedules) / *job.Spec.Completions; c.Range.From != int(index*want) {
			t.Errorf("pod %d runs %v", index, c.Range)
		}
	}
	exhaustive := exhaustiveInstead(t, arguments)
	c, err := parsedCheck(t, exhaustive, map[string]string{"$JOB_COMPLETION_INDEX": "15"})
	if err != nil || c.Strategy != "exhaustive" {
		t.Errorf("%q: %v", exhaustive, err)
	}
	check := workers.jobs["interlock-check"]
	if _, err := parsedCheck(t, command(&check.Spec.Template.Spec), nil); err != nil {
		t.Error(err)
	}
	worker := newWorker(t)
	arguments = command(&workers.deployments["interlock-worker"].Spec.Template.Spec)
	if err := worker.ParseFlags(arguments[1:]); err != nil || arguments[0] != worker.Name() {
		t.Errorf("%q: %v", arguments, err)
	}
}

// Wrong manifests are noticed.
func TestWrongManifests(t *testing.T) {
	valid := string(readFile(t, filepath.Join("..", "..", "docs", "cluster", "shards.yaml"))) +
		"---\n" + string(readFile(t, filepath.Join("..", "..", "docs", "cluster", "workers.yaml")))
	for _, edit := range [][2]string{
		{"completionMode: Indexed", "completionsMode: Indexed"},
		{"completionMode: Indexed", "completionMode: NonIndexed"},
		{"completions: 16", "completions: sixteen"},
		{"parallelism: 16", "completions: 16"},
		{"restartPolicy: Never", "restartPolicy: OnFailure"},
		{"containerName: interlock", "containerName: other"},
		{"labels: {app: interlock-worker}", "labels: {app: other}"},
		{"claimName: interlock-check", "claimName: other"},
		{"volumeMounts:\n            - {name: reports", "volumeMounts:\n            - {name: other"},
		{"kind: Deployment", "kind: Deploy"},
		{"fsGroup: 65532", "fsGroup: 0"},
		{"secret: {secretName: interlock-nats}", "emptyDir: {}"},
	} {
		edited := strings.Replace(valid, edit[0], edit[1], 1)
		if edited == valid {
			t.Fatalf("the manifests do not have %q", edit[0])
		}
		m, err := parseManifest([]byte(edited))
		if err == nil {
			err = m.validate()
		}
		if err == nil {
			t.Errorf("%q passes", edit[1])
		}
	}
}
