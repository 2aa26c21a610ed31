// Package gobuild runs go test on packages of a user's module together with Interlock, and changes
// nothing in the module.
//
// The go command gets a copy of the module's go.mod that requires Interlock, and replaces client
// libraries of ZooKeeper by copies that package dial leads to the simulated servers.
package gobuild

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/version"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/internal/base/processgroup"
	"github.com/interlock-sim/interlock/internal/base/program"
)

const modulePath = "github.com/interlock-sim/interlock"

// nested are the folders of Interlock's other modules. A test may import their packages.
var nested = []string{"cmd", "lock/lockotel", "sim/simredis", "sim/simsql"}

// goNeeded is the version of Go in Interlock's go.mod.
const goNeeded = "1.26.0"

// temporaryPrefix begins the names of directories of builds.
const temporaryPrefix = "interlock-test-"

// A Test says what go test is to run.
type Test struct {
	// Pattern is a directory, followed by /... for those below it as well.
	Pattern string
	// Glue are test files that are built as part of the package, which is one directory then.
	Glue []string
	// Overlay are other files to build instead of those at the paths; see go help build.
	Overlay map[string]string
	// Interlock is the directory of Interlock's module, by default that of this program's source
	// or, where that is gone, the released version.
	Interlock string
	Scheduler bool     // schedules decide the order of goroutines; see package scheduler
	Tags      string   // build tags, separated by commas
	Flags     []string // further flags of go test
}

// A Build is a [Test] that is ready to run.
type Build struct {
	// Unscheduled is an [*overlay.UnknownRelease] if the test asks for the goroutine scheduler and
	// runs without it.
	Unscheduled error

	test      *Test
	interlock string // as in Test, or "" for the released version
	module    string // path of the user's module
	root      string // its directory
	pattern   string // relative to the root
	temporary string
	goVersion string // of the user's go.mod, as "go1.N"
	overlay   map[string]string
	seeds     bool     // math/rand/v2 can be seeded
	tags      []string // build tags
}

// ErrNoSource says that there is no Interlock to build a test with.
var ErrNoSource = errors.New("this program is no release, and its source is gone")

// Prepare makes a test ready to run. An error is one line. The caller closes the build.
func Prepare(ctx context.Context, test *Test) (*Build, error) {
	b := &Build{test: test, interlock: cmp.Or(test.Interlock, program.Source())}
	if b.interlock == "" && !program.Released() {
		return nil, ErrNoSource
	}
	if test.Tags != "" {
		b.tags = []string{test.Tags}
	}
	if err := b.locate(); err != nil {
		return nil, err
	}
	var err error
	if b.temporary, err = os.MkdirTemp("", temporaryPrefix); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{
		b.addGlue, b.copyModule, b.seedRandom, b.requireInterlock, b.verifyGo, b.addScheduler,
		b.replaceDials, b.writeOverlay,
	} {
		if err := step(ctx); err != nil {
			b.Close()
			return nil, err
		}
	}
	return b, nil
}

// Close removes the build's temporary files.
func (b *Build) Close() { os.RemoveAll(b.temporary) }

// Root returns the directory of the module.
func (b *Build) Root() string { return b.root }

// Directory returns the directory of the package, or of the first if there are several.
func (b *Build) Directory() string {
	return filepath.Join(b.root, strings.TrimSuffix(b.pattern, "..."))
}

// Command returns the go command that runs the test. It ends with the context.
func (b *Build) Command(ctx context.Context) *exec.Cmd {
	arguments := []string{"test", "-count=1", "-vet=off"}
	if len(b.overlay) > 0 {
		arguments = append(arguments, "-overlay="+b.file("overlay.json"))
	}
	if lang := b.language(); lang != "" {
		arguments = append(arguments, "-gcflags="+b.module+"/...=-lang="+lang)
	}
	arguments = slices.Concat(arguments, b.tagFlags(), b.test.Flags, []string{b.pattern})
	command := b.goCommand(ctx, arguments...)
	command.Env = append(command.Env, "GODEBUG="+debugSettings())
	processgroup.Interrupt(command)
	command.WaitDelay = 5 * time.Second
	return command
}

