package wire

// A multiHeader (proto.MultiHeader) precedes each operation and each result of a multi, and ends
// it.
type multiHeader struct {
	op   Op
	done bool // this header is the end
	code Code
}

func (h multiHeader) append(dst []byte) []byte {
	dst = appendInt(dst, int32(h.op))
	dst = appendBool(dst, h.done)
	return appendInt(dst, int32(h.code))
}

// absentCode is the code in a multiHeader without a result.
const absentCode Code = -1

// multiEnd terminates the operations or results of a multi.
var multiEnd = multiHeader{op: OpError, done: true, code: absentCode}

func (d *decoder) multiHeader() multiHeader {
	return multiHeader{op: Op(d.int()), done: d.bool(), code: Code(d.int())}
}

// appendOperations appends a multi's operations (MultiOperationRecord).
func (c Codecs) appendOperations(dst []byte, ops []Request) []byte {
	for i := range ops {
		dst = multiHeader{op: ops[i].Op, code: absentCode}.append(dst)
		dst = c.appendRequestBody(dst, &ops[i])
	}
	return multiEnd.append(dst)
}

// operations decodes the operations of a request of type multi.
func (d *decoder) operations(c Codecs, multi Op) []Request {
	var ops []Request
	for {
		before := len(d.rest)
		h := d.multiHeader()
		if d.err != nil || h.done {
			return ops
		}
		// A multi never contains a multi, which also bounds the recursion.
		kind := c(h.op).Multi
		if !kind.allowedIn(multi) || len(ops) > 0 && kind != c(ops[0].Op).Multi {
			d.fail(ErrOperation, before-len(d.rest))
			return nil
		}
		ops = append(growDouble(ops), Request{Op: h.op})
		d.requestBody(c, &ops[len(ops)-1])
	}
}

// growDouble doubles the capacity of a full slice. Smaller steps, as append uses for long slices,
// would make a frame of many operations cost a large multiple of its length.
func growDouble[T any](s []T) []T {
	if len(s) < cap(s) {
		return s
	}
	return append(make([]T, 0, max(2*len(s), 4)), s...)
}

// allowedIn reports whether a request of type multi may contain operations of this kind. A server
// also decodes a multiRead of writes; it rejects it later.
func (k MultiKind) allowedIn(multi Op) bool {
	return k == WriteInMulti || k == ReadInMulti && multi == OpMultiRead
}

// appendResults appends the results of a multi (MultiResponse).
func (c Codecs) appendResults(dst []byte, results []Result) []byte {
	for i := range results {
		dst = c.appendResult(dst, &results[i])
	}
	return multiEnd.append(dst)
}

func (c Codecs) appendResult(dst []byte, r *Result) []byte {
	h := multiHeader{op: r.Op}
	if r.Op == OpError {
		h.code = r.Code
		return appendInt(h.append(dst), int32(r.Code))
	}
	dst = h.append(dst)
	for _, field := range c(r.Op).Result {
		switch field {
		case FieldPath:
			dst = appendString(dst, r.Path)
		case FieldData:
			dst = appendBuffer(dst, r.Data)
		case FieldStat:
			dst = appendStat(dst, &r.Stat)
		case FieldChildren:
			dst = appendStrings(dst, r.Children)
		default:
			panic("wire: a field that results do not have")
		}
	}
	return dst
}

// results decodes the results of a multi.
func (d *decoder) results(c Codecs) []Result {
	var results []Result
	for {
		before := len(d.rest)
		h := d.multiHeader()
		if d.err != nil || h.done {
			return results
		}
		results = append(growDouble(results), Result{Op: h.op})
		if h.op != OpError && c(h.op).Multi == NotInMulti {
			d.fail(ErrOperation, before-len(d.rest))
			return nil
		}
		d.result(c, &results[len(results)-1])
	}
}

// result decodes the body of a result.
func (d *decoder) result(c Codecs, r *Result) {
	if r.Op == OpError {
		r.Code = Code(d.int())
		return
	}
	for _, field := range c(r.Op).Result {
		switch field {
		case FieldPath:
			r.Path = d.string()
		case FieldData:
			r.Data = d.buffer()
		case FieldStat:
			r.Stat = d.stat()
		case FieldChildren:
			r.Children = d.strings()
		default:
			panic("wire: a field that results do not have")
		}
	}
}
