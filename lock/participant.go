package lock

import (
	"context"
	"slices"
	"strings"
)

// A Participant is somebody who holds a lock or waits for it, as ZooKeeper saw it a moment ago.
type Participant struct {
	Node    string // the path of its node
	Session int64  // of the client that made the node
	// the transaction that made the node; its fencing token is no higher, those of all behind it
	// are higher than that token
	Created  int64
	Metadata string // as given by WithMetadata
	Shared   bool   // it reads, or has a place in a semaphore
	Turn     bool   // it has its turn: it holds the lock, or is about to learn so
	Revoked  bool   // it has been asked to give the lock back
}

func (q *queue) participants(ctx context.Context, r rule) ([]Participant, error) {
	return await(ctx, func() ([]Participant, error) {
		participants, _, err := q.listParticipants(r)
		return participants, err
	})
}

// listParticipants asks for all participants, and for what stands in the directory, in the opposite
// order: who is named there and is no participant is gone, and not yet to come. Those that leave
// meanwhile are left out.
func (q *queue) listParticipants(r rule) ([]Participant, revocation, error) {
	if err := q.sync(); err != nil {
		return nil, revocation{}, err
	}
	posted, _, err := q.client.Get(q.path)
	if err != nil && !isNoNode(err) {
		return nil, revocation{}, err
	}
	requested, _ := readRevocation(posted) // What somebody else has put there asks nobody.
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

// describe reads the nodes of entries that are in order.
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

// revokeHolders asks all who have their turn to give the lock back.
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
