package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"golang.org/x/tools/txtar"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/cmd/internal/testkit/chromium"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/testkit/long"
)

// An edit replaces the only place of a text in a file.
type edit struct{ path, from, to string }

// fixedNode makes the lock of package node try again after it was woken.
var fixedNode = edit{
	"node/node.go",
	"	return err\n}\n\nfunc (l *Lock) Unlock",
	"	if err != nil {\n		return err\n	}\n	return l.Lock()\n}\n\nfunc (l *Lock) Unlock",
}

// ownLocks are the locks of testdata/ownlocks.txtar, and how each reaches its service. Their defect
// is that a client holds the lock together with another, without a fault.
var ownLocks = []struct {
	service, shape   string
	module, packaged string
	needs            string // a module that has to be in the cache
	schema           string // of the database
	fix              edit
}{
	{service: onZooKeeper, shape: interfaceShape, module: "zk", packaged: "./iface", fix: fixedNode},
	{service: onZooKeeper, shape: clientShape, module: "zk", packaged: "./conn", fix: fixedNode},
	{service: onZooKeeper, shape: dialShape, module: "zk", packaged: "./dial", fix: fixedNode},
	{
		service: onRedis, shape: interfaceShape, module: "redis", packaged: ".",
		needs: "github.com/redis/go-redis/v9@v9.23.0",
		fix: edit{
			"lock.go",
			`		n, err := l.client.Exists(ctx, l.key).Result()
		if err != nil {
			return err
		}
		if n == 0 {
			return l.client.Set(ctx, l.key, "", time.Minute).Err()
		}
`, `		set, err := l.client.SetNX(ctx, l.key, "", time.Minute).Result()
		if err != nil || set {
			return err
		}
`,
		},
	},
	{
		service: onSQL, shape: clientShape, module: "sql", packaged: ".",
		schema: "`CREATE TABLE locks (name TEXT)`",
		fix: edit{
			"lock.go",
			`		var n int
		row := l.db.QueryRowContext(ctx, "SELECT count(*) FROM locks WHERE name = ?", l.name)
		if err := row.Scan(&n); err != nil {
			return err
		}
		if n == 0 {
			_, err := l.db.ExecContext(ctx, "INSERT INTO locks (name) VALUES (?)", l.name)
			return err
		}
`, `		result, err := l.db.ExecContext(ctx, "INSERT INTO locks (name) SELECT ? WHERE NOT "+
			"EXISTS (SELECT 1 FROM locks WHERE name = ?)", l.name, l.name)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 1 {
			return err
		}
`,
		},
	},
}

// Each lock of a user goes the whole way: a first test, the defect found, explored in a browser and
// a terminal, a test that keeps it found, a certificate, the fix, and the comparison with before.
func TestOwnLocks(t *testing.T) {
	long.Only(t) // It builds other modules.
	t.Parallel()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "ownlocks.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range ownLocks {
		t.Run(l.service+" "+l.shape, func(t *testing.T) {
			if l.needs != "" {
				if cached, err := isCached(l.needs); err != nil || !cached {
					t.Skipf("%s is not in the module cache: %v", l.needs, err)
				}
			}
			m := &userModule{t.TempDir()}
			for _, f := range archive.Files {
				if path, ok := strings.CutPrefix(f.Name, l.module+"/"); ok {
					m.write(t, path, string(f.Data))
				}
			}
			o := &ownJourney{m, l.packaged}
			o.run(t, "init", exit.OK, "init", "--service", l.service, "--shape", l.shape, o.packaged)
			o.insertLock(t, l.schema)
			found := o.find(t)
			o.explore(t, found)
			goThrough(t, string(history.ClientMutualExclusion), "q", "test",
				filepath.Join(m.root, l.packaged), "--replay", filepath.Join(m.root, found), "--step")
			o.refuseRecording(t, found)
			regression := o.regress(t, found)
			o.certify(t, exit.Violation, `^RED \S+ TestInterlock violates client-mutual-exclusion: `,
				"--json", "before.json")
			m.replace(t, l.fix.path, l.fix.from, l.fix.to)
			o.certify(t, exit.OK, `, outcome: passed, was violation$`,
				"--json", "after.json", "--against", "before.json")
			o.run(t, "PASS", exit.OK, "test", o.packaged, "-v", "--run", regression)
		})
	}
}

// An ownJourney is the way of a user with a lock.
type ownJourney struct {
	*userModule
	packaged string // the pattern of the lock's package
}

