package simzk_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client/model"
)

// A harness is a cluster in a bubble of virtual time, whose every event is printed.
type harness struct {
	cluster *simzk.Cluster
	clients []*model.Conn
	log     *history.Log
	printed int // number of events that the output shows
	output  strings.Builder

	mu      sync.Mutex
	results []string // lines of clients' goroutines, not yet in the output
}

// newHarness returns a harness with the timeouts that the scripts assume. It must be called inside
// a bubble.
func newHarness(t *testing.T) *harness { return newEnsembleHarness(t, 1) }

// newEnsembleHarness returns a harness with a number of servers, with lag if there are several.
func newEnsembleHarness(t *testing.T, servers int) *harness {
	t.Helper()
	return newHarnessWith(t, servers, 4*time.Second)
}

// newHarnessWith is newEnsembleHarness with a session timeout.
func newHarnessWith(t *testing.T, servers int, sessionTimeout time.Duration) *harness {
	t.Helper()
	log := new(history.Log)
	config := simzk.Config{
		SessionTimeout: sessionTimeout, TickTime: 2 * time.Second, Settle: synctest.Wait,
		Servers: servers, Lag: servers > 1,
	}
	return &harness{log: log, cluster: simzk.New(config, log)}
}

// join adds a client and drains the events of its first session.
func (s *harness) join() *model.Conn {
	conn := model.Connect(s.cluster)
	s.clients = append(s.clients, conn)
	for range 3 {
		<-conn.Events()
	}
	return conn
}

// tearDown ends every waiting goroutine, so that the bubble can end.
func (s *harness) tearDown() {
	for _, conn := range s.clients {
		conn.TearDown()
	}
	synctest.Wait()
}

// client returns the client with a name, c1 for the first, or nil.
func (s *harness) client(name string) *model.Conn {
	for _, conn := range s.clients {
		if fmt.Sprintf("c%d", conn.Process()) == name {
			return conn
		}
	}
	return nil
}

func (s *harness) printf(format string, values ...any) {
	fmt.Fprintf(&s.output, format+"\n",
		values...)
}

// addResult adds a line of output on behalf of a client's goroutine.
func (s *harness) addResult(format string, values ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results = append(s.results, fmt.Sprintf(format, values...))
}

// settle lets every process settle, collects requests, and prints new events and results.
func (s *harness) settle() {
	synctest.Wait()
	s.cluster.Collect()
	for _, e := range s.log.Events()[s.printed:] {
		s.printf("%s", renderRecord(e))
	}
	s.printed = s.log.Len()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.results {
		s.printf("%s", line)
	}
	s.results = s.results[:0]
}

// call calls a method of the client in a new goroutine, and prints its result when it returns.
func (s *harness) call(conn *model.Conn, words []string) error {
	if len(words) == 0 {
		return errors.New("no method given")
	}
	method, path, options := words[0], "", words[1:]
	if len(options) > 0 && method != "multi" {
		path, options = options[0], options[1:]
	}
	run, err := callOf(conn, method, path, options)
	if err != nil {
		return err
	}
	name := strings.TrimSpace(fmt.Sprintf("c%d: %s %s", conn.Process(), method, path))
	go func() {
		returned := false
		defer func() {
			// The end of a run ends goroutines too, after the last output.
			if !returned {
				s.addResult("%s: the goroutine ended", name)
			}
		}()
		result, watch := run()
		returned = true
		s.addResult("%s = %s", name, result)
		if watch != nil {
			s.addResult("%s told %s", name, renderEvent(<-watch))
		}
	}()
	return nil
}

// A boundCall is a method with its arguments. It returns the result as text, and the channel of the
// watch that it set.
type boundCall func() (result string, watch <-chan zk.Event)

// callOf binds a method to its arguments.
func callOf(conn *model.Conn, method, path string, options []string) (boundCall, error) {
	acl, err := aclOf(options)
	if err != nil {
		return nil, err
	}
	for _, bind := range [...]func() boundCall{
		func() boundCall { return createOf(conn, method, path, options, acl) },
		func() boundCall { return readOf(conn, method, path) },
		func() boundCall { return identityOf(conn, method, path, options, acl) },
	} {
		if b := bind(); b != nil {
			return b, nil
		}
	}
	data, version := []byte(option(options, "data")), versionOf(options)
	switch method {
	case "delete":
		return func() (string, <-chan zk.Event) {
			return textOf("done", conn.Delete(path, version)),
				nil
		}, nil
	case "set":
		return func() (string, <-chan zk.Event) {
			stat, err := conn.Set(path, data, version)
			return statOf(stat, err), nil
		}, nil
	case "multi":
		ops, err := operationsOf(options)
		return func() (string, <-chan zk.Event) { return multiOf(conn.Multi(ops...)), nil }, err
	case "sync":
		return func() (string, <-chan zk.Event) { return textOf(conn.Sync(path)), nil }, nil
	case "close":
		return func() (string, <-chan zk.Event) { conn.Close(); return "closed", nil }, nil
	}
	return nil, fmt.Errorf("unknown method %q", method)
}

