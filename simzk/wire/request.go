package wire

// AppendRequest appends a request: proto.RequestHeader and the record of its type. A type without a
// record, or an unknown type, has only the header. A multi is encoded even if its operations are
// not allowed in it; servers reject it.
func AppendRequest(dst []byte, r *Request) []byte {
	dst = appendInt(dst, r.Xid)
	dst = appendInt(dst, int32(r.Op))
	return appendRequestBody(dst, r)
}

// DecodeRequest decodes a request as a server does and overwrites all fields of r. Strings of
// invalid UTF-8 are converted by [Text]. The result shares no memory with the frame. Bytes after
// the record are ignored, as servers do. An unknown type is not an error: such a request has only a
// header.
//
// The error is [ErrHeader] if the header is incomplete. It is a [BodyError] if the record is
// malformed; r then has only its Xid and Op.
func DecodeRequest(frame []byte, r *Request) error {
	d := newDecoder(frame)
	d.server = true
	*r = Request{Xid: d.int(), Op: Op(d.int())}
	if d.err != nil {
		*r = Request{}
		return ErrHeader
	}
	d.requestBody(r)
	if d.err != nil {
		*r = Request{Xid: r.Xid, Op: r.Op}
	}
	return d.bodyError(r.Op)
}

func appendRequestBody(dst []byte, r *Request) []byte {
	switch r.Op {
	case OpCreate, OpCreate2, OpCreateContainer:
		return appendCreate(dst, r)
	case OpCreateTTL:
		return appendLong(appendCreate(dst, r), r.TTLMillis)
	case OpDelete, OpCheck:
		return appendInt(appendString(dst, r.Path), r.Version)
	case OpSetData:
		dst = appendBuffer(appendString(dst, r.Path), r.Data)
		return appendInt(dst, r.Version)
	case OpSetACL:
		dst = appendACL(appendString(dst, r.Path), r.ACL, appendString)
		return appendInt(dst, r.Version)
	case OpExists, OpGetData, OpGetChildren, OpGetChildren2:
		return appendBool(appendString(dst, r.Path), r.Watch)
	case OpGetACL, OpSync, OpGetEphemerals, OpGetAllChildrenNumber:
		return appendString(dst, r.Path)
	case OpAddWatch, OpRemoveWatches, OpCheckWatches:
		return appendInt(appendString(dst, r.Path), r.Mode)
	case OpSetWatches, OpSetWatches2:
		return appendWatches(dst, r.Op, r.Watches)
	case OpMulti, OpMultiRead:
		return appendOperations(dst, r.Ops)
	case OpReconfig:
		return appendReconfig(dst, r.Reconfig)
	case OpAuth:
		dst = appendString(appendInt(dst, r.Type), r.Scheme)
		return appendBuffer(dst, r.Data)
	case OpSASL:
		return appendBuffer(dst, r.Data)
	}
	return dst
}

func (d *decoder) requestBody(r *Request) {
	switch r.Op {
	case OpCreate, OpCreate2, OpCreateContainer:
		d.create(r)
	case OpCreateTTL:
		d.create(r)
		r.TTLMillis = d.long()
	case OpDelete, OpCheck:
		r.Path, r.Version = d.string(), d.int()
	case OpSetData:
		r.Path, r.Data, r.Version = d.string(), d.buffer(), d.int()
	case OpSetACL:
		r.Path, r.ACL, r.Version = d.string(), d.acl(), d.int()
	case OpExists, OpGetData, OpGetChildren, OpGetChildren2:
		r.Path, r.Watch = d.string(), d.bool()
	case OpGetACL, OpSync, OpGetEphemerals, OpGetAllChildrenNumber:
		r.Path = d.string()
	case OpAddWatch, OpRemoveWatches, OpCheckWatches:
		r.Path, r.Mode = d.string(), d.int()
	case OpSetWatches, OpSetWatches2:
		r.Watches = d.watches(r.Op)
	case OpMulti, OpMultiRead:
		r.Ops = d.operations(r.Op)
	case OpReconfig:
		r.Reconfig = &Reconfig{
			Joining: d.string(), Leaving: d.string(), NewMembers: d.string(),
			Version: d.long(),
		}
	case OpAuth:
		r.Type, r.Scheme, r.Data = d.int(), d.string(), d.buffer()
	case OpSASL:
		r.Data = d.buffer()
	}
}

// appendCreate appends proto.CreateRequest, which is also the start of proto.CreateTTLRequest.
func appendCreate(dst []byte, r *Request) []byte {
	dst = appendString(dst, r.Path)
	dst = appendBuffer(dst, r.Data)
	dst = appendACL(dst, r.ACL, appendString)
	return appendInt(dst, r.Flags)
}

func (d *decoder) create(r *Request) {
	r.Path, r.Data, r.ACL, r.Flags = d.string(), d.buffer(), d.acl(), d.int()
}

// appendWatches appends proto.SetWatches or proto.SetWatches2; nil has no watches.
func appendWatches(dst []byte, op Op, w *Watches) []byte {
	if w == nil {
		w = &Watches{}
	}
	dst = appendLong(dst, w.RelativeZxid)
	dst = appendStrings(dst, w.Data)
	dst = appendStrings(dst, w.Exist)
	dst = appendStrings(dst, w.Child)
	if op == OpSetWatches2 {
		dst = appendStrings(dst, w.Persistent)
		dst = appendStrings(dst, w.Recursive)
	}
	return dst
}

func (d *decoder) watches(op Op) *Watches {
	w := &Watches{
		RelativeZxid: d.long(), Data: d.watchPaths(), Exist: d.watchPaths(),
		Child: d.watchPaths(),
	}
	if op == OpSetWatches2 {
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
