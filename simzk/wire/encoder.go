package wire

import "encoding/binary"

func appendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func appendInt(dst []byte, v int32) []byte {
	return binary.BigEndian.AppendUint32(dst, uint32(v))
}

func appendLong(dst []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(v))
}

// appendBuffer appends a buffer; nil is null, whose length is -1.
func appendBuffer(dst, v []byte) []byte {
	if v == nil {
		return appendInt(dst, -1)
	}
	return append(appendInt(dst, int32(len(v))), v...)
}

func appendString(dst []byte, v string) []byte {
	if v == Null {
		return appendInt(dst, -1)
	}
	return append(appendInt(dst, int32(len(v))), v...)
}

// appendStrings appends a vector of strings; nil is encoded as empty, because no server or client
// sends a null vector.
func appendStrings(dst []byte, v []string) []byte {
	dst = appendInt(dst, int32(len(v)))
	for _, s := range v {
		dst = appendString(dst, s)
	}
	return dst
}

// appendACL appends a vector of data.ACL; appendStr encodes its strings; nil is encoded as empty.
func appendACL(dst []byte, v []ACL, appendStr func([]byte, string) []byte) []byte {
	dst = appendInt(dst, int32(len(v)))
	for i := range v {
		dst = appendInt(dst, v[i].Perms)
		dst = appendStr(dst, v[i].Scheme)
		dst = appendStr(dst, v[i].ID)
	}
	return dst
}

// appendIdentities appends a vector of data.ClientInfo; nil is encoded as empty.
func appendIdentities(dst []byte, v []Identity) []byte {
	dst = appendInt(dst, int32(len(v)))
	for i := range v {
		dst = appendText(dst, v[i].Scheme)
		dst = appendText(dst, v[i].ID)
	}
	return dst
}

// appendStat appends data.Stat.
func appendStat(dst []byte, s *Stat) []byte {
	dst = appendLong(dst, s.Czxid)
	dst = appendLong(dst, s.Mzxid)
	dst = appendLong(dst, s.Ctime)
	dst = appendLong(dst, s.Mtime)
	dst = appendInt(dst, s.Version)
	dst = appendInt(dst, s.Cversion)
	dst = appendInt(dst, s.Aversion)
	dst = appendLong(dst, s.EphemeralOwner)
	dst = appendInt(dst, s.DataLength)
	dst = appendInt(dst, s.NumChildren)
	return appendLong(dst, s.Pzxid)
}
