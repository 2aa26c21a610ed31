package simredis

import "strings"

// opens reports whether a command only opens a connection. It is answered at once, without a step.
func opens(command []string) bool {
	switch strings.ToUpper(command[0]) {
	case "HELLO", "AUTH", "CLIENT", "SELECT", "READONLY":
		return true
	}
	return false
}

// creates reports whether a command creates a key unless it exists, as locks do.
func creates(command []string) bool {
	switch strings.ToUpper(command[0]) {
	case "SETNX":
		return true
	case "SET":
		for _, option := range command[1:] {
			if strings.EqualFold(option, "NX") {
				return true
			}
		}
	}
	return false
}

// blocks reports whether a command can wait in the server, or makes the server send messages that
// are no replies. Such commands are refused.
func blocks(command []string) bool {
	switch strings.ToUpper(command[0]) {
	case "BLPOP", "BRPOP", "BRPOPLPUSH", "BLMOVE", "BLMPOP", "BZPOPMIN", "BZPOPMAX", "BZMPOP",
		"XREAD", "XREADGROUP", "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "WAIT", "WAITAOF",
		"MONITOR":
		return true
	}
	return false
}

// transaction reports whether a command begins or ends a transaction.
func transaction(command []string) bool {
	switch strings.ToUpper(command[0]) {
	case "MULTI", "EXEC", "DISCARD", "WATCH", "UNWATCH":
		return true
	}
	return false
}

// runsScript reports whether a command, in capitals, runs a script.
func runsScript(name string) bool { return name == "EVAL" || name == "EVALSHA" }

// rewrites returns the keys that a command deletes or overwrites if they exist.
func rewrites(name string, arguments []string) (keys []rewrite) {
	switch name {
	case "DEL", "UNLINK":
		for _, k := range arguments {
			keys = append(keys, rewrite{key: k, deleted: true})
		}
		return keys
	case "GETDEL":
		if len(arguments) > 0 {
			keys = append(keys, rewrite{key: arguments[0], deleted: true})
		}
	case "MSET":
		for i := 0; i < len(arguments); i += 2 {
			keys = append(keys, rewrite{key: arguments[i]})
		}
	case "SET", "SETEX", "PSETEX", "GETSET":
		if len(arguments) > 0 && !creates(append([]string{name}, arguments...)) {
			keys = append(keys, rewrite{key: arguments[0]})
		}
	}
	return keys
}

// resets reports whether a command that is not read-only, its name in capitals, can leave data as
// they are by setting the same again.
func resets(name string, arguments []string) bool {
	command := append([]string{name}, arguments...)
	switch name {
	case "DEL", "UNLINK", "SCRIPT":
		return false
	}
	return !opens(command) && !transaction(command) && !runsScript(name) && !creates(command)
}

// describe returns the command in one line, for reports: a script by its first word.
func describe(command []string) string {
	words := append([]string(nil), command...)
	words[0] = strings.ToUpper(words[0])
	if len(words) > 1 && runsScript(words[0]) {
		words[1] = "script"
	}
	return strings.Join(words, " ")
}

// describeReply returns a reply in one line, for reports.
func describeReply(reply []byte) string {
	text := strings.TrimSuffix(string(reply), "\r\n")
	switch {
	case text == "$-1", text == "*-1", text == "_":
		return "nil"
	case text == "":
		return "nothing"
	case text[0] == '+', text[0] == ':':
		return text[1:]
	case text[0] == '-':
		return "error " + text[1:]
	case text[0] == '$':
		if _, value, ok := strings.Cut(text, "\r\n"); ok {
			return value
		}
	}
	return strings.ReplaceAll(text, "\r\n", " ")
}
