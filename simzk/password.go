package simzk

// password returns the password of a session: the first 16 bytes of java.util.Random, seeded from
// the session id, so that every server can compute it (ZooKeeperServer.generatePasswd). The
// generator is the linear congruential one documented for java.util.Random.
func password(session int64) []byte {
	const (
		secret     = 0xB3415C00
		multiplier = 0x5DEECE66D
		mask       = 1<<48 - 1
	)
	state := (uint64(session^secret) ^ multiplier) & mask
	bytes := make([]byte, 16)
	for i := 0; i < len(bytes); i += 4 {
		state = (state*multiplier + 0xB) & mask
		word := uint32(state >> 16)
		for j := range 4 {
			bytes[i+j] = byte(word >> (8 * j))
		}
	}
	return bytes
}
