package wire

// AppendRequest appends a request: proto.RequestHeader and the record of its type. A type without a
// record, or an unknown type, has only the header. A multi is encoded even if its operations are
// not allowed in it; servers reject it.
func (c Codecs) AppendRequest(dst []byte, r *Request) []byte {
	dst = appendInt(dst, r.Xid)
	dst = appendInt(dst, int32(r.Op))
	return c.appendRequestBody(dst, r)
}

// DecodeRequest decodes a request as a server does and overwrites all fields of r. Strings of
// invalid UTF-8 are converted by [Text]. The result shares no memory with the frame. Bytes after
// the record are ignored, as servers do. An unknown type is not an error: such a request has only a
// header.
//
// The error is [ErrHeader] if the header is incomplete. It is a [BodyError] if the record is
// malformed; r then has only its Xid and Op.
func (c Codecs) DecodeRequest(frame []byte, r *Request) error {
	d := newDecoder(frame)
	d.server = true
	*r = Request{Xid: d.int(), Op: Op(d.int())}
	if d.err != nil {
		*r = Request{}
		return ErrHeader
	}
	d.requestBody(c, r)
	if d.err != nil {
		*r = Request{Xid: r.Xid, Op: r.Op}
	}
	return d.bodyError(r.Op)
}

func (c Codecs) appendRequestBody(dst []byte, r *Request) []byte {
	for _, field := range c(r.Op).Request {
		switch field {
		case FieldPath:
			dst = appendString(dst, r.Path)
		case FieldData, FieldToken:
			dst = appendBuffer(dst, r.Data)
		case FieldACL:
			dst = appendACL(dst, r.ACL, appendString)
		case FieldFlags:
			dst = appendInt(dst, r.Flags)
		case FieldVersion:
			dst = appendInt(dst, r.Version)
		case FieldWatch:
			dst = appendBool(dst, r.Watch)
		case FieldTTL:
			dst = appendLong(dst, r.TTLMillis)
		case FieldMode:
			dst = appendInt(dst, r.Mode)
		case FieldCredentials:
			dst = appendString(appendInt(dst, r.Type), r.Scheme)
			dst = appendBuffer(dst, r.Data)
		case FieldWatches, FieldAllWatches:
			dst = appendWatches(dst, field, r.Watches)
		case FieldReconfig:
			dst = appendReconfig(dst, r.Reconfig)
		case FieldOperations:
			dst = c.appendOperations(dst, r.Ops)
		default:
			panic("wire: a field of replies in a request")
		}
	}
	return dst
}

func (d *decoder) requestBody(c Codecs, r *Request) {
	for _, field := range c(r.Op).Request {
		switch field {
		case FieldPath:
			r.Path = d.string()
		case FieldData, FieldToken:
			r.Data = d.buffer()
		case FieldACL:
			r.ACL = d.acl()
		case FieldFlags:
			r.Flags = d.int()
		case FieldVersion:
			r.Version = d.int()
		case FieldWatch:
			r.Watch = d.bool()
		case FieldTTL:
			r.TTLMillis = d.long()
		case FieldMode:
			r.Mode = d.int()
		case FieldCredentials:
			r.Type, r.Scheme, r.Data = d.int(), d.string(), d.buffer()
		case FieldWatches, FieldAllWatches:
			r.Watches = d.watches(field)
		case FieldReconfig:
			r.Reconfig = d.reconfig()
		case FieldOperations:
			r.Ops = d.operations(c, r.Op)
		default:
			panic("wire: a field of replies in a request")
		}
	}
}

// appendWatches appends proto.SetWatches or proto.SetWatches2; nil has no watches.
func appendWatches(dst []byte, field Field, w *Watches) []byte {
	if w == nil {
		w = &Watches{}
	}
	dst = appendLong(dst, w.RelativeZxid)
	dst = appendStrings(dst, w.Data)
	dst = appendStrings(dst, w.Exist)
	dst = appendStrings(dst, w.Child)
	if field == FieldAllWatches {
		dst = appendStrings(dst, w.Persistent)
		dst = appendStrings(dst, w.Recursive)
	}
	return dst
}

func (d *decoder) watches(field Field) *Watches {
	w := &Watches{
		RelativeZxid: d.long(), Data: d.watchPaths(), Exist: d.watchPaths(),
		Child: d.watchPaths(),
	}
	if field == FieldAllWatches {
		w.Persistent, w.Recursive = d.watchPaths(), d.watchPaths()
	}
	return w
}

// watchPaths decodes a vector of watches, which must not be null. A server detects a null only when
// it reaches that vector; it has then set the watches of the earlier ones.
func (d *decoder) watchPaths() []string {
	if ahead := *d; ahead.int() == -1 {
		d.fail(ErrNull, 0)
	}
	return d.strings()
}

// appendReconfig appends proto.ReconfigRequest; nil requests no change.
func appendReconfig(dst []byte, r *Reconfig) []byte {
	if r == nil {
		r = &Reconfig{Joining: Null, Leaving: Null, NewMembers: Null}
	}
	dst = appendString(dst, r.Joining)
	dst = appendString(dst, r.Leaving)
	dst = appendString(dst, r.NewMembers)
	return appendLong(dst, r.Version)
}

func (d *decoder) reconfig() *Reconfig {
	return &Reconfig{
		Joining: d.string(), Leaving: d.string(), NewMembers: d.string(), Version: d.long(),
	}
}
