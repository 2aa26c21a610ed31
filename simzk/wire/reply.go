package wire

// AppendReply appends the reply to a request of type op: proto.ReplyHeader and, unless Code is an
// error, the record of the type. The header of a failed multi has the code OK.
//
// The results of a multi must have types that may be part of one, or OpError. Servers answer
// OpCreateContainer and OpCreateTTL as OpCreate2.
func (c Codecs) AppendReply(dst []byte, op Op, r *Reply) []byte {
	dst = appendReplyHeader(dst, r.Xid, r.Zxid, r.Code)
	// A server that fails on an operation of a multi sends the part of the reply that it has built.
	if r.Code != OK && (op != OpMultiRead && op != OpMulti || r.Results == nil) {
		return dst
	}
	return c.appendReplyBody(dst, op, r)
}

// DecodeReply decodes the reply to a request of type op and overwrites all fields of r. The result
// shares no memory with the frame. Bytes after the record are ignored, as clients do.
//
// The error is [ErrHeader] if the header is incomplete. It is a [BodyError] if the record is
// malformed; r then has only its Xid, Zxid and Code.
func (c Codecs) DecodeReply(frame []byte, op Op, r *Reply) error {
	d := newDecoder(frame)
	*r = Reply{Xid: d.int(), Zxid: d.long(), Code: Code(d.int())}
	if d.err != nil {
		*r = Reply{}
		return ErrHeader
	}
	if r.Code != OK {
		return nil
	}
	d.replyBody(c, op, r)
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

func (c Codecs) appendReplyBody(dst []byte, op Op, r *Reply) []byte {
	for _, field := range c(op).Reply {
		switch field {
		case FieldPath:
			dst = appendText(dst, r.Path)
		case FieldData, FieldToken:
			dst = appendBuffer(dst, r.Data)
		case FieldACL:
			dst = appendACL(dst, r.ACL, appendText)
		case FieldStat:
			dst = appendStat(dst, &r.Stat)
		case FieldChildren:
			dst = appendStrings(dst, r.Children)
		case FieldNumber:
			dst = appendInt(dst, r.Number)
		case FieldIdentities:
			dst = appendIdentities(dst, r.Identities)
		case FieldResults:
			dst = c.appendResults(dst, r.Results)
		case FieldOK:
			dst = appendInt(dst, int32(OK))
		default:
			panic("wire: a field of requests in a reply")
		}
	}
	return dst
}

func (d *decoder) replyBody(c Codecs, op Op, r *Reply) {
	for _, field := range c(op).Reply {
		switch field {
		case FieldPath:
			r.Path = d.string()
		case FieldData, FieldToken:
			r.Data = d.buffer()
		case FieldACL:
			r.ACL = d.acl()
		case FieldStat:
			r.Stat = d.stat()
		case FieldChildren:
			r.Children = d.strings()
		case FieldNumber:
			r.Number = d.int()
		case FieldIdentities:
			r.Identities = d.identities()
		case FieldResults:
			r.Results = d.results(c)
		case FieldOK:
			d.int()
		default:
			panic("wire: a field of requests in a reply")
		}
	}
}
