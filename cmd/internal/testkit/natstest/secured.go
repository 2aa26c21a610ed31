package natstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// StartSecured starts a server with TLS that knows one user, and ends with the test. It returns
// the files with the user's credentials and with the certificate of the server's authority.
func StartSecured(t *testing.T) (s *Server, credentials, ca string) {
	t.Helper()
	directory := t.TempDir()
	s = &Server{options: server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: directory,
		NoSigs: true, NoLog: true,
	}}
	user := s.trust(t)
	certificate := s.certify(t)
	credentials = filepath.Join(directory, "user.creds")
	ca = filepath.Join(directory, "ca.crt")
	for path, content := range map[string][]byte{credentials: user, ca: certificate} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.start(t)
	t.Cleanup(s.Stop)
	return s, credentials, ca
}

// newKey returns a key and its public part.
func newKey(t *testing.T, create func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
	t.Helper()
	key, err := create()
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return key, public
}

// trust makes the server trust an operator with an account that may use JetStream, and returns the
// credentials of a user of that account.
func (s *Server) trust(t *testing.T) []byte {
	t.Helper()
	operator, operatorName := newKey(t, nkeys.CreateOperator)
	account, accountName := newKey(t, nkeys.CreateAccount)
	_, systemName := newKey(t, nkeys.CreateAccount)
	user, userName := newKey(t, nkeys.CreateUser)
	resolver := new(server.MemAccResolver)
	store := func(claims *jwt.AccountClaims) {
		token, err := claims.Encode(operator)
		if err == nil {
			err = resolver.Store(claims.Subject, token)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	claims := jwt.NewAccountClaims(accountName)
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{
		MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit,
		Consumer: jwt.NoLimit,
	}
	store(claims)
	store(jwt.NewAccountClaims(systemName))
	s.options.TrustedKeys = []string{operatorName}
	s.options.SystemAccount, s.options.AccountResolver = systemName, resolver
	token, err := jwt.NewUserClaims(userName).Encode(account)
	if err != nil {
		t.Fatal(err)
	}
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	content, err := jwt.FormatUserConfig(token, seed)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// certify gives the server a certificate, which is its own authority, and returns it.
func (s *Server) certify(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.ParseIP(s.options.Host)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	content, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	s.options.TLSConfig = &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{{Certificate: [][]byte{content}, PrivateKey: key}},
	}
	s.options.TLS, s.options.TLSTimeout = true, readyWithin.Seconds()
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: content})
}
