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
func appendOperations(dst []byte, ops []Request) []byte {
	for i := range ops {
		dst = multiHeader{op: ops[i].Op, code: absentCode}.append(dst)
		dst = appendRequestBody(dst, &ops[i])
	}
	return multiEnd.append(dst)
}

// operations decodes the operations of a request of type multi.
func (d *decoder) operations(multi Op) []Request {
	var ops []Request
	for {
		before := len(d.rest)
		h := d.multiHeader()
		if d.err != nil || h.done {
			return ops
		}
		// A multi never contains a multi, which also bounds the recursion.
		if !allowedInMulti(multi, h.op) || len(ops) > 0 && isRead(h.op) != isRead(ops[0].Op) {
			d.fail(ErrOperation, before-len(d.rest))
			return nil
		}
		ops = append(growDouble(ops), Request{Op: h.op})
		d.requestBody(&ops[len(ops)-1])
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

// allowedInMulti reports whether a request of type multi may contain an operation of type op.
func allowedInMulti(multi, op Op) bool {
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpSetData, OpCheck:
		return true // A server also decodes a multiRead of writes; it rejects it later.
	}
	return multi == OpMultiRead && isRead(op)
}

// isRead reports whether an operation is a read. The operations of a multi are all reads or all
// writes.
func isRead(op Op) bool { return op == OpGetData || op == OpGetChildren }

// appendResults appends the results of a multi (MultiResponse).
func appendResults(dst []byte, results []Result) []byte {
	for i := range results {
		dst = appendResult(dst, &results[i])
	}
	return multiEnd.append(dst)
}

func appendResult(dst []byte, r *Result) []byte {
	h := multiHeader{op: r.Op}
	if r.Op == OpError {
		h.code = r.Code
	}
	dst = h.append(dst)
	switch r.Op {
	case OpCreate:
		return appendString(dst, r.Path)
	case OpCreate2, OpCreateContainer, OpCreateTTL:
		return appendStat(appendString(dst, r.Path), &r.Stat)
	case OpSetData:
		return appendStat(dst, &r.Stat)
	case OpGetData:
		return appendStat(appendBuffer(dst, r.Data), &r.Stat)
	case OpGetChildren:
		return appendStrings(dst, r.Children)
	case OpError:
		return appendInt(dst, int32(r.Code))
	}
	return dst
}

// results decodes the results of a multi.
func (d *decoder) results() []Result {
	var results []Result
	for {
		before := len(d.rest)
		h := d.multiHeader()
		if d.err != nil || h.done {
			return results
		}
		results = append(growDouble(results), Result{Op: h.op})
		if !d.result(&results[len(results)-1]) {
			d.fail(ErrOperation, before-len(d.rest))
			return nil
		}
	}
}

// result decodes the body of a result. It returns false if the type is unknown.
func (d *decoder) result(r *Result) bool {
	switch r.Op {
	case OpCreate:
		r.Path = d.string()
	case OpCreate2, OpCreateContainer, OpCreateTTL:
		r.Path, r.Stat = d.string(), d.stat()
	case OpSetData:
		r.Stat = d.stat()
	case OpDelete, OpCheck:
	case OpGetData:
		r.Data, r.Stat = d.buffer(), d.stat()
	case OpGetChildren:
		r.Children = d.strings()
	case OpError:
		r.Code = Code(d.int())
	default:
		return false
	}
	return true
}
