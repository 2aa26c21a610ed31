package gobuild

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// dialPackage is the package that patched libraries ask before they dial.
const dialPackage = modulePath + "/simzk/dial"

// dialName is the name under which patched files import [dialPackage].
const dialName = "interlockdial"

// generatedFile is the file that a patched copy has and the library has not.
const generatedFile = "interlock_generated.go"

// A library is a client library of ZooKeeper that can be patched.
type library struct {
	module    string
	directory string // of the package zk in the module
}

// libraries are go-zookeeper/zk and its forks.
var libraries = []library{
	{"github.com/go-zookeeper/zk", "."},
	{"github.com/samuel/go-zookeeper", "zk"},
	{"github.com/z-division/go-zookeeper", "zk"},
}

// copyPatched copies the library of a version in a directory to a new one below another, without
// tests and with the patches, and returns the path. Copies with the same contents are one, which
// appears atomically. The path ends as in the module cache, so that reports name the file as usual.
// If seeds is set, math/rand/v2 can be seeded.
func (l *library) copyPatched(from, version, below string, seeds bool) (string, error) {
	if err := os.MkdirAll(below, 0o755); err != nil {
		return "", err
	}
	draft, err := os.MkdirTemp(below, ".draft-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(draft) // Nothing is left to remove once it has been renamed.
	name := path.Base(l.module)
	if version != "" {
		name += "@" + version
	}
	if err := l.copyFiles(from, filepath.Join(draft, name)); err != nil {
		return "", err
	}
	if err := patch(filepath.Join(draft, name, l.directory), seeds); err != nil {
		return "", fmt.Errorf("%s cannot be led to the simulated servers: %w", name, err)
	}
	hash, err := hashFiles(draft)
	if err != nil {
		return "", err
	}
	to := filepath.Join(below, hash)
	if _, err := os.Stat(to); err == nil {
		return filepath.Join(to, name), nil
	}
	if err := os.Chmod(draft, 0o755); err != nil {
		return "", err
	}
	// Another process may have made the same copy meanwhile.
	if err := os.Rename(draft, to); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return filepath.Join(to, name), nil
}

// hashFiles returns a hash of the names and contents of the files in a directory and below.
func hashFiles(directory string) (string, error) {
	hash := sha256.New()
	err := filepath.WalkDir(directory, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		within := strings.TrimPrefix(name, directory)
		fmt.Fprintf(hash, "%s %d\n%s", within, len(content), content)
		return err
	})
	return hex.EncodeToString(hash.Sum(nil)[:8]), err
}

// copyFiles copies the Go files of the library, and its go.mod or a new one.
func (l *library) copyFiles(from, to string) error {
	mod, err := os.ReadFile(filepath.Join(from, "go.mod"))
	if errors.Is(err, fs.ErrNotExist) {
		mod, err = []byte("module "+l.module+"\n"), nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(to, l.directory), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(to, "go.mod"), mod, 0o644); err != nil {
		return err
	}
	source := filepath.Join(from, l.directory)
	entries, err := os.ReadDir(source)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return err
		}
		target := filepath.Join(to, l.directory, name)
		if err := os.WriteFile(target, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// A source is a package that is being patched.
type source struct {
	directory string
	files     *token.FileSet
	parsed    map[string]*ast.File // by name
	names     []string             // of the files, in order
	edits     map[string][]edit    // by file
	seeds     bool                 // math/rand/v2 can be seeded
}

// An edit inserts text into a file, in place of what lies between two offsets.
type edit struct {
	from, to int
	text     string
}

// patch lets the package in a directory ask [dialPackage]. Every change stays on its line, so that
// stacks name the lines of the library. A place to change that is missing is an error.
func patch(directory string, seeds bool) error {
	s := &source{
		directory: directory, seeds: seeds, files: token.NewFileSet(),
		parsed: map[string]*ast.File{}, edits: map[string][]edit{},
	}
	if err := s.parse(); err != nil {
		return err
	}
	for _, change := range []func() error{
		s.patchDial, s.patchConnect, s.patchCalls, s.patchGUIDs, s.patchShuffle,
	} {
		if err := change(); err != nil {
			return err
		}
	}
	return s.write()
}

func (s *source) parse() error {
	entries, err := os.ReadDir(s.directory)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := filepath.Join(s.directory, entry.Name())
		if filepath.Ext(name) != ".go" {
			continue
		}
		parsed, err := parser.ParseFile(s.files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		s.names = append(s.names, entry.Name())
		s.parsed[entry.Name()] = parsed
	}
	return nil
}

// function finds a function by its name, or a method of *Conn by its name after a dot. It returns
// an error if the package does not have it.
func (s *source) function(name string) (*ast.FuncDecl, error) {
	method, isMethod := strings.CutPrefix(name, ".")
	for _, file := range s.names {
		for _, declared := range s.parsed[file].Decls {
			f, ok := declared.(*ast.FuncDecl)
			if ok && f.Body != nil && f.Name.Name == method && (f.Recv != nil) == isMethod &&
				(!isMethod || receiver(f) != "") {
				return f, nil
			}
		}
	}
	return nil, fmt.Errorf("the package has no function %s",
		strings.Replace(name, ".", "(*Conn).", 1))
}

// receiver returns the name of the receiver of a method of *Conn, or "".
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) != 1 || len(f.Recv.List[0].Names) != 1 {
		return ""
	}
	pointer, ok := f.Recv.List[0].Type.(*ast.StarExpr)
	if !ok {
		return ""
	}
	if of, ok := pointer.X.(*ast.Ident); !ok || of.Name != "Conn" {
		return ""
	}
	return f.Recv.List[0].Names[0].Name
}

