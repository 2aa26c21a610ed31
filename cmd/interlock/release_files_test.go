package main

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/interlock-sim/interlock/internal/testkit/long"
)

// A dockerfile is the instructions of a Dockerfile, in order.
type dockerfile []struct{ name, arguments string }

func readDockerfile(t *testing.T) (d dockerfile) {
	t.Helper()
	content := readFile(t, filepath.Join("..", "..", "Dockerfile"))
	for line := range strings.Lines(string(content)) {
		if name, arguments, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "#" {
			d = append(d, struct{ name, arguments string }{name, arguments})
		}
	}
	return d
}

// last returns the arguments of the last instruction of a name.
func (d dockerfile) last(t *testing.T, name string) string {
	t.Helper()
	for _, instruction := range slices.Backward(d) {
		if instruction.name == name {
			return instruction.arguments
		}
	}
	t.Fatalf("the Dockerfile has no %s", name)
	return ""
}

// stages returns what each stage is based on, by its name; the last one has none.
func (d dockerfile) stages() map[string]string {
	bases := make(map[string]string)
	for _, instruction := range d {
		if instruction.name == "FROM" {
			base, name, _ := strings.Cut(instruction.arguments, " AS ")
			bases[name] = base
		}
	}
	return bases
}

// builds returns the program that the last RUN builds.
func (d dockerfile) builds(t *testing.T) string {
	t.Helper()
	output := regexp.MustCompile(` -o (\S+) `).FindStringSubmatch(d.last(t, "RUN"))
	if output == nil {
		t.Fatalf("the Dockerfile builds no program: %s", d.last(t, "RUN"))
	}
	return output[1]
}

// The image has the program that its Dockerfile builds, with the Go release of go.mod, and no shell.
func TestDockerfile(t *testing.T) {
	d := readDockerfile(t)
	module := readFile(t, filepath.Join("..", "..", "go.mod"))
	release := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(module)
	if from := d[0]; from.name != "FROM" ||
		from.arguments != "golang:"+string(release[1])+" AS build" {
		t.Errorf("the Dockerfile begins with %v, and go.mod with %s", from, release[0])
	}
	program := d.builds(t)
	if base := d.last(t, "FROM"); !strings.HasPrefix(base, "gcr.io/distroless/static") {
		t.Errorf("the image is based on %s", base)
	}
	if copied := d.last(t, "COPY"); copied != "--from=build "+program+" "+program {
		t.Errorf("the image has %s, not %s", copied, program)
	}
	if entry := d.last(t, "ENTRYPOINT"); entry != `["`+program+`"]` {
		t.Errorf("the image runs %s, not %s", entry, program)
	}
}

// The build of the Dockerfile gives a program that needs no other file, as a distroless image has
// none.
func TestStaticBuild(t *testing.T) {
	long.Only(t)
	d := readDockerfile(t)
	output := filepath.Join(t.TempDir(), "interlock")
	command := exec.Command("sh", "-c", strings.Replace(d.last(t, "RUN"), d.builds(t), output, 1))
	command.Dir = filepath.Join("..", "..")
	command.Env = append(os.Environ(), "GOOS=linux", "GOFLAGS=-buildvcs=false")
	if text, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	program, err := elf.Open(output)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if libraries, err := program.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("the program needs %v, %v", libraries, err)
	}
	for _, part := range program.Progs {
		if part.Type == elf.PT_INTERP {
			t.Error("the program needs a dynamic linker")
		}
	}
}

// GoReleaser builds the program as the Dockerfile does, for platforms of Go. `make release-check`
// lets GoReleaser itself check the whole file.
func TestGoReleaser(t *testing.T) {
	root := filepath.Join("..", "..")
	var config struct {
		Builds []struct {
			Main, Binary             string
			Env, Flags, LDFlags      []string
			OperatingSystems         []string `yaml:"goos"`
			Architectures            []string `yaml:"goarch"`
			ID                       string
			ModificationTimeTemplate string `yaml:"mod_timestamp"`
		}
		Archives []struct{ Files []string }
	}
	if err := yaml.Unmarshal(readFile(t, filepath.Join(root, ".goreleaser.yaml")),
		&config); err != nil {
		t.Fatal(err)
	}
	if len(config.Builds) != 1 || len(config.Archives) != 1 {
		t.Fatalf("%+v", config)
	}
	build := config.Builds[0]
	command := strings.Join(slices.Concat(build.Env, []string{"go build"}, build.Flags,
		[]string{"-ldflags=" + strings.Join(build.LDFlags, " "), "-o /" + build.Binary, build.Main}), " ")
	if want := readDockerfile(t).last(t, "RUN"); command != want {
		t.Errorf("GoReleaser builds with %s, the Dockerfile with %s", command, want)
	}
	platforms, err := exec.Command("go", "tool", "dist", "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, system := range build.OperatingSystems {
		for _, architecture := range build.Architectures {
			if !slices.Contains(strings.Fields(string(platforms)), system+"/"+architecture) {
				t.Errorf("Go has no platform %s/%s", system, architecture)
			}
		}
	}
	for _, path := range config.Archives[0].Files {
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			t.Error(err)
		}
	}
	if !bytes.Contains(readFile(t, filepath.Join(root, build.Main, "main.go")),
		[]byte("func main()")) {
		t.Errorf("%s is no program", build.Main)
	}
}