// run runs the command, which must end with the status and print what matches.
func (o *ownJourney) run(t *testing.T, want string, status int, arguments ...string) string {
	t.Helper()
	stdout, stderr, ended := o.interlock(t, arguments...)
	if ended != status || !regexp.MustCompile("(?m)"+want).MatchString(stdout) {
		t.Fatalf("%q: status %d, want %d and %q:\n%s%s", arguments, ended, status, want, stdout,
			stderr)
	}
	return stdout
}

// insertLock follows the comments of the test that init has written.
func (o *ownJourney) insertLock(t *testing.T, schema string) {
	t.Helper()
	path := filepath.Join(o.packaged, firstTestName)
	text := string(readFile(t, filepath.Join(o.root, path)))
	for _, edit := range []struct{ from, to string }{
		{`(?m)^\tt\.Fatal.*\n|^\treturn nil, nil.*\n`, ""},
		{
			`// (history\.ClientMutualExclusion,)|// For example:|` +
				`// (lock := .*|return scenarios\.Mutex.*)`, "$1$2",
		},
		{"`` /\\*.*\\*/", schema},
	} {
		text = regexp.MustCompile(edit.from).ReplaceAllString(text, edit.to)
	}
	o.write(t, path, text)
}

// find finds the defect, and returns the counterexample.
func (o *ownJourney) find(t *testing.T) string {
	t.Helper()
	o.run(t, "client-mutual-exclusion: a process entered its critical section", exit.Violation,
		"test", o.packaged, "--run", "TestInterlock", "--junit", "found.xml", "--sarif", "found.json")
	for path, want := range map[string]string{
		"found.xml": `<testcase classname="interlock\.[^"]+\.TestInterlock\.\w+" ` +
			`name="client-mutual-exclusion">\s*<failure `,
		"found.json": `(?s)"uri": "[\w/]+\.go".*"startLine": \d+`,
	} {
		text := readFile(t, filepath.Join(o.root, path))
		if !regexp.MustCompile(want).Match(text) {
			t.Errorf("%s has no %s", path, want)
		}
	}
	return o.only(t, "interlock-failures/TestInterlock/*")
}

// explore shows the violation in a browser.
func (o *ownJourney) explore(t *testing.T, found string) {
	t.Helper()
	c, url := exploreOn(t, filepath.Join(o.root, o.packaged), "--schedule",
		filepath.Join(o.root, found))
	tab := chromium.Open(t, url)
	tab.Do(chromedp.Navigate(url))
	tab.AwaitText("#live .broken", string(history.ClientMutualExclusion))
	endExplore(t, c)
}

// refuseRecording verifies that a plan has only recordings of bundled locks.
func (o *ownJourney) refuseRecording(t *testing.T, found string) {
	t.Helper()
	o.write(t, "kept.yaml", "tests: [{package: "+o.packaged+", run: ^None$, interlock_test: true}]\n"+
		"must_fail: ["+filepath.ToSlash(found)+"]\n")
	_, stderr, status := o.interlock(t, "certify", "kept.yaml")
	if status == exit.OK || !strings.Contains(stderr, "recordings of bundled locks only") {
		t.Errorf("status %d: %s", status, stderr)
	}
}

// regress writes a test that fails, and returns its name.
func (o *ownJourney) regress(t *testing.T, found string) string {
	t.Helper()
	o.run(t, "fails as recorded", exit.Violation, "replay", "--run", found)
	printed := o.run(t, "^run ", exit.OK, "regress", found)
	name := regexp.MustCompile(`'(\^TestReplay\w+\$)'`).FindStringSubmatch(printed)
	if name == nil {
		t.Fatalf("no name in %s", printed)
	}
	o.run(t, "fails as recorded", exit.Violation, "test", o.packaged, "--run", name[1])
	return name[1]
}

// certify certifies the lock, as committed or changed since.
func (o *ownJourney) certify(t *testing.T, status int, want string, flags ...string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(o.root, "plan.yaml")); err != nil {
		o.write(t, "plan.yaml", "tests:\n  - {package: "+o.packaged+
			", run: ^TestInterlock$, schedules: 500, interlock_test: true}\n")
		for _, arguments := range [][]string{{"init", "-q"}, {"add", "."}, {
			"-c", "user.name=test", "-c", "user.email=test@example.org", "commit", "-qm", "lock",
		}} {
			git := exec.Command("git", arguments...)
			git.Dir = o.root
			if printed, err := git.CombinedOutput(); err != nil {
				t.Fatalf("git %q: %v\n%s", arguments, err, printed)
			}
		}
	}
	printed := o.run(t, want, status, append([]string{"certify", "plan.yaml"}, flags...)...)
	if !strings.Contains(printed, ", commit ") {
		t.Errorf("no commit in\n%s", printed)
	}
}
