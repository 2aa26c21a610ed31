package wire

// AppendEvent appends an event: proto.ReplyHeader with [XidEvent], and proto.WatcherEvent.
func AppendEvent(dst []byte, e *Event) []byte {
	dst = appendReplyHeader(dst, XidEvent, e.Zxid, OK)
	dst = appendInt(dst, int32(e.Type))
	dst = appendInt(dst, e.State)
	return appendText(dst, e.Path)
}

// DecodeEvent decodes an event encoded by [AppendEvent]. It ignores the xid and the code: the
// caller distinguishes events from replies with [ReplyHeader]. The result shares no memory with the
// frame.
//
// The error is [ErrHeader] if the header is incomplete. It is a [BodyError] if the record is
// malformed; e then has only its Zxid.
func DecodeEvent(frame []byte, e *Event) error {
	*e = Event{}
	_, zxid, _, err := ReplyHeader(frame)
	if err != nil {
		return err
	}
	d := newDecoder(frame)
	d.take(replyHeaderLength)
	*e = Event{Type: EventType(d.int()), State: d.int(), Path: d.string(), Zxid: zxid}
	if d.err != nil {
		*e = Event{Zxid: zxid}
	}
	return d.bodyError(OpNotification)
}

const replyHeaderLength = 16