// missing returns the error for a function that lacks the code to change.
func (s *source) missing(f *ast.FuncDecl, what string) error {
	file := filepath.Base(s.files.Position(f.Pos()).Filename)
	return fmt.Errorf("%s: the function %s has no %s", file, f.Name.Name, what)
}

// replace replaces the source between two positions.
func (s *source) replace(from, to token.Pos, text string) {
	at := s.files.Position(from)
	name := filepath.Base(at.Filename)
	s.edits[name] = append(s.edits[name], edit{at.Offset, s.files.Position(to).Offset, text})
}

// insert inserts text.
func (s *source) insert(at token.Pos, text string) { s.replace(at, at, text) }

// patchDial lets connect ask for a connection: it replaces the call of the client's dialer, and
// ends the client if the run is over.
func (s *source) patchDial() error {
	f, err := s.function(".connect")
	if err != nil {
		return err
	}
	conn, found := receiver(f), false
	ast.Inspect(f.Body, func(n ast.Node) bool {
		assigned, ok := n.(*ast.AssignStmt)
		if !ok || len(assigned.Lhs) != 2 || len(assigned.Rhs) != 1 {
			return true
		}
		call, ok := assigned.Rhs[0].(*ast.CallExpr)
		if !ok || len(call.Args) != 3 || !isSelector(call.Fun, conn, "dialer") {
			return true
		}
		failed, ok := assigned.Lhs[1].(*ast.Ident)
		if !ok {
			return true
		}
		found = true
		s.replace(call.Fun.Pos(), call.Lparen+1, dialName+".Dial("+conn+".dialer, ")
		s.insert(assigned.End(), fmt.Sprintf("; if %s.IsOver(%s) { %s.flushUnsentRequests("+
			"ErrClosing); return ErrClosing }", dialName, failed.Name, conn))
		return true
	})
	if !found {
		return s.missing(f, "call of the client's dialer")
	}
	_, err = s.function(".flushUnsentRequests")
	return err
}

// patchConnect lets Connect end where the run is over.
func (s *source) patchConnect() error {
	f, err := s.function("Connect")
	if err != nil {
		return err
	}
	parameters := f.Type.Params.List
	if len(parameters) == 0 || len(parameters[0].Names) == 0 || results(f) != 3 {
		return s.missing(f, "list of servers and three results")
	}
	servers := parameters[0].Names[0].Name
	s.insert(f.Body.Lbrace+1, fmt.Sprintf(" if err := %s.Call(%s...); err != nil { return nil, "+
		"nil, err };", dialName, servers))
	made := false
	ast.Inspect(f.Body, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if of, ok := literal.Type.(*ast.Ident); ok && of.Name == "Conn" {
			made = true
			s.insert(literal.Lbrace+1, fmt.Sprintf(" %s: %s,", serversField, servers))
		}
		return true
	})
	if !made {
		return s.missing(f, "literal of a Conn")
	}
	return s.patchConn()
}

// serversField is the field of a patched Conn with the servers that its caller has named.
const serversField = "interlockServers"

// patchConn adds a field to the type Conn, behind those that must be aligned.
func (s *source) patchConn() error {
	for _, name := range s.names {
		for _, declared := range s.parsed[name].Decls {
			types, ok := declared.(*ast.GenDecl)
			if !ok || types.Tok != token.TYPE {
				continue
			}
			for _, one := range types.Specs {
				of, ok := one.(*ast.TypeSpec)
				if fields, isStruct := of.Type.(*ast.StructType); ok && isStruct &&
					of.Name.Name == "Conn" {
					s.insert(fields.Fields.Closing, serversField+" []string; ")
					return nil
				}
			}
		}
	}
	return errors.New("the package has no struct Conn")
}

