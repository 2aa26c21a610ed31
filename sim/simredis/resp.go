package simredis

import (
	"bytes"
	"errors"
	"strconv"
)

// errProtocol reports bytes that no Redis client sends.
var errProtocol = errors.New("simredis: the client sent no array of bulk strings")

// parseCommand returns the first command in the buffer and the rest of the buffer. Clients send a
// command as an array of bulk strings. The command is nil if the buffer does not hold all of it.
func parseCommand(buffer []byte) (command []string, rest []byte, err error) {
	count, rest, ok, err := parseLength(buffer, '*')
	if err != nil || !ok {
		return nil, buffer, err
	}
	command = make([]string, 0, count)
	for range count {
		var length int
		length, rest, ok, err = parseLength(rest, '$')
		if err != nil || !ok || len(rest) < length+2 {
			return nil, buffer, err
		}
		command = append(command, string(rest[:length]))
		rest = rest[length+2:]
	}
	return command, rest, nil
}

// lengthMax bounds the lengths in a command.
const lengthMax = 1 << 20

// parseLength parses a line with a number behind the prefix. It returns false if the buffer does
// not hold all of the line.
func parseLength(buffer []byte, prefix byte) (n int, rest []byte, ok bool, err error) {
	line, rest, ok := bytes.Cut(buffer, []byte("\r\n"))
	if !ok {
		return 0, buffer, false, nil
	}
	if len(line) == 0 || line[0] != prefix {
		return 0, buffer, false, errProtocol
	}
	n, err = strconv.Atoi(string(line[1:]))
	if err != nil || n < 0 || n > lengthMax {
		return 0, buffer, false, errProtocol
	}
	return n, rest, true, nil
}
