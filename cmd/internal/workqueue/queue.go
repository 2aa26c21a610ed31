// Package workqueue shares a campaign among machines through NATS JetStream.
//
// A queue has one plan at a time. A coordinator queues one message for each range of the plan's
// schedules, in a stream that keeps a message until it is acknowledged. A worker takes a message,
// tells the server now and then that it is still at work, stores the record of the range in an
// object store, and acknowledges. If it is silent for too long, the message goes to another worker.
// Which record counts is decided by a key for each range, which only the first worker can create.
// So the records are those of one machine, whatever happens to workers, coordinator and server.
package workqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Queue is a connection to a queue on a NATS server.
type Queue struct {
	name string
	warn func(string)
	conn *nats.Conn
	js   jetstream.JetStream
	plan jetstream.KeyValue // has the state under stateKey

	mu          sync.Mutex
	reconnected chan struct{} // closed at the next reconnection
}

const (
	prefix   = "interlock-" // of the names of all streams and buckets
	stateKey = "plan"
)

// A Server says how to connect to a NATS server.
type Server struct {
	URL string
	// Credentials is a file with the credentials of a user, and CA one with certificates of
	// authorities for TLS. They may be empty.
	Credentials, CA string
}

// options returns the options of a connection, or why a file cannot be read.
func (s *Server) options() (options []nats.Option, err error) {
	if s.Credentials != "" {
		if _, err := os.ReadFile(s.Credentials); err != nil {
			return nil, fmt.Errorf("credentials: %w", err)
		}
		options = append(options, nats.UserCredentials(s.Credentials))
	}
	if s.CA != "" {
		if _, err := os.ReadFile(s.CA); err != nil {
			return nil, fmt.Errorf("CA: %w", err)
		}
		options = append(options, nats.RootCAs(s.CA))
	}
	return options, nil
}

// Dial connects to the queue with a name on a NATS server. A lost connection is made again for as
// long as it takes; warn is called, by any goroutine, with a line about each. Of the errors, those
// that are [Unreachable] may go away by themselves.
func Dial(ctx context.Context, server Server, name string, warn func(string)) (*Queue, error) {
	q := &Queue{name: name, warn: warn, reconnected: make(chan struct{})}
	options, err := server.options()
	if err != nil {
		return nil, err
	}
	q.conn, err = nats.Connect(server.URL, append(options, nats.Name("interlock"),
		nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait),
		nats.PingInterval(pingInterval),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				warn(fmt.Sprintf("lost the connection to NATS (%v), reconnecting", err))
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			// A watch whose connection is lost; it begins anew when that is made again.
			if !errors.Is(err, nats.ErrConsumerNotActive) {
				warn(fmt.Sprintf("NATS: %v", err))
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { q.noteReconnection() }))...)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to NATS: %w", err)
	}
	if q.js, err = jetstream.New(q.conn); err == nil {
		_, err = q.js.AccountInfo(ctx)
	}
	if err == nil {
		q.plan, err = q.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: prefix + name, Description: "the plan of an Interlock queue",
		})
	}
	if err != nil {
		q.conn.Close()
		return nil, fmt.Errorf("JetStream of the NATS server: %w", err)
	}
	return q, nil
}

const (
	reconnectWait = 500 * time.Millisecond
	pingInterval  = 20 * time.Second // two missed pings are a lost connection
	retryWait     = 200 * time.Millisecond
	flushWait     = 2 * time.Second
)

// Close sends what is not sent yet, such as acknowledgements, and closes the connection.
func (q *Queue) Close() {
	if q.conn.IsConnected() {
		q.conn.FlushTimeout(flushWait) // Without it, a range is given out once more.
	}
	q.conn.Close()
}

// Server returns the URL of the server without password.
func (q *Queue) Server() string { return q.conn.ConnectedUrlRedacted() }

func (q *Queue) noteReconnection() {
	q.mu.Lock()
	close(q.reconnected)
	q.reconnected = make(chan struct{})
	q.mu.Unlock()
	q.warn("connected to NATS again")
}

