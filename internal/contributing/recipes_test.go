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
				`DropLink: {name: "drop-link", meaning: "it breaks", effect: "%s broke"}`,
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

// A row of a table may stand anywhere in it: the suite of the package passes with a further row
// first, in the middle and last. Under [long.Variable] it passes with the row at each place.
func TestRowsStandAnywhere(t *testing.T) {
	for i := range recipes {
		r := &recipes[i]
		places := max(3, r.longestTable(t)+1)
		for n := range places {
			if !long.Enabled() && n != 0 && n != places/2 && n != places-1 {
				continue
			}
			at := place{n, places - 1}
			t.Run(fmt.Sprintf("%s/%v", r.name, at), func(t *testing.T) {
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

// longestTable returns the number of rows of the longest table to which a recipe adds a row.
func (r *recipe) longestTable(t *testing.T) (rows int) {
	for _, row := range r.rows {
		_, all := row.parse(t, readFile(t, absolute(t, row.file)))
		rows = max(rows, len(all))
	}
	return rows
}

// A place is where a row is inserted in each of several tables: first at 0, last at most. Each
// place of a table with no more than most rows is one of these.
type place struct{ at, most int }

// Two places that every table has.
var inTheMiddle, last = place{1, 2}, place{1, 1}

func (p place) String() string { return fmt.Sprintf("%d of %d", p.at, p.most) }

// before returns the index of the row before which a row is inserted, in a table of some rows.
func (p place) before(rows int) int { return p.at * rows / p.most }

// An overlay is a changed copy of the module as the go command takes it: the contents of files by
// their absolute paths.
type overlay map[string][]byte

// add follows a recipe.
func (o overlay) add(t *testing.T, r *recipe, at place) {
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

// parse returns the positions in a file and the rows of the table.
func (r row) parse(t *testing.T, content []byte) (files *token.FileSet, rows []ast.Node) {
	t.Helper()
	files = token.NewFileSet()
	file, err := parser.ParseFile(files, r.file, content, 0)
	if err != nil {
		t.Fatal(err)
	}
	if rows = rowsOf(file, r.table); len(rows) < 3 {
		t.Fatalf("%s has no table %s", r.file, r.table)
	}
	return files, rows
}

// insert returns the content of a file with a row at a place of its table.
func insert(t *testing.T, r row, content []byte, at place) []byte {
	t.Helper()
	files, rows := r.parse(t, content)
	separator := ","
	if _, isRow := rows[0].(ast.Expr); !isRow {
		separator = "\n" // constants
	}
	offset, text := files.Position(rows[len(rows)-1].End()).Offset, separator+r.text
	if n := at.before(len(rows)); n < len(rows) {
		offset, text = files.Position(rows[n].Pos()).Offset, r.text+separator
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
