package conform

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// FrameOptions configure [DifferFrames].
type FrameOptions struct {
	Address   string // the server under test
	Reference string // the server that is taken as correct
	Seed      uint64
	Frames    int
	// TTL, Containers and Super are those of [Options].
	TTL, Containers bool
	Super           string
	Progress        func(FrameStats) // called after each round, if not nil
}

// FrameStats count the frames of a run.
type FrameStats struct {
	Frames     int            // sent to both servers
	Listed     map[string]int // not sent, by reason
	Handshakes int            // of the frames, the first of a connection
	Ended      int            // frames after which both servers ended the connection
	Silent     int            // frames without an answer
	Codes      map[wire.Code]int
}

// A FrameDifference is a frame that two servers answer differently.
type FrameDifference struct {
	Frame     int    // its number in the run, from 1
	Request   string // as far as it can be decoded
	Bytes     []byte // without the length
	Previous  []byte // the frame before it
	Subject   string
	Reference string
}

// String describes the difference in several lines.
func (d *FrameDifference) String() string {
	return fmt.Sprintf("frame %d differs: %s\n  bytes:     %s\n  previous:  %s\n  server:    %s\n"+
		"  reference: %s\n", d.Frame, d.Request, hex.EncodeToString(d.Bytes),
		hex.EncodeToString(d.Previous), d.Subject, d.Reference)
}

const (
	// frameRoundLength is the number of frames below one root.
	frameRoundLength = 2000
	// frameDifferencesMax is the number of differences after which a run ends.
	frameDifferencesMax = 10
)

// DifferFrames sends the same frames to two servers and compares their answers: requests and
// handshakes, most of them mutated. A frame is followed by a read, so that a missing answer is
// noticed without a delay. Each difference ends a round, because the servers may have different
// data after it.
//
// The conditions and errors are those of [Differ]. A server that ends because of a frame is a
// difference too.
func DifferFrames(ctx context.Context, o FrameOptions) ([]*FrameDifference, FrameStats, error) {
	stats := FrameStats{Listed: map[string]int{}, Codes: map[wire.Code]int{}}
	if o.Address == o.Reference {
		return nil, stats, errors.New("cannot compare a server with itself")
	}
	var differences []*FrameDifference
	for round := uint64(0); stats.Frames < o.Frames; round++ {
		found, err := runFrameRound(ctx, o, round, &stats)
		if found != nil {
			differences = append(differences, found)
		}
		if err != nil || len(differences) == frameDifferencesMax {
			return differences, stats, err
		}
		if o.Progress != nil {
			o.Progress(stats)
		}
	}
	return differences, stats, nil
}

// A frameRound sends frames to both servers.
type frameRound struct {
	*generator
	*bindings
	sides    [2]*side
	stats    *FrameStats
	previous []byte
}

