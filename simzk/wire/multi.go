package wire

// A multiHeader (proto.MultiHeader) precedes each operation of a multi, each result, and the end.
type multiHeader struct {
	op   Op
	done bool // nothing follows
	code Code
}

func (h multiHeader) append(dst []byte) []byte {
	dst = appendInt(dst, int32(h.op))
	dst = appendBool(dst, h.done)
	return appendInt(dst, int32(h.code))
}

// noCode is what a multiHeader has in place of a code where there is no result.
const noCode Code = -1

// endOfMulti ends the operations of a multi, and their results.
var endOfMulti = multiHeader{op: OpError, done: true, code: noCode}

func (d *decoder) multiHeader() multiHeader {
	return multiHeader{op: Op(d.int()), done: d.bool(), code: Code(d.int())}
}

// appendOperations appends a multi's operations (MultiOperationRecord).
func appendOperations(dst []byte, ops []Request) []byte {
	for i := range ops {
		dst = multiHeader{op: ops[i].Op, code: noCode}.append(dst)
		dst = appendRequestBody(dst, &ops[i])
	}
	return endOfMulti.append(dst)
}

// operations decodes the operations of a multi of that type.
func (d *decoder) operations(multi Op) []Request {
	var ops []Request
	for {
		before := len(d.rest)
		h := d.multiHeader()
		if d.err != nil || h.done {
			return ops
		}
		// That no multi holds a multi also bounds the depth.
		if !holds(multi, h.op) || len(ops) > 0 && reads(h.op) != reads(ops[0].Op) {
			d.fail(ErrOperation, before-len(d.rest))
			return nil
		}
		ops = append(double(ops), Request{Op: h.op})
		d.requestBody(&ops[len(ops)-1])
	}
}

// double doubles the capacity of a full slice. In smaller steps, as append grows a long slice, a
// frame that holds nothing but operations would cost a large multiple of its length.
func double[T any](s []T) []T {
	if len(s) < cap(s) {
		return s
	}
	return append(make([]T, 0, max(2*len(s), 4)), s...)
}

// holds says whether a request of type multi may hold an operation of type op.
func holds(multi, op Op) bool {
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpSetData, OpCheck:
		return true // A server reads a multiRead of writes too, and refuses it later.
	}
	return multi == OpMultiRead && reads(op)
}

// reads tells whether an operation reads. A multi holds operations of one sort.
func reads(op Op) bool { return op == OpGetData || op == OpGetChildren }

// appendResults appends the results of a multi (MultiResponse).
func appendResults(dst []byte, results []Result) []byte {
	for i := range results {
		dst = appendResult(dst, &results[i])
	}
	return endOfMulti.append(dst)
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
		results = append(double(results), Result{Op: h.op})
		if !d.result(&results[len(results)-1]) {
			d.fail(ErrOperation, before-len(d.rest))
			return nil
		}
	}
}

// result decodes what follows a result's header. It returns false if there is no such result.
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
