package conform

import (
	"encoding/binary"
	"io"
	"time"
)

// traceMask tests the four-letter words gtmk and stmk, the only one with an argument.
func (p *probe) traceMask() {
	const usual = 306
	p.fact("gtmk -> %s", p.word("gtmk"))
	for _, mask := range []uint64{0, 256, 1<<64 - 2, usual} {
		set := p.word(string(binary.BigEndian.AppendUint64([]byte("stmk"), mask)))
		p.fact("stmk %d -> %s, gtmk -> %s", int64(mask), set, p.word("gtmk"))
	}
	p.fact("stmk of four bytes -> %q, of none -> %q", p.word("stmk\x00\x00\x00\x01"),
		p.word("stmk"))
	p.fact("stmk of nine bytes -> %q", p.word("stmk\x00\x00\x00\x00\x00\x00\x01\x32\x00"))
	p.fact("gtmk -> %s", p.word("gtmk"))
}

// word sends a four-letter word with its argument and returns the response.
func (p *probe) word(text string) string {
	c := dial(p.host)
	defer c.closeConnection()
	c.write([]byte(text))
	if c.err != nil {
		return endReason(c.err)
	}
	c.fail(c.connection.SetReadDeadline(time.Now().Add(responseTimeout)))
	answer, err := io.ReadAll(c.reader)
	if err != nil && endReason(err) != "eof" {
		return endReason(err)
	}
	return string(answer)
}