// createOf binds a method that creates a node, or returns nil for any other name.
func createOf(conn *model.Conn, method, path string, options []string, acl []zk.ACL) boundCall {
	data, flags := []byte(option(options, "data")), flagsOf(options)
	switch method {
	case "create":
		return func() (string, <-chan zk.Event) {
			return textOf(conn.Create(path, data, flags, acl)),
				nil
		}
	case "protected":
		return func() (string, <-chan zk.Event) {
			return textOf(conn.CreateProtectedEphemeralSequential(path, data, acl)), nil
		}
	case "container":
		return func() (string, <-chan zk.Event) {
			return textOf(conn.CreateContainer(path, data, zk.FlagContainer, acl)), nil
		}
	case "ttl":
		return func() (string, <-chan zk.Event) {
			return textOf(conn.CreateTTL(path, data, zk.FlagTTL, acl, time.Minute)), nil
		}
	}
	return nil
}

// identityOf binds a method for ACLs or authentication, or returns nil for any other name.
func identityOf(conn *model.Conn, method, path string, options []string, acl []zk.ACL) boundCall {
	switch method {
	case "addauth": // The path is the scheme.
		return func() (string, <-chan zk.Event) {
			return textOf("done", conn.AddAuth(path, []byte(strings.Join(options, "")))), nil
		}
	case "getacl":
		return func() (string, <-chan zk.Event) {
			acl, stat, err := conn.GetACL(path)
			return fmt.Sprintf("%s %s", renderACL(acl), statOf(stat, err)), nil
		}
	case "setacl":
		return func() (string, <-chan zk.Event) {
			stat, err := conn.SetACL(path, acl, versionOf(options))
			return statOf(stat, err), nil
		}
	}
	return nil
}

// operationsOf parses the operations of a multi: methods with arguments, separated by commas.
func operationsOf(words []string) ([]any, error) {
	var ops []any
	for text := range strings.SplitSeq(strings.Join(words, " "), ",") {
		fields := strings.Fields(text)
		if len(fields) < 2 {
			return nil, fmt.Errorf("the operation %q needs a method and a path", text)
		}
		path, options := fields[1], fields[2:]
		acl, err := aclOf(options)
		if err != nil {
			return nil, err
		}
		data, version := []byte(option(options, "data")), versionOf(options)
		switch fields[0] {
		case "create":
			ops = append(ops, &zk.CreateRequest{
				Path: path, Data: data, Acl: acl,
				Flags: flagsOf(options),
			})
		case "delete":
			ops = append(ops, &zk.DeleteRequest{Path: path, Version: version})
		case "set":
			ops = append(ops, &zk.SetDataRequest{Path: path, Data: data, Version: version})
		case "check":
			ops = append(ops, &zk.CheckVersionRequest{Path: path, Version: version})
		default:
			return nil, fmt.Errorf("unknown operation %q", fields[0])
		}
	}
	return ops, nil
}

// multiOf renders the result of each operation of a multi, and the error of the whole.
func multiOf(responses []zk.MultiResponse, err error) string {
	parts := make([]string, len(responses))
	for i, r := range responses {
		switch parts[i] = "done"; {
		case r.Error != nil:
			parts[i] = "error " + r.Error.Error()
		case r.Stat != nil:
			parts[i] = fmt.Sprintf("version=%d", r.Stat.Version)
		case r.String != "":
			parts[i] = r.String
		}
	}
	return strings.TrimSpace(textOf("["+strings.Join(parts, ", ")+"]", nil) + " " + textOf("", err))
}

// permissions are the letters of ZooKeeper's command line.
const permissions = "rwcda"

// aclOf parses an ACL: entries "who=permissions", separated by plus signs. Without permissions an
// entry has all of them. Who is world, auth, or user:password. The default grants everything to the
// world.
func aclOf(options []string) (acl []zk.ACL, err error) {
	text := option(options, "acl")
	if text == "" {
		return zk.WorldACL(zk.PermAll), nil
	}
	for entry := range strings.SplitSeq(text, "+") {
		who, letters, _ := strings.Cut(entry, "=")
		perms := int32(0)
		for _, letter := range letters {
			bit := strings.IndexRune(permissions, letter)
			if bit < 0 {
				return nil, fmt.Errorf("unknown permission %q", letter)
			}
			perms |= 1 << bit
		}
		if letters == "" {
			perms = zk.PermAll
		}
		user, password, isUser := strings.Cut(who, ":")
		switch {
		case isUser:
			acl = append(acl, zk.DigestACL(perms, user, password)...)
		case who == "world":
			acl = append(acl, zk.WorldACL(perms)...)
		case who == "auth":
			acl = append(acl, zk.AuthACL(perms)...)
		default:
			acl = append(acl, zk.ACL{Perms: perms, Scheme: who})
		}
	}
	return acl, nil
}

func renderACL(acl []zk.ACL) string {
	entries := make([]string, len(acl))
	for i, a := range acl {
		entries[i] = a.Scheme + ":" + a.ID + "="
		for bit, letter := range permissions {
			if a.Perms>>bit&1 == 1 {
				entries[i] += string(letter)
			}
		}
	}
	return "[" + strings.Join(entries, " ") + "]"
}