// tagFlags returns the flags of the go command for the build tags.
func (b *Build) tagFlags() []string {
	if len(b.tags) == 0 {
		return nil
	}
	return []string{"-tags=" + strings.Join(b.tags, ",")}
}

// debugSettings returns the value of GODEBUG with which lock code's math/rand can be seeded.
func debugSettings() string {
	settings := os.Getenv("GODEBUG")
	if settings != "" {
		settings += ","
	}
	return settings + "randseednop=0"
}

// language returns the version of the language in which the module is written, if the higher
// version of the copied go.mod would give its code another meaning: before Go 1.22, all iterations
// of a loop share its variables. Generic functions of Interlock need Go 1.18.
func (b *Build) language() string {
	switch {
	case version.Compare(b.goVersion, "go1.22") >= 0:
		return ""
	case version.Compare(b.goVersion, "go1.18") < 0:
		return "go1.18"
	}
	return version.Lang(b.goVersion)
}

// file returns the path of one of the build's temporary files.
func (b *Build) file(name string) string { return filepath.Join(b.temporary, name) }

// locate finds the user's module.
func (b *Build) locate() error {
	directory, below := strings.CutSuffix(filepath.ToSlash(b.test.Pattern), "/...")
	if b.test.Pattern == "..." {
		directory, below = ".", true
	}
	directory, err := filepath.Abs(directory)
	if err != nil {
		return err
	}
	if info, err := os.Stat(directory); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s is not the directory of a package", b.test.Pattern)
	}
	if below && len(b.test.Glue) > 0 {
		return errors.New("test files can be added to one package only")
	}
	for b.root = directory; ; b.root = filepath.Dir(b.root) {
		if _, err := os.Stat(filepath.Join(b.root, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(b.root) == b.root {
			return fmt.Errorf("no go.mod in %s or above it", directory)
		}
	}
	relative, err := filepath.Rel(b.root, directory)
	if err != nil {
		return err
	}
	b.pattern = "./" + filepath.ToSlash(relative)
	if below {
		b.pattern += "/..."
	}
	return nil
}

// copyModule copies the module's go.mod, and its go.sum with that of Interlock.
func (b *Build) copyModule(ctx context.Context) error {
	mod, err := os.ReadFile(filepath.Join(b.root, "go.mod"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(b.file("go.mod"), mod, 0o644); err != nil {
		return err
	}
	directories := []string{b.root}
	if b.interlock != "" {
		directories = append(directories, b.interlock)
		for _, folder := range nested {
			directories = append(directories, filepath.Join(b.interlock, folder))
		}
	}
	sums := map[string]bool{}
	for _, directory := range directories {
		content, err := os.ReadFile(filepath.Join(directory, "go.sum"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for line := range strings.Lines(string(content)) {
			sums[strings.TrimSpace(line)+"\n"] = true
		}
	}
	sum := strings.Join(slices.Sorted(maps.Keys(sums)), "")
	if err := os.WriteFile(b.file("go.sum"), []byte(sum), 0o644); err != nil {
		return err
	}
	var described struct {
		Module struct{ Path string }
		Go     string
	}
	if err := b.goJSON(ctx, &described, "mod", "edit", "-json", b.file("go.mod")); err != nil {
		return err
	}
	b.module = described.Module.Path
	if b.goVersion = "go" + described.Go; described.Go == "" {
		b.goVersion = "go1.16" // as the go command assumes
	}
	return nil
}

// A moduleInfo is what go list says of a module.
type moduleInfo struct {
	Path, Version, Dir string
	Replace            *moduleInfo
	Error              *struct{ Err string }
}

// requireInterlock replaces the client libraries that the module uses by patched copies, and adds
// Interlock to the copied go.mod. Interlock itself requires go-zookeeper/zk; the module's own
// version, if there is one, goes before.
func (b *Build) requireInterlock(ctx context.Context) error {
	replaced := false
	for i := range libraries {
		found, err := b.replaceLibrary(ctx, &libraries[i])
		if err != nil {
			return err
		}
		replaced = replaced || found && i == 0
	}
	if err := b.addInterlock(ctx); err != nil || replaced {
		return err
	}
	_, err := b.replaceLibrary(ctx, &libraries[0])
	return err
}

// replaceLibrary replaces a library by a patched copy, and reports whether the module has it.
func (b *Build) replaceLibrary(ctx context.Context, l *library) (found bool, err error) {
	printed, err := b.goOutput(ctx, "list", "-m", "-e", "-json", l.module)
	if err != nil || printed == "" {
		return false, err
	}
	var module moduleInfo
	if err := json.Unmarshal([]byte(printed), &module); err != nil {
		return false, err
	}
	if module.Error != nil || module.Version == "" && module.Replace == nil {
		return false, nil
	}
	from, of := module.Dir, module.Version
	if module.Replace != nil {
		from, of = module.Replace.Dir, module.Replace.Version
	}
	if from == "" {
		if from, err = b.download(ctx, &module); err != nil {
			return false, err
		}
	}
	patched, err := l.copyPatched(from, of, b.cacheDirectory(), b.seeds)
	if err != nil {
		return false, err
	}
	return true, b.replace(ctx, l.module, module.Version, patched)
}

// download downloads a module and returns its directory.
func (b *Build) download(ctx context.Context, m *moduleInfo) (string, error) {
	if m.Replace != nil {
		m = m.Replace
	}
	var downloaded moduleInfo
	err := b.goJSON(ctx, &downloaded, "mod", "download", "-json", m.Path+"@"+m.Version)
	return downloaded.Dir, err
}

// cacheDirectory returns the directory for patched libraries. It stays the same if the user has a
// cache, so that the go command need not compile them again.
func (b *Build) cacheDirectory() string {
	directory, err := os.UserCacheDir()
	if err != nil {
		directory = b.temporary
	}
	return filepath.Join(directory, "interlock", "libraries")
}

// addInterlock adds Interlock to the copied go.mod. It replaces the nested modules and does not
// require them: the go command adds those that the tests import, and only these can raise versions
// that the user's module selects.
func (b *Build) addInterlock(ctx context.Context) error {
	flags := []string{"-toolchain=none"}
	if version.Compare(b.goVersion, "go"+goNeeded) < 0 {
		flags = append(flags, "-go="+goNeeded)
	}
	switch {
	case b.module == modulePath:
	case b.interlock != "":
		flags = append(flags, "-require="+modulePath+"@"+anyVersion)
		if err := b.replace(ctx, modulePath, anyVersion, b.interlock); err != nil {
			return err
		}
	default:
		flags = append(flags, "-require="+modulePath+"@"+program.Version())
	}
	var directories []string // that replace nested modules
	for _, folder := range nested {
		module, directory := modulePath+"/"+folder, filepath.Join(b.interlock, folder)
		_, err := os.Stat(filepath.Join(directory, "go.mod"))
		switch {
		case b.module == module:
		case b.interlock == "":
			flags = append(flags, "-replace="+module+"="+module+"@"+program.Version())
		case err == nil: // The module cache has them elsewhere.
			flags = append(flags, "-dropreplace="+module)
			directories = append(directories, module, directory)
		}
	}
	if err := b.edit(ctx, flags...); err != nil {
		return err
	}
	return b.appendReplacements(directories...)
}

// anyVersion is a version of a module that is replaced by a directory.
const anyVersion = "v0.0.0"

// replace replaces a module by a directory in the copied go.mod. It removes other replacements of
// the version, because one of a single version goes before one of all.
func (b *Build) replace(ctx context.Context, module, from, directory string) error {
	err := b.edit(ctx, "-dropreplace="+module, "-dropreplace="+module+"@"+from)
	if err != nil {
		return err
	}
	return b.appendReplacements(module, directory)
}

// appendReplacements adds to the copied go.mod that each module of the pairs is in the directory
// after it. The go command has no flag that takes a path with an @, as in the module cache.
func (b *Build) appendReplacements(pairs ...string) error {
	mod, err := os.ReadFile(b.file("go.mod"))
	if err != nil {
		return err
	}
	for pair := range slices.Chunk(pairs, 2) {
		mod = append(mod, "\nreplace "+pair[0]+" => "+strconv.Quote(pair[1])+"\n"...)
	}
	return os.WriteFile(b.file("go.mod"), mod, 0o644)
}

// edit changes the copied go.mod.
func (b *Build) edit(ctx context.Context, flags ...string) error {
	arguments := slices.Concat([]string{"mod", "edit"}, flags, []string{b.file("go.mod")})
	_, err := b.goOutput(ctx, arguments...)
	return err
}

// verifyGo returns an error if the go command, or the one that it downloads, is too old.
func (b *Build) verifyGo(ctx context.Context) error {
	found, err := b.goOutput(ctx, "env", "GOVERSION")
	if err != nil {
		return err
	}
	found = strings.TrimSpace(found)
	if version.IsValid(found) && version.Compare(found, "go"+goNeeded) < 0 {
		return fmt.Errorf("interlock test needs Go %s or later, and this is %s", goNeeded, found)
	}
	return nil
}

// addGlue adds the test files to the overlay.
func (b *Build) addGlue(context.Context) error {
	b.overlay = maps.Clone(b.test.Overlay)
	if b.overlay == nil {
		b.overlay = map[string]string{}
	}
	for _, glue := range b.test.Glue {
		path, err := filepath.Abs(glue)
		if err != nil {
			return err
		}
		if _, err := os.Stat(path); err != nil {
			return err
		}
		at := filepath.Join(b.Directory(), filepath.Base(path))
		_, err = os.Stat(at)
		switch {
		case !strings.HasSuffix(path, "_test.go"):
			return fmt.Errorf("%s is no test file: its name does not end with _test.go", glue)
		case err == nil && at != path, b.overlay[at] != "":
			return fmt.Errorf("%s: the package has a file of this name already", glue)
		}
		b.overlay[at] = path
	}
	return nil
}

// writeOverlay writes the file for -overlay: each file with its replacement.
func (b *Build) writeOverlay(context.Context) error {
	content, err := json.Marshal(map[string]any{"Replace": b.overlay})
	if err != nil {
		return err
	}
	return os.WriteFile(b.file("overlay.json"), content, 0o644)
}

// goCommand returns a go command that uses the copied go.mod.
func (b *Build) goCommand(ctx context.Context, arguments ...string) *exec.Cmd {
	directory := b.temporary
	if arguments[0] != "mod" && arguments[0] != "env" {
		directory = b.root
		flags := []string{"-modfile=" + b.file("go.mod"), "-mod=mod"}
		arguments = slices.Concat(arguments[:1], flags, arguments[1:])
	}
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir, command.Env = directory, append(os.Environ(), "GOWORK=off")
	return command
}

// goOutput runs a go command and returns its standard output. The error is the first line that the
// command prints as its error.
func (b *Build) goOutput(ctx context.Context, arguments ...string) (string, error) {
	var printed, failed bytes.Buffer
	command := b.goCommand(ctx, arguments...)
	command.Stdout, command.Stderr = &printed, &failed
	err := command.Run()
	if err == nil {
		return printed.String(), nil
	}
	// The copied go.mod has the lines of the user's.
	message := copiedMod.ReplaceAllLiteralString(failed.String(), filepath.Join(b.root, "go.mod"))
	var text string
	for line := range strings.Lines(message) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "go: downloading ") {
			continue
		}
		if text += line; !strings.HasSuffix(text, ":") {
			return "", errors.New(text)
		}
		text += " "
	}
	return "", fmt.Errorf("go %s: %w", command.Args[1], err)
}

// copiedMod matches the path of a copied go.mod.
var copiedMod = regexp.MustCompile(`\S*` + temporaryPrefix + `\d+/go\.mod`)

// goJSON runs a go command and decodes the JSON that it prints.
func (b *Build) goJSON(ctx context.Context, into any, arguments ...string) error {
	printed, err := b.goOutput(ctx, arguments...)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(printed), into)
}
