package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"go/build"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/base/unknown"
)

const interlockModule = "github.com/interlock-sim/interlock"

// A lockKind is a kind of lock code: the service that it uses, and how it reaches the service.
type lockKind struct {
	service string
	shapes  []string
	module  string // of Interlock, beside its root, that the test needs; or ""
	imports []string

	// What the template inserts.
	Preset    string   // the function of package history with claims that fit most such locks
	Client    string   // the scenario's client
	Setting   string   // the service of the subject
	Parameter string   // of the function lockUnderTest
	Argument  string   // of its call
	Example   string   // how the lock is made
	Comment   []string // of the function
	Functions string   // further ones
}

// The services as their locks name them in reports, in lower case, and the shapes.
const (
	onZooKeeper, onRedis, onSQL            = "zookeeper", "redis", "sql"
	interfaceShape, clientShape, dialShape = "interface", "client", "dialing"
)

// lockKinds are the supported ones.
var lockKinds = []lockKind{
	{
		service: onZooKeeper, shapes: []string{interfaceShape},
		Preset:   "QueueLock",
		imports:  []string{interlockModule + "/simzk/client"},
		Argument: "p.Client", Parameter: "conn client.Client",
		Example: `lock := NewLock(conn, p.Directory+"/lock")`,
		Comment: []string{
			"lockUnderTest gives a process its handle on the lock. The lock takes conn, which has",
			"the methods of a *zk.Conn, as an interface. The node p.Directory exists.",
		},
	},
	{
		service: onZooKeeper, shapes: []string{clientShape},
		Preset:  "QueueLock",
		imports: []string{"github.com/go-zookeeper/zk"},
		Client:  "scenarios.Real", Argument: "p.Conn()", Parameter: "conn *zk.Conn",
		Example: `lock := NewLock(conn, p.Directory+"/lock")`,
		Comment: []string{
			"lockUnderTest gives a process its handle on the lock. The node p.Directory exists.",
		},
	},
	{
		service: onZooKeeper, shapes: []string{dialShape},
		Preset: "QueueLock",
		Client: "scenarios.Dialed", Argument: "p.Servers()", Parameter: "servers []string",
		Example: `lock := NewLock(servers, p.Directory+"/lock")`,
		Comment: []string{
			"lockUnderTest gives a process its handle on the lock, which opens a client of its",
			"own. The node p.Directory exists.",
		},
	},
	{
		service: onRedis, shapes: []string{interfaceShape, clientShape},
		Preset:  "ExpiringLock",
		module:  interlockModule + "/sim/simredis",
		imports: []string{"github.com/redis/go-redis/v9", interlockModule + "/sim/simredis"},
		Setting: "simredis.Service{}",

		Argument: "redisClient(p)", Parameter: "client *redis.Client",
		Example: `lock := NewLock(client, "lock")`,
		Comment: []string{
			"lockUnderTest gives a process its handle on the lock, which takes the client, or an",
			"interface that it satisfies. Tokens and other randomness must come from p.Random:",
			"otherwise runs differ, and a counterexample may not replay.",
		},
		Functions: redisClient,
	},
	{
		service: onSQL, shapes: []string{interfaceShape, clientShape},
		Preset:  "ExpiringLock",
		module:  interlockModule + "/sim/simsql",
		imports: []string{"database/sql", interlockModule + "/sim/simsql"},
		Setting: "simsql.Service{Schema: `` /* CREATE TABLE … */}",

		Argument: "p.Handle.(*simsql.Client).DB()", Parameter: "db *sql.DB",
		Example: `lock := NewLock(db, "job")`,
		Comment: []string{
			"lockUnderTest gives a process its handle on the lock, which takes the database, or an",
			"interface that it satisfies. Tokens and other randomness must come from p.Random:",
			"otherwise runs differ, and a counterexample may not replay.",
		},
	},
}

const redisClient = `
// redisClient opens a client of the first server. Leave out what your go-redis does not know.
func redisClient(p *scenarios.Process) *redis.Client {
	servers := p.Handle.(*simredis.Client)
	client := redis.NewClient(&redis.Options{
		Addr: simredis.Address(0), Dialer: servers.Dial,
		MaxRetries: -1, DialerRetries: 1, PoolSize: 1000, MaxConcurrentDials: 100,
		Protocol: 2, DisableIdentity: true,
	})
	servers.CloseAtEnd(client)
	return client
}
`

// services returns the names of the services.
func services() (names []string) {
	for _, k := range lockKinds {
		names = append(names, k.service)
	}
	return slices.Compact(names)
}

// shapes returns the shapes of locks on a service, or on any if it is "".
func shapes(service string) (names []string) {
	for _, k := range lockKinds {
		for _, shape := range k.shapes {
			if (service == "" || k.service == service) && !slices.Contains(names, shape) {
				names = append(names, shape)
			}
		}
	}
	return names
}

// findKind returns the kind of locks on a service with a shape.
func findKind(service, shape string) (*lockKind, error) {
	known := services()
	if service == "" {
		return nil, fmt.Errorf("init needs --service %s", strings.Join(known, " or "))
	}
	if !slices.Contains(known, service) {
		return nil, fmt.Errorf("--service: %w", unknown.Name("service", service, known))
	}
	if all := shapes(""); !slices.Contains(all, shape) {
		return nil, fmt.Errorf("--shape: %w", unknown.Name("shape", shape, all))
	}
	for i := range lockKinds {
		if k := &lockKinds[i]; k.service == service && slices.Contains(k.shapes, shape) {
			return k, nil
		}
	}
	return nil, fmt.Errorf("--shape %s is not for %s, which has %s: let the code take its client",
		shape, service, strings.Join(shapes(service), " and "))
}

