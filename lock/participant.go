package lock

import (
	"context"
	"slices"
	"strings"
)

// A Participant is a contender that holds a lock or waits for it, in a recent state of ZooKeeper.
type Participant struct {
	Node    string // the path of its node
	Session int64  // of the client that created the node
	// the zxid that created the node; its fencing token is no higher, and those of all contenders
	// behind it are higher than that token
	Created  int64
	Metadata string // set by WithMetadata
	Shared   bool   // a reader, or a contender of a semaphore
	Turn     bool   // it holds the lock, or is about to learn that it does
	Revoked  bool   // it has been asked to unlock
}

func (q *queue) participants(ctx context.Context, r rule) ([]Participant, error) {
	return await(ctx, func() ([]Participant, error) {
		participants, _, err := q.listParticipants(r)
		return participants, err
	})
}

// listParticipants returns all participants, and the revocations that the directory's data hold. It
// reads the data first: a contender that they name and the listing lacks is therefore gone, and not
// about to come. Contenders that leave meanwhile are omitted.
func (q *queue) listParticipants(r rule) ([]Participant, revocation, error) {
	if err := q.sync(); err != nil {
		return nil, revocation{}, err
	}
	posted, _, err := q.client.Get(q.path)
	if err != nil && !isNoNode(err) {
		return nil, revocation{}, err
	}
	requested, _ := readRevocation(posted) // Foreign data revoke nothing.
	found, err := q.list()
	if err != nil {
		return nil, revocation{}, err
	}
	entries, err := q.withOrder(found.entries)
	if err != nil {
		return nil, revocation{}, err
	}
	sortEntries(entries)
	participants, err := q.describe(entries, r, requested)
	return participants, requested, err
}

// describe reads the nodes of sorted entries.
func (q *queue) describe(entries []entry, r rule, requested revocation) ([]Participant, error) {
	participants := make([]Participant, 0, len(entries))
	writers := false
	for i := range entries {
		e := &entries[i]
		data, stat, err := q.client.Get(q.at(e.name))
		if isNoNode(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		content := parseRecord(data)
		p := Participant{
			Node: q.at(e.name), Session: stat.EphemeralOwner, Created: stat.Czxid,
			Metadata: content.Metadata,
			Shared:   !e.kind.isExclusive() || content.Shared,
			Revoked: slices.Contains(requested.Revoked,
				e.name),
		}
		p.Turn = len(participants) <= r.spare || p.Shared && e.kind != slot && !writers
		writers = writers || !p.Shared
		participants = append(participants, p)
	}
	return participants, nil
}

func (q *queue) revoke(ctx context.Context, r rule) error {
	_, err := await(ctx, func() (struct{}, error) { return struct{}{}, q.revokeHolders(r) })
	return err
}

// revokeHolders asks all holders to unlock.
func (q *queue) revokeHolders(r rule) error {
	participants, requested, err := q.listParticipants(r)
	if err != nil {
		return err
	}
	var holders []string
	gone := make(map[string]bool)
	for _, name := range requested.Revoked {
		gone[name] = true
	}
	for _, p := range participants {
		name := strings.TrimPrefix(p.Node, q.at(""))
		delete(gone, name)
		if p.Turn {
			holders = append(holders, name)
		}
	}
	if holders == nil {
		return ErrNotHeld
	}
	return q.postRevocation(holders, gone)
}
