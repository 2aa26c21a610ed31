package wire

import (
	"strings"
	"unicode/utf8"
)

// Null stands for a null string, of length -1, which ZooKeeper tells from an empty one. A decoded
// request has no other string that is not UTF-8.
const Null = "\xff"

// Text returns what a server reads where a client has sent these bytes for a string: what is not
// UTF-8 becomes U+FFFD, as many times as Java's decoder has it. That is once for the longest part
// that could have begun a character, and once for a surrogate of three bytes.
func Text(sent []byte) string {
	if utf8.Valid(sent) {
		return string(sent)
	}
	var text strings.Builder
	for len(sent) > 0 {
		r, size := utf8.DecodeRune(sent)
		if r == utf8.RuneError && size == 1 {
			size = malformed(sent)
		}
		text.WriteRune(r)
		sent = sent[size:]
	}
	return text.String()
}

// malformed returns how many bytes Java takes together at the front of what is not UTF-8.
func malformed(b []byte) int {
	least, most, length := byte(0x80), byte(0xbf), 0
	switch first := b[0]; {
	case first == 0xe0:
		least, length = 0xa0, 3
	case 0xe0 < first && first <= 0xef: // Surrogates, which begin with 0xed, are taken whole.
		length = 3
	case first == 0xf0:
		least, length = 0x90, 4
	case first == 0xf4:
		most, length = 0x8f, 4
	case 0xf0 < first && first < 0xf4:
		length = 4
	}
	n := 1
	for ; n < length && n < len(b) && least <= b[n] && b[n] <= most; n++ {
		least, most = 0x80, 0xbf
	}
	return n
}

// Characters beyond 16 bits, which are surrogates in Java: a server writes each of the two as a
// character of three bytes (BinaryOutputArchive), and reads what a client sends as UTF-8.
const (
	surrogateBits = 10
	surrogateMask = 1<<surrogateBits - 1
	highSurrogate = 0xd800
	lowSurrogate  = 0xdc00
	beyond16Bits  = 1 << 16
)

// Sent returns the bytes that a client receives where a server sends the string. A client that
// takes them for UTF-8, as libraries do, sees no character beyond 16 bits.
func Sent(text string) string {
	if !strings.ContainsFunc(text, isBeyond16Bits) {
		return text
	}
	sent := make([]byte, 0, len(text)+len(text)/2)
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if isBeyond16Bits(r) {
			sent = appendSurrogate(sent, highSurrogate|(r-beyond16Bits)>>surrogateBits)
			sent = appendSurrogate(sent, lowSurrogate|(r-beyond16Bits)&surrogateMask)
		} else {
			sent = append(sent, text[:size]...)
		}
		text = text[size:]
	}
	return string(sent)
}

// appendText appends a string as a server writes it.
func appendText(dst []byte, v string) []byte { return appendString(dst, Sent(v)) }

func isBeyond16Bits(r rune) bool { return r >= beyond16Bits }

func appendSurrogate(dst []byte, s rune) []byte {
	return append(dst, 0xe0|byte(s>>12), 0x80|byte(s>>6&0x3f), 0x80|byte(s&0x3f))
}

// joinSurrogates undoes what [Sent] does. All other bytes stay as they are.
func joinSurrogates(b []byte) string {
	text := string(b)
	if !strings.Contains(text, "\xed") {
		return text
	}
	var joined strings.Builder
	for len(text) > 0 {
		high, isHigh := surrogate(text, highSurrogate)
		if isHigh {
			if low, isLow := surrogate(text[3:], lowSurrogate); isLow {
				joined.WriteRune(beyond16Bits + high<<surrogateBits + low)
				text = text[6:]
				continue
			}
		}
		joined.WriteByte(text[0])
		text = text[1:]
	}
	return joined.String()
}

// surrogate returns the bits of the character that a string begins with if it is a surrogate of
// that sort.
func surrogate(s string, sort rune) (bits rune, ok bool) {
	if len(s) < 3 || s[0] != 0xed || s[1]&0xc0 != 0x80 || s[2]&0xc0 != 0x80 {
		return 0, false
	}
	r := 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f)
	return r & surrogateMask, r&^surrogateMask == sort
}