// A fittingClaim is a property that the template offers.
type fittingClaim struct{ Constant, Statement string }

// Claims returns the properties that bundled locks with one holder claim on the service. Barriers
// and elections have others too.
func (k *lockKind) Claims() (fitting []fittingClaim) {
	claimed := map[history.Property]bool{}
	for _, s := range bundled.All() {
		if strings.EqualFold(s.EffectiveService().Name(), k.service) && s.Parties() == 0 &&
			!s.Claimed(history.OneLeaderPerTerm) {
			for _, p := range s.Claims {
				claimed[p] = true
			}
		}
	}
	for _, p := range check.Properties() {
		if claimed[p] {
			constant := strings.ReplaceAll(camelCase(string(p)), "Fifo", "FIFO")
			fitting = append(fitting, fittingClaim{constant, check.Statement(p)})
		}
	}
	return fitting
}

// A firstTest is the test that init writes.
type firstTest struct {
	*lockKind

	directory string
	Package   string
	File      string
	Name      string // of the lock
	hidden    string // what the package declares, so that the test is in an external one; or ""
	tagged    bool   // all files of the package have build tags
}

const firstTestName = "interlock_test.go"

// newFirstTest returns the test for a lock in the package of a directory.
func newFirstTest(directory string, kind *lockKind) (*firstTest, error) {
	f := &firstTest{lockKind: kind, directory: directory, File: firstTestName}
	if _, err := os.Lstat(f.path()); err == nil {
		return nil, fmt.Errorf("%s exists already: remove or rename it", f.path())
	}
	found, err := build.ImportDir(directory, 0)
	var none *build.NoGoError
	if errors.As(err, &none) { // All files may have build tags.
		all := build.Default
		all.UseAllFiles = true
		found, err = all.ImportDir(directory, 0)
		f.tagged = err == nil
	}
	switch {
	case errors.As(err, &none):
		if f.Package, err = packageNameOf(directory); err != nil {
			return nil, err
		}
		f.Name = f.Package
		return f, nil
	case err != nil:
		return nil, err
	}
	f.Package, f.Name = found.Name, found.Name
	name, err := f.conflict(found.GoFiles, found.CgoFiles, found.TestGoFiles)
	if err != nil || name == "" {
		return f, err
	}
	f.Package += "_test"
	f.hidden = name
	if found.Name != "main" { // which cannot be imported
		name, err = f.conflict(found.XTestGoFiles)
	}
	if err == nil && name != "" {
		err = fmt.Errorf("the package %s declares %s, as the test would: rename it, or name "+
			"another directory", found.Name, name)
	}
	return f, err
}

// packageNameOf returns the name of a package for a directory without Go files.
func packageNameOf(directory string) (string, error) {
	absolute, err := filepath.Abs(directory)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(absolute); err != nil {
		return "", err
	}
	name := strings.Join(words(filepath.Base(absolute)), "")
	if !token.IsIdentifier(name) {
		return "", fmt.Errorf("%s has no Go file, and its name is none of a package: write the "+
			"package first", directory)
	}
	return name, nil
}

func (f *firstTest) path() string { return filepath.Join(f.directory, f.File) }

// Imports returns the imports of the test: those of the standard library, "", the others.
func (f *firstTest) Imports() []string {
	paths := append([]string{
		"testing", interlockModule, interlockModule + "/faults",
		interlockModule + "/history", interlockModule + "/scenarios",
	}, f.imports...)
	slices.SortFunc(paths, func(a, b string) int {
		return strings.Compare(importGroup(a)+a, importGroup(b)+b)
	})
	for i := len(paths) - 1; i > 0; i-- {
		if importGroup(paths[i]) != importGroup(paths[i-1]) {
			paths = slices.Insert(paths, i, "")
		}
	}
	return paths
}

// importGroup returns the place of a path's group among the imports.
func importGroup(imported string) string {
	switch {
	case strings.HasPrefix(imported, interlockModule):
		return "3"
	case strings.Contains(imported, "."):
		return "2"
	}
	return "1"
}

//go:embed init_test.gotmpl
var firstTestTemplate string

// source returns the text of the test.
func (f *firstTest) source() ([]byte, error) {
	var text bytes.Buffer
	parsed := template.Must(template.New("").Parse(firstTestTemplate))
	if err := parsed.Execute(&text, f); err != nil {
		return nil, exit.With(exit.Internal, err)
	}
	content, err := format.Source(text.Bytes())
	if err != nil {
		return nil, exit.With(exit.Internal, fmt.Errorf("%w in\n%s", err, &text))
	}
	return content, nil
}

// conflict returns a name that files of the package declare and the test declares or imports, or
// "".
func (f *firstTest) conflict(files ...[]string) (string, error) {
	content, err := f.source()
	if err != nil {
		return "", err
	}
	own, err := parser.ParseFile(token.NewFileSet(), "", content, 0)
	if err != nil {
		return "", exit.With(exit.Internal, err)
	}
	names := slices.Collect(maps.Keys(own.Scope.Objects))
	for _, used := range own.Unresolved { // Names of packages are.
		names = append(names, used.Name)
	}
	slices.Sort(names)
	for _, path := range slices.Concat(files...) {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(f.directory, path), nil,
			0)
		if err != nil {
			return "", err
		}
		for _, name := range names {
			if parsed.Scope.Lookup(name) != nil {
				return name, nil
			}
		}
	}
	return "", nil
}

// write writes the test.
func (f *firstTest) write() error {
	content, err := f.source()
	if err != nil {
		return err
	}
	if err := file.WriteContent(f.path(), content); err != nil {
		return exit.With(exit.Internal, fmt.Errorf("writing the test: %w", err))
	}
	return nil
}
