package wire

// AppendReply appends the reply to a request of type op: proto.ReplyHeader and, unless Code is an
// error, the record of the type. The header of a failed multi has the code OK.
//
// The results of a multi must have types that [Result] has fields for. Servers send OpCreate,
// OpCreate2, OpDelete, OpSetData, OpCheck, OpGetData, OpGetChildren and OpError; they answer
// OpCreateContainer and OpCreateTTL as OpCreate2.
func AppendReply(dst []byte, op Op, r *Reply) []byte {
	dst = appendReplyHeader(dst, r.Xid, r.Zxid, r.Code)
	// A server that fails on an operation of a multi sends the part of the reply that it has built.
	if r.Code != OK && (op != OpMultiRead && op != OpMulti || r.Results == nil) {
		return dst
	}
	return appendReplyBody(dst, op, r)
}

// DecodeReply decodes the reply to a request of type op and overwrites all fields of r. The result
// shares no memory with the frame. Bytes after the record are ignored, as clients do.
//
// The error is [ErrHeader] if the header is incomplete. It is a [BodyError] if the record is
// malformed; r then has only its Xid, Zxid and Code.
func DecodeReply(frame []byte, op Op, r *Reply) error {
	d := newDecoder(frame)
	*r = Reply{Xid: d.int(), Zxid: d.long(), Code: Code(d.int())}
	if d.err != nil {
		*r = Reply{}
		return ErrHeader
	}
	if r.Code != OK {
		return nil
	}
	d.replyBody(op, r)
	if d.err != nil {
		*r = Reply{Xid: r.Xid, Zxid: r.Zxid, Code: r.Code}
	}
	return d.bodyError(op)
}

// ReplyHeader decodes the header of a reply or event; the xid of an event is [XidEvent]. A client
// needs the xid to find the request that determines the type of the record. The error is nil or
// [ErrHeader].
func ReplyHeader(frame []byte) (xid int32, zxid int64, code Code, err error) {
	d := newDecoder(frame)
	xid, zxid, code = d.int(), d.long(), Code(d.int())
	if d.err != nil {
		return 0, 0, OK, ErrHeader
	}
	return xid, zxid, code, nil
}

func appendReplyHeader(dst []byte, xid int32, zxid int64, code Code) []byte {
	dst = appendInt(dst, xid)
	dst = appendLong(dst, zxid)
	return appendInt(dst, int32(code))
}

func appendReplyBody(dst []byte, op Op, r *Reply) []byte {
	switch op {
	case OpCreate, OpSync:
		return appendText(dst, r.Path)
	case OpCreate2, OpCreateContainer, OpCreateTTL:
		return appendStat(appendText(dst, r.Path), &r.Stat)
	case OpExists, OpSetData, OpSetACL, OpCheck:
		return appendStat(dst, &r.Stat)
	case OpGetData, OpReconfig:
		return appendStat(appendBuffer(dst, r.Data), &r.Stat)
	case OpGetACL:
		return appendStat(appendACL(dst, r.ACL, appendText), &r.Stat)
	case OpGetChildren, OpGetEphemerals:
		return appendStrings(dst, r.Children)
	case OpGetChildren2:
		return appendStat(appendStrings(dst, r.Children), &r.Stat)
	case OpGetAllChildrenNumber:
		return appendInt(dst, r.Number)
	case OpMulti, OpMultiRead:
		return appendResults(dst, r.Results)
	case OpAddWatch:
		// The record is proto.ErrorResponse, but servers always send OK in it.
		return appendInt(dst, int32(OK))
	case OpWhoAmI:
		return appendIdentities(dst, r.Identities)
	case OpSASL:
		return appendBuffer(dst, r.Data)
	}
	return dst
}

func (d *decoder) replyBody(op Op, r *Reply) {
	switch op {
	case OpCreate, OpSync:
		r.Path = d.string()
	case OpCreate2, OpCreateContainer, OpCreateTTL:
		r.Path, r.Stat = d.string(), d.stat()
	case OpExists, OpSetData, OpSetACL, OpCheck:
		r.Stat = d.stat()
	case OpGetData, OpReconfig:
		r.Data, r.Stat = d.buffer(), d.stat()
	case OpGetACL:
		r.ACL, r.Stat = d.acl(), d.stat()
	case OpGetChildren, OpGetEphemerals:
		r.Children = d.strings()
	case OpGetChildren2:
		r.Children, r.Stat = d.strings(), d.stat()
	case OpGetAllChildrenNumber:
		r.Number = d.int()
	case OpMulti, OpMultiRead:
		r.Results = d.results()
	case OpAddWatch:
		d.int()
	case OpWhoAmI:
		r.Identities = d.identities()
	case OpSASL:
		r.Data = d.buffer()
	}
}
