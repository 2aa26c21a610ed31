package contributing_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"github.com/interlock-sim/interlock/internal/testkit/long"
)

// A recipe is a change that docs/contributing.md describes.
type recipe struct {
	name  string
	files map[string]string // the folder of each new file, by its name in testdata
	rows  []row
	suite []string // the packages of its tables
	slow  bool     // only make long runs the suite
}

// A row goes into a table.
type row struct {
	file, table, text string
}

// recipes are the changes of docs/contributing.md.
var recipes = []recipe{
	{
		name:  "fault",
		files: map[string]string{"drop_link": "internal/run/zookeeper"},
		rows: []row{
			{"internal/run/zookeeper/faults.go", "faultActions", "faults.DropLink: dropLink"},
			{"faults/kind.go", "Any", "DropLink Kind = iota"},
			{
				"faults/kind_table.go", "kindTable",
				`DropLink: {name: "drop-link", meaning: "the connection breaks"}`,
			},
		},
		suite: []string{"./faults", "./internal/run/zookeeper"},
	},
	{
		name:  "operation",
		files: map[string]string{"append_data": "simzk/operation"},
		rows:  []row{{"simzk/operation/table.go", "table", "&appendData"}},
		suite: []string{"./simzk/operation"},
	},
	{
		name: "property", slow: true,
		files: map[string]string{
			"first_out": "history/check", "first_out_test": "history/check",
			"explain_first_out": "history/explain",
		},
		rows: []row{
			{"history/check/property_table.go", "propertyTable", "firstOut"},
			{
				"history/explain/explain.go", "generators",
				"firstOut: (*story).explainFirstOut",
			},
			{"internal/testkit/referee/dimensions.go", "claims", `"first-out"`},
		},
		suite: []string{"./history/check", "./history/explain"},
	},
	{
		name: "strategy", slow: true,
		files: map[string]string{"newest": "internal/search/strategy"},
		rows:  []row{{"internal/search/strategy/strategy.go", "strategyKinds", "newestKind"}},
		suite: []string{"./internal/search/strategy"},
	},
	{
		name: "service", slow: true, // The package is there already: internal/testkit/register.
		rows: []row{
			{"cmd/bundled/bundled.go", "import", `"` + modulePath + `internal/testkit/register"`},
			{
				"cmd/bundled/bundled.go", "All",
				`[]scenarios.Subject{register.Lock("register", true)}`,
			},
		},
		suite: []string{"./cmd/bundled"},
	},
	{
		name: "lock", slow: true,
		files: map[string]string{"sample": "scenarios/subjects"},
		rows:  []row{{"scenarios/subjects/subjects.go", "Correct", "Sample()"}},
		suite: []string{"./scenarios/subjects"},
	},
}

// A row of a table may stand anywhere in it: the suite of the package passes with a further row.
func TestRowsStandAnywhere(t *testing.T) {
	for i := range recipes {
		r := &recipes[i]
		for _, at := range []position{first, inTheMiddle, last} {
			t.Run(fmt.Sprintf("%s/%s", r.name, at), func(t *testing.T) {
				if r.slow {
					long.Only(t)
				}
				t.Setenv(long.Variable, "") // The suite is the quick one.
				changed := make(overlay)
				changed.add(t, r, at)
				run(t, module, 0, "go", append([]string{"test", changed.write(t)}, r.suite...)...)
			})
		}
	}
}

// A position is where in its table a row is inserted.
type position string

// The positions of a row in a table.
const (
	first       position = "first"
	inTheMiddle position = "in the middle"
	last        position = "last"
)

// An overlay is a changed copy of the module as the go command takes it: the contents of files by
// their absolute paths.
type overlay map[string][]byte

// add follows a recipe.
func (o overlay) add(t *testing.T, r *recipe, at position) {
	t.Helper()
	for name, folder := range r.files {
		o[absolute(t, filepath.Join(folder, name+".go"))] = readFile(t,
			filepath.Join("testdata", name+".go.txt"))
	}
	for _, row := range r.rows {
		path := absolute(t, row.file)
		content, changed := o[path]
		if !changed {
			content = readFile(t, path)
		}
		o[path] = insert(t, row, content, at)
	}
}

// write writes the overlay and returns the flag with which the go command builds it.
func (o overlay) write(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	replace := make(map[string]string)
	for path, content := range o {
		replace[path] = filepath.Join(directory, fmt.Sprint(len(replace)))
		write(t, replace[path], content)
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(directory, "overlay.json")
	write(t, path, text)
	return "-overlay=" + path
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(module, path))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// insert returns the content of a file with a row at a position of its table.
func insert(t *testing.T, r row, content []byte, at position) []byte {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, r.file, content, 0)
	if err != nil {
		t.Fatal(err)
	}
	rows := rowsOf(file, r.table)
	if len(rows) < 3 {
		t.Fatalf("%s has no table %s", r.file, r.table)
	}
	offset, text := 0, r.text
	_, isRow := rows[0].(ast.Expr)
	separator := ","
	if !isRow {
		separator = "\n" // constants
	}
	switch at {
	case first:
		offset = files.Position(rows[0].Pos()).Offset
		text += separator
	case inTheMiddle:
		offset = files.Position(rows[len(rows)/2].Pos()).Offset
		text += separator
	case last:
		offset = files.Position(rows[len(rows)-1].End()).Offset
		text = separator + text
	}
	return []byte(string(content[:offset]) + text + string(content[offset:]))
}

// rowsOf returns the rows of a table: the elements of the composite literal, or the arguments of the
// call, that is assigned to the name or that the function of this name returns; the constants before
// the one of this name; or the imports.
func rowsOf(file *ast.File, name string) (rows []ast.Node) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			switch {
			case n.Tok == token.CONST:
				rows = append(rows, constantsBefore(n, name)...)
			case n.Tok.String() == name: // import
				for _, spec := range n.Specs {
					rows = append(rows, spec)
				}
			}
		case *ast.ValueSpec:
			if n.Names[0].Name == name && len(n.Values) == 1 {
				rows = append(rows, elements(n.Values[0])...)
			}
		case *ast.AssignStmt:
			if to, ok := n.Lhs[0].(*ast.Ident); ok && to.Name == name {
				rows = append(rows, elements(n.Rhs[0])...)
			}
		case *ast.FuncDecl:
			if n.Name.Name == name && n.Recv == nil {
				if returned, ok := n.Body.List[0].(*ast.ReturnStmt); ok {
					rows = append(rows, elements(returned.Results[0])...)
				}
			}
		}
		return true
	})
	return rows
}

func elements(e ast.Expr) (rows []ast.Node) {
	var of []ast.Expr
	switch e := e.(type) {
	case *ast.CompositeLit:
		of = e.Elts
	case *ast.CallExpr:
		of = e.Args
	}
	for _, element := range of {
		rows = append(rows, element)
	}
	return rows
}

func constantsBefore(d *ast.GenDecl, name string) (rows []ast.Node) {
	for _, spec := range d.Specs {
		if spec.(*ast.ValueSpec).Names[0].Name == name {
			return rows
		}
		rows = append(rows, spec)
	}
	return nil
}
