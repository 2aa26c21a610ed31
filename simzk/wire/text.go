package wire

import (
	"strings"
	"unicode/utf8"
)

// Null represents a null string, whose length is -1 and which ZooKeeper distinguishes from an empty
// string. All other strings of a decoded request are valid UTF-8.
const Null = "\xff"

// Text returns the string that a server decodes from these bytes. Invalid UTF-8 is replaced by
// U+FFFD as in Java's decoder: one for each maximal prefix of a character, and one for each
// three-byte surrogate.
func Text(sent []byte) string {
	if utf8.Valid(sent) {
		return string(sent)
	}
	var text strings.Builder
	for len(sent) > 0 {
		r, size := utf8.DecodeRune(sent)
		if r == utf8.RuneError && size == 1 {
			size = malformedLength(sent)
		}
		text.WriteRune(r)
		sent = sent[size:]
	}
	return text.String()
}

// malformedLength returns the number of leading bytes of invalid UTF-8 that Java replaces by one
// U+FFFD.
func malformedLength(b []byte) int {
	low, high, length := byte(0x80), byte(0xbf), 0
	switch first := b[0]; {
	case first == 0xe0:
		low, length = 0xa0, 3
	// Surrogates, which begin with 0xed, are replaced as a whole.
	case 0xe0 < first && first <= 0xef:
		length = 3
	case first == 0xf0:
		low, length = 0x90, 4
	case first == 0xf4:
		high, length = 0x8f, 4
	case 0xf0 < first && first < 0xf4:
		length = 4
	}
	n := 1
	for ; n < length && n < len(b) && low <= b[n] && b[n] <= high; n++ {
		low, high = 0x80, 0xbf
	}
	return n
}

// Characters beyond 16 bits are pairs of surrogates in Java. A server writes each surrogate as
// three bytes (BinaryOutputArchive) but decodes requests as UTF-8.
const (
	surrogateBits = 10
	surrogateMask = 1<<surrogateBits - 1
	highSurrogate = 0xd800
	lowSurrogate  = 0xdc00
	beyond16Bits  = 1 << 16
)

// Sent returns the bytes that a server sends for the string. A client that decodes them as UTF-8,
// as libraries do, gets no characters beyond 16 bits.
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

// joinSurrogates is the inverse of [Sent]. It leaves all other bytes unchanged.
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

// surrogate returns the payload bits of the surrogate at the start of a string, or false if it does
// not start with one of that kind (highSurrogate or lowSurrogate).
func surrogate(s string, kind rune) (bits rune, ok bool) {
	if len(s) < 3 || s[0] != 0xed || s[1]&0xc0 != 0x80 || s[2]&0xc0 != 0x80 {
		return 0, false
	}
	r := 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f)
	return r & surrogateMask, r&^surrogateMask == kind
}
