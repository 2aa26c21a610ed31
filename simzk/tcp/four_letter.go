package tcp

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"time"
)

// A fourLetterWord writes a member's response to a four-letter word. The caller holds the server's
// lock.
type fourLetterWord func(w *strings.Builder, m *member)

// fourLetterWords are the supported four-letter words. All are enabled, whereas a real server
// requires 4lw.commands.whitelist. The responses have the format of a real server's.
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

// setTraceMask is the only four-letter word with an argument, which has eight bytes.
const setTraceMask = "stmk"

// fourLetterWordsNotServing are the responses of a member that serves no clients. It answers all
// other words with notServing.
var fourLetterWordsNotServing = map[string]fourLetterWord{
	"ruok": imok,
	"envi": writeEnvironment,
	"gtmk": writeTraceMask,
	"isro": func(w *strings.Builder, _ *member) { w.WriteString("null") },
	"hash": func(w *strings.Builder, _ *member) {
		w.WriteString(strings.TrimSuffix(notServing, "\n"))
	},
}

// notServing is the response of a member that serves no clients.
const notServing = "This ZooKeeper instance is not currently serving requests\n"

// answerFourLetterWord responds if the client's first four bytes are a four-letter word, and
// reports whether they are.
func (c *connection) answerFourLetterWord(name string, reader *bufio.Reader) bool {
	if name != setTraceMask && fourLetterWords[name] == nil {
		return false
	}
	text := c.member.server.answer(c, name)
	if name == setTraceMask {
		// A real server does not wait for the argument.
		argument, err := reader.Peek(min(reader.Buffered(), len(name)+8))
		if err != nil || len(argument) < len(name)+8 {
			return true
		}
		text = c.member.setTraceMask(int64(binary.BigEndian.Uint64(argument[len(name):])))
	}
	c.conn.SetWriteDeadline(time.Now().Add(drainTimeout))
	io.WriteString(c.conn, text)
	return true
}

// answer returns the response to a four-letter word.
func (s *Server) answer(c *connection, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.awaitResume()
	m := c.member
	s.advance()
	s.flush()
	m.statistics.received++
	m.statistics.bytes += int64(len(name))
	var text strings.Builder
	switch answer := fourLetterWords[name]; {
	case m.serving() && answer != nil:
		answer(&text, m)
	case fourLetterWordsNotServing[name] != nil:
		fourLetterWordsNotServing[name](&text, m)
	default:
		text.WriteString(notServing)
	}
	m.statistics.sent++
	return text.String()
}

func imok(w *strings.Builder, _ *member)          { w.WriteString("imok") }
func writeReadOnly(w *strings.Builder, _ *member) { w.WriteString("rw") }

// initialTraceMask is the trace mask of a real server that has just started.
const initialTraceMask = 306

func writeTraceMask(w *strings.Builder, m *member) { fmt.Fprint(w, m.traceMask) }

// setTraceMask sets the trace mask, which has no effect, and returns the response.
func (m *member) setTraceMask(mask int64) string {
	m.server.mu.Lock()
	defer m.server.mu.Unlock()
	m.traceMask = mask
	return fmt.Sprint(mask)
}

func writeDirectories(w *strings.Builder, _ *member) {
	w.WriteString("datadir_size: 0\nlogdir_size: 0\n")
}

// writeDigests writes nothing: a real server writes the digest of every 128th transaction.
func writeDigests(*strings.Builder, *member) {}
