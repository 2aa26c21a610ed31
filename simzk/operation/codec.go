package operation

import "github.com/interlock-sim/interlock/simzk/wire"

func codecOf(op wire.Op) *wire.Codec { return &Of(op).Codec }

// AppendRequest appends a request; see [wire.Codecs.AppendRequest].
func AppendRequest(dst []byte, r *wire.Request) []byte {
	return wire.Codecs(codecOf).AppendRequest(dst, r)
}

// DecodeRequest decodes a request; see [wire.Codecs.DecodeRequest].
func DecodeRequest(frame []byte, r *wire.Request) error {
	return wire.Codecs(codecOf).DecodeRequest(frame, r)
}

// AppendReply appends the reply to a request of type op; see [wire.Codecs.AppendReply].
func AppendReply(dst []byte, op wire.Op, r *wire.Reply) []byte {
	return wire.Codecs(codecOf).AppendReply(dst, op, r)
}

// DecodeReply decodes the reply to a request of type op; see [wire.Codecs.DecodeReply].
func DecodeReply(frame []byte, op wire.Op, r *wire.Reply) error {
	return wire.Codecs(codecOf).DecodeReply(frame, op, r)
}

// pathRequest is the record of requests that have a path only.
var pathRequest = []wire.Field{wire.FieldPath}
