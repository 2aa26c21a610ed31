package wire

// AppendEvent appends an event: proto.ReplyHeader with [XidEvent], and proto.WatcherEvent.
func AppendEvent(dst []byte, e *Event) []byte {
	dst = appendReplyHeader(dst, XidEvent, e.Zxid, OK)
	dst = appendInt(dst, int32(e.Type))
	dst = appendInt(dst, e.State)
	return appendText(dst, e.Path)
}

// DecodeEvent decodes what [AppendEvent] encodes. [ReplyHeader] tells an event from a reply; here
// its xid and its code are not looked at. The result shares no memory with the frame.
//
// The error is [ErrHeader] if there is no whole header. It is a [BodyError] if the record is bad,
// and e is then empty except for its Zxid.
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
