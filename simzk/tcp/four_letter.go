package tcp

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"time"
)

// A fourLetterWord writes what a member answers to a four-letter fourLetterWord. The caller holds
// the server's lock.
type fourLetterWord func(w *strings.Builder, m *member)

// words are the four-letter words. All are answered, while a real server's configuration has to
// name each (4lw.commands.whitelist). The answers have the form of a real server's.
var fourLetterWords = map[string]fourLetterWord{
	"ruok": imok,
	"srvr": writeServer,
	"stat": writeServerAndClients,
	"mntr": writeMonitor,
	"conf": writeConfiguration,
	"envi": writeEnvironment,
	"dirs": writeDirectories,
	"isro": writeReadOnly,
	"cons": writeConnections,
	"crst": resetConnections,
	"srst": resetStatistics,
	"dump": writeDump,
	"wchs": writeWatchSummary,
	"wchc": writeWatchesByClient,
	"wchp": writeWatchesByPath,
	"gtmk": writeTraceMask,
	"hash": writeDigests,
}

// setTraceMask is the one word with an argument, of eight bytes.
const setTraceMask = "stmk"

// whileDown are the answers of a member that serves nobody to the words that it does not answer
// with notServing.
var whileDown = map[string]fourLetterWord{
	"ruok": imok,
	"envi": writeEnvironment,
	"gtmk": writeTraceMask,
	"isro": func(w *strings.Builder, _ *member) { w.WriteString("null") },
	"hash": func(w *strings.Builder, _ *member) {
		w.WriteString(strings.TrimSuffix(notServing,
			"\n"))
	},
}

// notServing is what a member that serves nobody answers.
const notServing = "This ZooKeeper instance is not currently serving requests\n"

// answerWord answers if the client's first four bytes are a word, and reports whether they were.
func (c *connection) answerWord(name string, reader *bufio.Reader) bool {
	if name != setTraceMask && fourLetterWords[name] == nil {
		return false
	}
	text := c.member.server.answer(c.member, name)
	if name == setTraceMask {
		var argument [12]byte // the word itself first
		if _, err := io.ReadFull(reader, argument[:]); err != nil {
			return true
		}
		text = fmt.Sprint(int64(binary.BigEndian.Uint64(argument[4:])))
	}
	c.conn.SetWriteDeadline(time.Now().Add(drainTime))
	io.WriteString(c.conn, text)
	return true
}

// answer returns what a member answers to a word.
func (s *Server) answer(m *member, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	s.flush()
	m.statistics.received++
	m.statistics.bytes += int64(len(name))
	var text strings.Builder
	switch answer := fourLetterWords[name]; {
	case m.serving() && answer != nil:
		answer(&text, m)
	case whileDown[name] != nil:
		whileDown[name](&text, m)
	default:
		text.WriteString(notServing)
	}
	m.statistics.sent++
	return text.String()
}

func imok(w *strings.Builder, _ *member)          { w.WriteString("imok") }
func writeReadOnly(w *strings.Builder, _ *member) { w.WriteString("rw") }

// what a real server traces
func writeTraceMask(w *strings.Builder, _ *member) { w.WriteString("306") }

func writeDirectories(w *strings.Builder, _ *member) {
	w.WriteString("datadir_size: 0\nlogdir_size: 0\n")
}

// writeDigests writes nothing: a real server tells the digest of every 128th transaction.
func writeDigests(*strings.Builder, *member) {}
