package simzk

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// writeConfig writes the configuration of the ensemble into all trees when the first leader is
// elected.
func (c *Cluster) writeConfig() {
	if c.configVersion != 0 || len(c.config.Members) == 0 {
		return
	}
	c.configVersion = c.zxid
	w := &tree.Write{
		Data: c.configText(c.members()), Zxid: c.zxid, TimeMillis: c.millis(),
		Identities: []wire.Identity{tree.Super},
	}
	c.prepare(func(t *tree.Tree) { t.Configure(w) })
}

// members returns the configured members of the ensemble, by id.
func (c *Cluster) members() []Member {
	var members []Member
	for _, s := range c.servers {
		if s.role != nonMember {
			members = append(members, s.member)
		}
	}
	sortMembers(members)
	return members
}

func sortMembers(members []Member) {
	slices.SortFunc(members, func(a, b Member) int { return a.ID - b.ID })
}

// configText returns the content of the node /zookeeper/config.
func (c *Cluster) configText(members []Member) []byte {
	var text strings.Builder
	for _, m := range members {
		fmt.Fprintln(&text, m)
	}
	fmt.Fprintf(&text, "version=%x", c.configVersion)
	return []byte(text.String())
}

// errNoMembers and errLeavingID are errors in a reconfig that ZooKeeper does not handle: it fails
// to decode the request instead of rejecting it.
var (
	errNoMembers = errors.New("the list of members is empty")
	errLeavingID = errors.New("a server that is to leave has no number")
)

// reconfigure executes a reconfig. The order of the checks is ZooKeeper's (PrepRequestProcessor):
// permissions come last. A leader that loses its vote steps down, and all clients are disconnected.
func (c *Cluster) reconfigure(l *Link, r *wire.Reconfig) operation.Answer {
	switch {
	case !c.config.Reconfig:
		return failure(wire.ReconfigDisabled)
	case c.Standalone():
		return failure(wire.Unimplemented)
	case r.Version != anyVersion && r.Version != c.configVersion:
		return failure(wire.BadVersion)
	}
	members, err := c.nextMembers(r)
	switch {
	case errors.Is(err, errNoMembers), errors.Is(err, errLeavingID):
		return failure(wire.MarshallingError)
	case err != nil:
		return failure(wire.BadArguments)
	}
	if !c.quorumSynced(members) {
		return failure(wire.NewConfigNoQuorum)
	}
	before := c.configVersion
	c.configVersion = c.zxid
	answer := operation.Answer{Result: c.tree.Configure(&tree.Write{
		Data: c.configText(members), Zxid: c.zxid, TimeMillis: c.millis(),
		Identities: l.identities,
	})}
	if answer.Code != wire.OK {
		c.configVersion = before
		return answer
	}
	c.publish(c.tree.Changes(), l.process, c.zxid, everywhere)
	c.assignRoles(members)
	if c.servers[c.leader].role == voter {
		return answer
	}
	c.stepDown(l)
	answer.Then = operation.ReplyAndClose
	return answer
}

// anyVersion makes a reconfig unconditional.
const anyVersion = -1

// nextMembers returns the members that a reconfig requests, by id.
func (c *Cluster) nextMembers(r *wire.Reconfig) ([]Member, error) {
	next := joinAndLeave
	if r.NewMembers != wire.Null {
		next = parseNewMembers
	}
	members, err := next(r, c.members())
	if err != nil {
		return nil, err
	}
	voters := 0
	for _, m := range members {
		if !m.Observer {
			voters++
		}
	}
	if voters < 1 || voters < 2 && !c.config.LoneVoter {
		return nil, fmt.Errorf("%d voters are too few", voters)
	}
	sortMembers(members)
	return members, nil
}

// parseNewMembers returns the members of a non-incremental reconfig.
func parseNewMembers(r *wire.Reconfig, _ []Member) ([]Member, error) {
	var members []Member
	for line := range strings.FieldsFuncSeq(r.NewMembers, func(r rune) bool {
		return r == ',' ||
			r == '\n'
	}) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "version=") {
			continue
		}
		m, err := ParseMember(line)
		if err != nil {
			return nil, err
		}
		members = append(remove(members, m.ID), m)
	}
	if len(members) == 0 {
		return nil, errNoMembers
	}
	return members, nil
}

// joinAndLeave returns the members after an incremental reconfig.
func joinAndLeave(r *wire.Reconfig, members []Member) ([]Member, error) {
	for leaving := range strings.SplitSeq(r.Leaving, ",") {
		if leaving = strings.TrimSpace(leaving); leaving == "" || leaving == wire.Null {
			continue
		}
		id, err := strconv.Atoi(leaving)
		if err != nil {
			return nil, errLeavingID
		}
		members = remove(members, id)
	}
	for joining := range strings.SplitSeq(r.Joining, ",") {
		if joining = strings.TrimSpace(joining); joining == "" || joining == wire.Null {
			continue
		}
		key, addresses, _ := strings.Cut(joining, "=")
		number := key[strings.LastIndexByte(key, '.')+1:] // ZooKeeper ignores the part before it.
		m, err := ParseMember("server." + number + "=" + addresses)
		if err != nil {
			return nil, err
		}
		if m.Client == "" {
			return nil, fmt.Errorf("server.%d has no address for clients", m.ID)
		}
		members = remove(members, m.ID)
		if slices.ContainsFunc(members, m.conflicts) {
			return nil, fmt.Errorf("server.%d has an address of another", m.ID)
		}
		members = append(members, m)
	}
	return members, nil
}

func remove(members []Member, id int) []Member {
	return slices.DeleteFunc(members, func(m Member) bool { return m.ID == id })
}

// quorumSynced reports whether a majority of the voters among the members runs and follows the
// leader.
func (c *Cluster) quorumSynced(members []Member) bool {
	voters, synced := 0, 0
	for _, m := range members {
		if m.Observer {
			continue
		}
		voters++
		if i := c.server(m.ID); i >= 0 && c.servers[i].peersReachable() {
			synced++
		}
	}
	return synced > voters/2
}

// server returns the index of the server with an id, or -1.
func (c *Cluster) server(id int) int {
	return slices.IndexFunc(c.servers, func(s server) bool { return s.id == id })
}

// assignRoles gives every server its role in a configuration. An omitted server continues until its
// process ends. A new server has yet to be started.
func (c *Cluster) assignRoles(members []Member) {
	for i := range c.servers {
		c.servers[i].role = nonMember
	}
	for _, m := range members {
		i := c.server(m.ID)
		if i < 0 {
			i = c.AddServer(m.ID)
		}
		c.servers[i].member, c.servers[i].role = m, roleOf(m)
	}
}

// stepDown makes another server the leader. The client that requested the change gets its reply
// first.
func (c *Cluster) stepDown(asking *Link) {
	for _, l := range c.links {
		if l != asking && l.Connected() {
			l.post(Message{})
		}
	}
	var stopped []int
	for i := range c.servers {
		if s := &c.servers[i]; s.peersReachable() {
			s.stop()
			stopped = append(stopped, i)
		}
	}
	c.forgetLocalSessions(stopped)
	c.lead(c.candidate())
}
