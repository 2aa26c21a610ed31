package wire

// AppendConnectRequest appends a client's first record: proto.ConnectRequest, followed by the
// readOnly boolean if HasReadOnly.
func AppendConnectRequest(dst []byte, r *ConnectRequest) []byte {
	dst = appendInt(dst, r.ProtocolVersion)
	dst = appendLong(dst, r.LastZxidSeen)
	dst = appendInt(dst, r.TimeoutMillis)
	dst = appendLong(dst, r.SessionID)
	dst = appendBuffer(dst, r.Password)
	return appendReadOnly(dst, r.HasReadOnly, r.ReadOnly)
}

// DecodeConnectRequest decodes a record encoded by [AppendConnectRequest]. The result shares no
// memory with the frame. Bytes after the record are ignored. The error is nil or a [BodyError],
// which leaves r empty.
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

// AppendConnectResponse appends a server's first record: proto.ConnectResponse, followed by the
// readOnly boolean if HasReadOnly.
func AppendConnectResponse(dst []byte, r *ConnectResponse) []byte {
	dst = appendInt(dst, r.ProtocolVersion)
	dst = appendInt(dst, r.TimeoutMillis)
	dst = appendLong(dst, r.SessionID)
	dst = appendBuffer(dst, r.Password)
	return appendReadOnly(dst, r.HasReadOnly, r.ReadOnly)
}

// DecodeConnectResponse decodes a record encoded by [AppendConnectResponse]. The result shares no
// memory with the frame. Bytes after the record are ignored. The error is nil or a [BodyError],
// which leaves r empty.
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

// appendReadOnly appends the boolean that came with read-only servers; zookeeper.jute omits it.
func appendReadOnly(dst []byte, has, readOnly bool) []byte {
	if !has {
		return dst
	}
	return appendBool(dst, readOnly)
}

// readOnly decodes the optional boolean of [appendReadOnly].
func (d *decoder) readOnly() (has, readOnly bool) {
	if d.err != nil || len(d.rest) == 0 {
		return false, false
	}
	return true, d.bool()
}