// patchCalls lets the calls of a client fail once the run is over, and not return if the process
// has stopped.
func (s *source) patchCalls() error {
	f, err := s.function(".request")
	if err != nil {
		return err
	}
	if results(f) != 2 {
		return s.missing(f, "two results")
	}
	s.insert(f.Body.Lbrace+1, fmt.Sprintf(" if %[1]s.Call(%[2]s.%[3]s...) != nil { return 0, "+
		"ErrClosing }; defer %[1]s.Return(%[2]s.%[3]s...);", dialName, receiver(f), serversField))
	if f, err = s.function(".State"); err != nil {
		return err
	}
	s.insert(f.Body.Lbrace+1, fmt.Sprintf(" %s.Call(%s.%s...);", dialName, receiver(f),
		serversField))
	return nil
}

// results returns the number of results of a function without named ones.
func results(f *ast.FuncDecl) int {
	if f.Type.Results == nil {
		return 0
	}
	return len(f.Type.Results.List)
}

// patchGUIDs gives each process GUIDs of its own.
func (s *source) patchGUIDs() error {
	f, err := s.function(".CreateProtectedEphemeralSequential")
	if err != nil {
		return err
	}
	found := false
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if reader, ok := n.(*ast.SelectorExpr); ok && isSelector(reader, "rand", "Reader") {
			found = true
			s.insert(reader.Pos(), fmt.Sprintf("%s.Random(%s.%s, ", dialName, receiver(f),
				serversField))
			s.insert(reader.End(), ")")
		}
		return true
	})
	if !found {
		return s.missing(f, "GUID from rand.Reader")
	}
	return nil
}

// patchShuffle keeps the order of simulated servers.
func (s *source) patchShuffle() error {
	f, err := s.function("stringShuffle")
	if err != nil {
		return err
	}
	parameters := f.Type.Params.List
	if len(parameters) != 1 || len(parameters[0].Names) != 1 {
		return s.missing(f, "list as its only parameter")
	}
	s.insert(f.Body.Lbrace+1, fmt.Sprintf(" if %s.Simulated(%s...) { return };", dialName,
		parameters[0].Names[0].Name))
	return nil
}

// isSelector reports whether an expression is of.name.
func isSelector(e ast.Expr, of, name string) bool {
	selector, ok := e.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != name {
		return false
	}
	x, ok := selector.X.(*ast.Ident)
	return ok && x.Name == of
}

// write writes the changed files and the generated one, by which clients log nothing by default: a
// search connects thousands of times.
func (s *source) write() error {
	for _, name := range s.names {
		edits := s.edits[name]
		if len(edits) == 0 {
			continue
		}
		target := filepath.Join(s.directory, name)
		content, err := os.ReadFile(target)
		if err != nil {
			return err
		}
		content = apply(content, append(edits, importDial(s.files, s.parsed[name])))
		if err := os.WriteFile(target, content, 0o644); err != nil {
			return err
		}
	}
	var generated strings.Builder
	fmt.Fprintf(&generated, generatedFormat, dialPackage)
	if s.seeds {
		generated.WriteString(seedFormat)
	}
	for _, constant := range laterConstants {
		if !s.declares(constant.name) {
			fmt.Fprintf(&generated, "\nconst %s = %s\n", constant.name, constant.value)
		}
	}
	target := filepath.Join(s.directory, generatedFile)
	return os.WriteFile(target, []byte(generated.String()), 0o644)
}

// generatedFormat is the format of the generated file, with the path of [dialPackage].
const generatedFormat = `package zk

import (
	_ "unsafe" // for go:linkname

	"%s"
)

func init() {
	dial.MarkPatched()
	DefaultLogger = silentLogger{}
}

type silentLogger struct{}

func (silentLogger) Printf(string, ...interface{}) {}
`

// laterConstants are constants of go-zookeeper/zk v1.0.4 that Interlock uses and that earlier
// versions do not have. Copies of those have them, so that Interlock compiles with them.
var laterConstants = []struct{ name, value string }{
	{"FlagPersistent", "0"},
	{"FlagEphemeralSequential", "3"},
	{"FlagContainer", "4"},
	{"FlagPersistentSequentialWithTTL", "6"},
	{"StateSyncConnected", "State(3)"},
}

// declares reports whether the package declares a constant.
func (s *source) declares(name string) bool {
	for _, file := range s.names {
		for _, declared := range s.parsed[file].Decls {
			constants, ok := declared.(*ast.GenDecl)
			if !ok || constants.Tok != token.CONST {
				continue
			}
			for _, spec := range constants.Specs {
				if slices.ContainsFunc(spec.(*ast.ValueSpec).Names,
					func(n *ast.Ident) bool { return n.Name == name }) {
					return true
				}
			}
		}
	}
	return false
}