// reconnection returns a channel that is closed at the next reconnection. What a server has been
// asked to send is lost then.
func (q *Queue) reconnection() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.reconnected
}

// persist calls a function until it succeeds, fails for good, or the context ends. The server may
// be restarting meanwhile.
func persist[T any](ctx context.Context, q *Queue, call func() (T, error)) (T, error) {
	for attempt := 1; ; attempt++ {
		value, err := call()
		switch {
		case err == nil || !transient(err):
			return value, err
		case ctx.Err() != nil:
			return value, ctx.Err()
		case attempt == 5:
			q.warn(fmt.Sprintf("NATS does not answer (%v), trying again", err))
		}
		select {
		case <-time.After(retryWait):
		case <-ctx.Done():
			return value, ctx.Err()
		}
	}
}

// transient reports whether an error may go away by itself.
func transient(err error) bool {
	for _, passing := range []error{
		nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrReconnectBufExceeded,
		jetstream.ErrNoStreamResponse, jetstream.ErrNoHeartbeat, jetstream.ErrServerShutdown,
		jetstream.ErrConsumerLeadershipChanged, jetstream.ErrJetStreamNotEnabled,
		context.DeadlineExceeded,
	} {
		if errors.Is(err, passing) {
			return true
		}
	}
	var api *jetstream.APIError
	return errors.As(err, &api) && api.Code == 503
}

// Unreachable reports whether an error says that the server could not be reached or was not ready,
// so that another attempt may succeed. Wrong credentials or certificates are not among these.
func Unreachable(err error) bool {
	for _, passing := range []error{
		nats.ErrNoServers, nats.ErrMaxConnectionsExceeded, nats.ErrConnectionClosed,
		nats.ErrStaleConnection, io.EOF,
	} {
		if errors.Is(err, passing) {
			return true
		}
	}
	var name *net.DNSError
	var network *net.OpError
	return transient(err) || errors.As(err, &name) ||
		errors.As(err, &network) && network.Op != "remote error" // an alert of TLS
}

// watch returns a channel with the entries of a bucket, the present ones first. After each
// reconnection the present ones come again. A nil follows them. The channel is closed when the
// context ends or the bucket is gone.
func (q *Queue) watch(ctx context.Context, bucket jetstream.KeyValue,
) <-chan jetstream.KeyValueEntry {
	entries := make(chan jetstream.KeyValueEntry)
	go func() {
		defer close(entries)
		for ctx.Err() == nil {
			again := q.reconnection()
			watcher, err := persist(ctx, q, func() (jetstream.KeyWatcher, error) {
				return bucket.WatchAll(ctx, jetstream.IgnoreDeletes())
			})
			if err != nil {
				return
			}
			pass(ctx, watcher, again, entries)
			watcher.Stop() // Its consumer may be gone already.
		}
	}()
	return entries
}

// pass passes on the entries of a watcher until the connection has been made again.
func pass(ctx context.Context, watcher jetstream.KeyWatcher, again <-chan struct{},
	to chan<- jetstream.KeyValueEntry,
) {
	for {
		select {
		case entry, ok := <-watcher.Updates():
			if !ok {
				return
			}
			select {
			case to <- entry:
			case <-ctx.Done():
				return
			}
		case <-again:
			return
		case <-ctx.Done():
			return
		}
	}
}

// decodeState reads the state of a queue from the entry of its bucket.
func decodeState(entry jetstream.KeyValueEntry) (*state, error) {
	s := new(state)
	if err := json.Unmarshal(entry.Value(), s); err != nil {
		return nil, fmt.Errorf("the plan of the queue is damaged: %w", err)
	}
	if s.RangeSchedules < 1 {
		return nil, errors.New("the plan of the queue is damaged: it has no ranges")
	}
	return s, nil
}

// encode returns a value as JSON.
func encode(value any) []byte {
	content, err := json.Marshal(value)
	if err != nil {
		panic(err) // The values of this package can be encoded.
	}
	return content
}
