package main

import (
	"encoding/binary"
	"io"
	"net"
	"time"
)

// endServerSession ends a session as an operator does: it resumes the session on a connection of
// its own, and closes it there. It returns nil if the session has ended before.
func endServerSession(server string, session sessionIdentity) error {
	conn, err := net.DialTimeout("tcp", server, time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}
	// A ConnectRequest: protocol version, last zxid seen, timeout, session, password, read-only.
	connect := make([]byte, 0, 49)
	connect = binary.BigEndian.AppendUint32(connect, 45)
	connect = binary.BigEndian.AppendUint32(connect, 0)
	connect = binary.BigEndian.AppendUint64(connect, 0)
	connect = binary.BigEndian.AppendUint32(connect, uint32(sessionTimeout.Milliseconds()))
	connect = binary.BigEndian.AppendUint64(connect, uint64(session.id))
	connect = binary.BigEndian.AppendUint32(connect, uint32(len(session.password)))
	connect = append(connect, session.password[:]...)
	connect = append(connect, 0)
	closeSession := int32(-11)
	request := binary.BigEndian.AppendUint32(nil, 8)
	request = binary.BigEndian.AppendUint32(request, 1) // xid
	request = binary.BigEndian.AppendUint32(request, uint32(closeSession))
	if _, err := conn.Write(append(connect, request...)); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, conn) // The server closes the connection.
	return err
}