func runFrameRound(ctx context.Context, o FrameOptions, number uint64, stats *FrameStats,
) (found *FrameDifference, err error) {
	r := &frameRound{
		generator: &generator{
			Rand:    rand.New(rand.NewPCG(o.Seed, number)),
			options: Options{TTL: o.TTL, Containers: o.Containers, Super: o.Super},
		},
		bindings: newBindings(), stats: stats,
	}
	root := ""
	for i, address := range []string{o.Reference, o.Address} {
		s, err := newSide(ctx, address, root)
		if err != nil {
			return nil, err
		}
		defer s.cleanUp()
		r.sides[reference-i], root = s, s.root
	}
	if found := r.connect(false); found != nil {
		return found, nil
	}
	for range min(frameRoundLength, o.Frames-stats.Frames) {
		if found = r.step(); found != nil || ctx.Err() != nil {
			break
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if found != nil {
		for _, s := range r.sides {
			s.host.check()
		}
	}
	return found, cmp.Or(r.sides[subject].host.err(), r.sides[reference].host.err())
}

// connect connects the client on both sides, to its session or to a new one.
func (r *frameRound) connect(resume bool) *FrameDifference {
	seen := [2]observation{}
	for i, s := range r.sides {
		seen[i] = s.connect(0, resume)
	}
	if c := r.sides[reference].clients[0]; c.err != nil ||
		seen[subject].String() != seen[reference].String() {
		return r.difference("the connection behind the previous frame", nil, seen[subject].String(),
			seen[reference].String())
	}
	if c := r.sides[reference].clients[0]; c.err == nil && c.SessionID == 0 {
		for _, s := range r.sides {
			awaitEnd(s.clients[0])
		}
		return r.connect(false)
	}
	return nil
}

func (r *frameRound) difference(request string, frame []byte, seen, want string) *FrameDifference {
	return &FrameDifference{
		Frame: r.stats.Frames, Request: request, Bytes: frame, Previous: r.previous,
		Subject: seen, Reference: want,
	}
}

// step sends a frame to both servers, and returns the difference of their answers, or nil.
func (r *frameRound) step() *FrameDifference {
	if r.percent(2) {
		return r.handshake()
	}
	request := r.resolve(operation.Random(r.generator))
	request = rewriter{
		path: r.sides[reference].absolute,
		zxid: func(zxid int64) int64 { return zxid },
	}.request(request)
	r.sides[reference].clients[0].assignXid(request)
	frame := operation.AppendRequest(nil, request)
	if mutated := r.percent(75); mutated {
		frame, request = r.mutate(frame), nil
	}
	if reason := listed(r.sides[reference].root, frame); reason != "" {
		r.stats.Listed[reason]++
		return nil
	}
	r.stats.Frames++
	found := r.compareFrame(frame, request)
	r.previous = frame
	return found
}

// compareFrame sends a frame to both servers and compares their answers. The request is nil if the
// frame is mutated.
func (r *frameRound) compareFrame(frame []byte, request *wire.Request) *FrameDifference {
	sentinel := &wire.Request{
		Op: wire.OpExists, Path: r.sides[reference].root + "/none",
		Xid: sentinelXid | int32(r.stats.Frames%sentinelXid),
	}
	seen := r.sides[subject].answers(frame, sentinel)
	if seen.end != "" {
		sentinel = nil // The reference need not answer it before it ends the connection.
	}
	want := r.sides[reference].answers(frame, sentinel)
	if !reflect.DeepEqual(seen, want) {
		return r.difference(r.describe(frame), frame, seen.String(), want.String())
	}
	r.count(&want, request)
	if want.end != "" {
		r.stats.Ended++
		return r.connect(true)
	}
	return nil
}

// count updates the statistics and the bindings.
func (r *frameRound) count(seen *frameAnswers, request *wire.Request) {
	if len(seen.observed) == 0 && seen.end == "" {
		r.stats.Silent++
	}
	for _, o := range seen.observed {
		if o.reply == nil {
			continue
		}
		r.stats.Codes[o.reply.Code]++
		if request != nil && o.reply.Xid == request.Xid {
			r.update(r.relative(request), o.reply)
		}
	}
}

// relative returns a request with paths relative to the root.
func (r *frameRound) relative(request *wire.Request) *wire.Request {
	return rewriter{
		path: r.sides[reference].relative,
		zxid: func(zxid int64) int64 { return zxid },
	}.request(request)
}

// describe describes a frame, as far as it can be decoded.
func (r *frameRound) describe(frame []byte) string {
	request := new(wire.Request)
	err := operation.DecodeRequest(frame, request)
	if errors.Is(err, wire.ErrHeader) {
		return err.Error()
	}
	text := fmt.Sprintf("xid %d, %s", request.Xid, requestText(r.relative(request)))
	if err != nil {
		text += ": " + err.Error()
	}
	return text
}

// sentinelXid is a bit of the xids of the reads behind the frames, and of no other xid.
const sentinelXid = 1 << 30

// frameAnswers is what a server sends after a frame.
type frameAnswers struct {
	observed []observation
	end      string // how the connection ended; "" if it is open
	lastZxid int64  // that the reply to the sentinel shows
}

func (a *frameAnswers) String() string {
	var texts []string
	for _, o := range a.observed {
		texts = append(texts, o.String())
	}
	end := fmt.Sprintf("and the next reply shows zxid %d", a.lastZxid)
	if a.end != "" {
		end = "connection: " + a.end
	}
	return strings.Join(append(texts, end), "; ")
}

// answers sends a frame, and a sentinel behind it unless that is nil, and returns what arrives up
// to the reply to the sentinel, or to the end of the connection.
func (s *side) answers(frame []byte, sentinel *wire.Request) (a frameAnswers) {
	c := s.clients[0]
	c.out = appendFrame(c.out[:0], frame)
	if sentinel != nil {
		c.out = appendFrame(c.out, operation.AppendRequest(nil, sentinel))
	}
	c.write(c.out)
	for {
		message := c.frame()
		if c.err != nil {
			a.end = outcome(c.err)
			// The order of the nodes that end with a session is that of a Java HashSet.
			if len(frame) >= requestHeaderLength && frameOp(frame) == wire.OpCloseSession {
				slices.SortFunc(a.observed, compareEvents)
			}
			return a
		}
		xid, zxid, _, err := wire.ReplyHeader(message)
		if sentinel != nil && err == nil && xid == sentinel.Xid {
			s.zxids[0] = zxid
			a.lastZxid = s.relativeZxid(zxid)
			return a
		}
		a.observed = append(a.observed, s.observeMessage(message, frame))
	}
}

// frameOp returns the type of the request in a frame, which must have a whole header.
func frameOp(frame []byte) wire.Op { return wire.Op(binary.BigEndian.Uint32(frame[4:])) }

func appendFrame(dst, frame []byte) []byte {
	dst, at := wire.BeginFrame(dst)
	return wire.EndFrame(append(dst, frame...), at)
}

// observeMessage decodes a message after a frame: an event or a reply. Of a message that cannot be
// decoded, and of the repeated response to a handshake, only the length is compared.
func (s *side) observeMessage(message, frame []byte) observation {
	opaque := observation{end: fmt.Sprintf("message of %d bytes", len(message))}
	xid, _, _, err := wire.ReplyHeader(message)
	if err != nil || len(frame) < requestHeaderLength {
		return opaque
	}
	if xid == wire.XidEvent {
		event := new(wire.Event)
		if wire.DecodeEvent(message, event) != nil {
			return opaque
		}
		event.Path, event.Zxid = s.relative(event.Path), s.relativeZxid(event.Zxid)
		return observation{event: event}
	}
	op, r := frameOp(frame), new(wire.Reply)
	if op == wire.OpCreateSession || operation.DecodeReply(message, op, r) != nil {
		return opaque
	}
	s.normalize(r)
	return observation{reply: r, length: len(message) - headerLength, op: op}
}
