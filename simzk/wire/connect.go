package wire

// AppendConnectRequest appends a client's first record (proto.ConnectRequest, and a readOnly
// boolean after it if HasReadOnly).
func AppendConnectRequest(dst []byte, r *ConnectRequest) []byte {
	dst = appendInt(dst, r.ProtocolVersion)
	dst = appendLong(dst, r.LastZxidSeen)
	dst = appendInt(dst, r.TimeoutMillis)
	dst = appendLong(dst, r.SessionID)
	dst = appendBuffer(dst, r.Password)
	return appendReadOnly(dst, r.HasReadOnly, r.ReadOnly)
}

// DecodeConnectRequest decodes what [AppendConnectRequest] encodes. The result shares no memory
// with the frame, and what follows the record is ignored. The error is nil or a [BodyError], after
// which r is empty.
func DecodeConnectRequest(frame []byte, r *ConnectRequest) error {
	d := newDecoder(frame)
	*r = ConnectRequest{
		ProtocolVersion: d.int(),
		LastZxidSeen:    d.long(),
		TimeoutMillis:   d.int(),
		SessionID:       d.long(),
		Password:        d.buffer(),
	}
	r.HasReadOnly, r.ReadOnly = d.readOnly()
	if d.err != nil {
		*r = ConnectRequest{}
	}
	return d.bodyError(OpCreateSession)
}

// AppendConnectResponse appends a server's first record (proto.ConnectResponse, and a readOnly
// boolean after it if HasReadOnly).
func AppendConnectResponse(dst []byte, r *ConnectResponse) []byte {
	dst = appendInt(dst, r.ProtocolVersion)
	dst = appendInt(dst, r.TimeoutMillis)
	dst = appendLong(dst, r.SessionID)
	dst = appendBuffer(dst, r.Password)
	return appendReadOnly(dst, r.HasReadOnly, r.ReadOnly)
}

// DecodeConnectResponse decodes what [AppendConnectResponse] encodes. The result shares no memory
// with the frame, and what follows the record is ignored. The error is nil or a [BodyError], after
// which r is empty.
func DecodeConnectResponse(frame []byte, r *ConnectResponse) error {
	d := newDecoder(frame)
	*r = ConnectResponse{
		ProtocolVersion: d.int(),
		TimeoutMillis:   d.int(),
		SessionID:       d.long(),
		Password:        d.buffer(),
	}
	r.HasReadOnly, r.ReadOnly = d.readOnly()
	if d.err != nil {
		*r = ConnectResponse{}
	}
	return d.bodyError(OpCreateSession)
}

// appendReadOnly appends the boolean that came with read-only servers and that zookeeper.jute does
// not show.
func appendReadOnly(dst []byte, has, readOnly bool) []byte {
	if !has {
		return dst
	}
	return appendBool(dst, readOnly)
}

// readOnly decodes the boolean that [appendReadOnly] may have appended.
func (d *decoder) readOnly() (has, readOnly bool) {
	if d.err != nil || len(d.rest) == 0 {
		return false, false
	}
	return true, d.bool()
}