// readOf binds a method that reads, or returns nil for any other name.
func readOf(conn *model.Conn, method, path string) boundCall {
	switch method {
	case "get":
		return func() (string, <-chan zk.Event) {
			data, stat, err := conn.Get(path)
			return fmt.Sprintf("%q %s", data, statOf(stat, err)), nil
		}
	case "getw":
		return func() (string, <-chan zk.Event) {
			data, stat, watch, err := conn.GetW(path)
			return fmt.Sprintf("%q %s", data, statOf(stat, err)), watch
		}
	case "exists":
		return func() (string, <-chan zk.Event) {
			exists, stat, err := conn.Exists(path)
			return fmt.Sprintf("%t %s", exists, statOf(stat, err)), nil
		}
	case "existsw":
		return func() (string, <-chan zk.Event) {
			exists, stat, watch, err := conn.ExistsW(path)
			return fmt.Sprintf("%t %s", exists, statOf(stat, err)), watch
		}
	case "children":
		return func() (string, <-chan zk.Event) {
			names, stat, err := conn.Children(path)
			return listOf(names, stat, err), nil
		}
	case "childrenw":
		return func() (string, <-chan zk.Event) {
			names, stat, watch, err := conn.ChildrenW(path)
			return listOf(names, stat, err), watch
		}
	}
	return nil
}

func option(options []string, name string) string {
	for _, o := range options {
		if value, ok := strings.CutPrefix(o, name+"="); ok {
			return value
		}
	}
	return ""
}

func versionOf(options []string) int32 {
	if n, err := strconv.Atoi(option(options, "version")); err == nil {
		return int32(n)
	}
	return -1
}

func flagsOf(options []string) (flags int32) {
	if slices.Contains(options, "ephemeral") {
		flags |= zk.FlagEphemeral
	}
	if slices.Contains(options, "sequential") {
		flags |= zk.FlagSequence
	}
	if slices.Contains(options, "container") {
		flags = zk.FlagContainer
	}
	return flags
}

func textOf(text string, err error) string {
	if err != nil {
		return "error " + err.Error()
	}
	return text
}

// listOf renders a listing sorted, as its order has no meaning.
func listOf(names []string, stat *zk.Stat, err error) string {
	slices.Sort(names)
	return fmt.Sprintf("%v %s", names, statOf(stat, err))
}

// statOf renders the variable fields of a stat, or the error.
func statOf(stat *zk.Stat, err error) string {
	switch {
	case err != nil:
		return "error " + err.Error()
	case *stat == zk.Stat{}:
		return "no stat"
	}
	return fmt.Sprintf("czxid=%s mzxid=%s pzxid=%s version=%d cversion=%d children=%d%s",
		shortZxid(stat.Czxid),
		shortZxid(stat.Mzxid), shortZxid(stat.Pzxid), stat.Version, stat.Cversion, stat.NumChildren,
		owner(stat.EphemeralOwner))
}

// shortSession numbers sessions from 1. It drops the server id in the highest byte.
func shortSession(id int64) int64 { return id & (1<<56 - 1) }

// shortZxid shows the epoch only if there has been an election.
func shortZxid(zxid int64) string {
	if epoch := zxid >> 32; epoch > 0 {
		return fmt.Sprintf("%d:%d", epoch, zxid&(1<<32-1))
	}
	return strconv.FormatInt(zxid, 10)
}

func owner(session int64) string {
	if session == 0 {
		return ""
	}
	return fmt.Sprintf(" owner=s%d", shortSession(session))
}

func renderEvent(e zk.Event) string {
	text := strings.TrimPrefix(e.Type.String(), "Event")
	if e.Type == zk.EventSession {
		text = strings.TrimPrefix(e.State.String(), "State")
	}
	if e.Path != "" {
		text += " " + e.Path
	}
	if e.Err != nil {
		text += ", " + e.Err.Error()
	}
	return text
}

// renderRecord renders an event of the history on one line, with its time unless that is 0.
func renderRecord(e history.Event) string {
	var b strings.Builder
	if e.At > 0 {
		fmt.Fprintf(&b, "%v ", e.At)
	}
	if e.Process > 0 {
		fmt.Fprintf(&b, "c%d ", e.Process)
	}
	b.WriteString(e.Kind.String())
	if e.Watch != 0 {
		fmt.Fprintf(&b, " w%d", e.Watch)
	}
	for _, word := range [...]string{e.Op, e.Name, e.Path} {
		if word != "" {
			b.WriteString(" " + word)
		}
	}
	if e.Server != 0 {
		fmt.Fprintf(&b, " at s%d", e.Server)
	}
	if e.Zxid != 0 {
		b.WriteString(" zxid=" + shortZxid(e.Zxid))
	}
	if e.Session != 0 {
		fmt.Fprintf(&b, " s%d", shortSession(e.Session))
	}
	if e.Err != "" {
		b.WriteString(", " + e.Err)
	}
	return b.String()
}
