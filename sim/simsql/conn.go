package simsql

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"
)

// ErrConnectionLost is the error of a statement whose reply does not arrive, because the connection
// is lost. The server may have executed the statement.
var ErrConnectionLost = errors.New("the connection to the database is lost")

// A connector opens connections of a client to the server. It is a [driver.Connector].
type connector struct{ client *Client }

// Connect opens a connection. That takes no time, and fails at once if the server cannot be
// reached.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	client := c.client
	client.AwaitRunning()
	client.Notify()
	client.mu.Lock()
	defer client.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case client.TornDown() || client.unreachable:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	client.dialed++
	conn := &conn{
		client: client, number: client.dialed, replies: make(chan *reply, 1),
		lost: make(chan struct{}),
	}
	client.conns = append(client.conns, conn)
	return conn, nil
}

// Driver returns the driver, which opens no connection by a name.
func (c connector) Driver() driver.Driver { return byName{} }

type byName struct{}

func (byName) Open(string) (driver.Conn, error) {
	return nil, errors.New("simsql opens no database by its name: use Client.DB")
}

// A conn is the client's end of a connection to the server: one session. Package sql never uses it
// from two goroutines at a time. While the process is paused or has crashed, it blocks.
type conn struct {
	client *Client
	number int // of the process's connections, from 1

	replies chan *reply   // has room for one, as only one request is in flight
	lost    chan struct{} // closed when the server's side ends

	mu        sync.Mutex
	sent      *request // that the run has not collected
	ended     bool     // by either side
	closed    bool     // by the client
	abandoned bool     // a request was given up, so that its reply could be taken for another's
}

// call sends a request and waits for the reply.
func (c *conn) call(ctx context.Context, query string, args []driver.NamedValue, reads bool) (
	*reply, error,
) {
	c.client.AwaitRunning()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	site := c.client.system.Site(Service{}.OwnsCall)
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return nil, driver.ErrBadConn // Nothing was sent.
	}
	c.sent = &request{query: query, args: detached(args), reads: reads, site: site}
	c.mu.Unlock()
	c.client.Notify()
	select {
	case r := <-c.replies:
		c.client.AwaitRunning()
		return r, r.err
	case <-c.lost:
		c.client.AwaitRunning()
		return nil, ErrConnectionLost
	case <-ctx.Done():
		c.client.AwaitRunning()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.abandoned = true
		return nil, ctx.Err()
	}
}

// detached returns arguments that the caller cannot change any more, and times without what differs
// between runs.
func detached(args []driver.NamedValue) []driver.NamedValue {
	args = slices.Clone(args)
	for i := range args {
		switch v := args[i].Value.(type) {
		case []byte:
			args[i].Value = bytes.Clone(v)
		case time.Time:
			args[i].Value = v.UTC().Format(timeFormat)
		}
	}
	return args
}

// timeFormat is how SQL writes a time.
const timeFormat = "2006-01-02 15:04:05.999999999"

// take returns the request that the client has sent since the last call, or nil, and whether the
// client has closed the connection.
func (c *conn) take() (sent *request, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sent, c.sent = c.sent, nil
	return sent, c.closed
}

// end closes the connection from the server's side.
func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.ended = true
		close(c.lost)
	}
}

func (c *conn) closedByClient() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// Close implements driver.Conn. A request that is in flight may still be served.
func (c *conn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end()
	c.client.Notify()
	return nil
}

// IsValid implements driver.Validator.
func (c *conn) IsValid() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.ended && !c.abandoned
}

// ResetSession implements driver.SessionResetter: it finds a connection that was lost while it was
// idle.
func (c *conn) ResetSession(context.Context) error {
	if !c.IsValid() {
		return driver.ErrBadConn
	}
	return nil
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (
	driver.Result, error,
) {
	r, err := c.call(ctx, query, args, false)
	if err != nil {
		return nil, err
	}
	return result{r}, nil
}

// QueryContext implements driver.QueryerContext. The reply has all rows.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (
	driver.Rows, error,
) {
	r, err := c.call(ctx, query, args, true)
	if err != nil {
		return nil, err
	}
	return &rows{reply: r}, nil
}

// BeginTx implements driver.ConnBeginTx. Every isolation level is serializable.
func (c *conn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	if options.ReadOnly {
		return nil, errors.New("simsql has no read-only transactions")
	}
	if _, err := c.call(ctx, "BEGIN", nil, false); err != nil {
		return nil, err
	}
	return transaction{c}, nil
}

// Begin implements driver.Conn.
func (c *conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// Prepare implements driver.Conn. The client keeps the statement: only its execution is a request.
func (c *conn) Prepare(query string) (driver.Stmt, error) { return statement{c, query}, nil }

// A transaction is an open transaction of a session.
type transaction struct{ conn *conn }

func (t transaction) Commit() error {
	_, err := t.conn.call(context.Background(), "COMMIT", nil, false)
	return err
}

func (t transaction) Rollback() error {
	_, err := t.conn.call(context.Background(), "ROLLBACK", nil, false)
	return err
}

// A statement is a prepared statement.
type statement struct {
	conn  *conn
	query string
}

func (statement) Close() error  { return nil }
func (statement) NumInput() int { return -1 }

func (s statement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result,
	error,
) {
	return s.conn.ExecContext(ctx, s.query, args)
}

func (s statement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows,
	error,
) {
	return s.conn.QueryContext(ctx, s.query, args)
}

func (s statement) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }
func (s statement) Query([]driver.Value) (driver.Rows, error)  { return nil, driver.ErrSkip }

// A result is a reply without rows.
type result struct{ reply *reply }

func (r result) LastInsertId() (int64, error) { return r.reply.inserted, nil }
func (r result) RowsAffected() (int64, error) { return r.reply.affected, nil }

// rows are the rows of a reply.
type rows struct {
	reply *reply
	next  int
}

func (r *rows) Columns() []string { return slices.Clone(r.reply.columns) }
func (r *rows) Close() error      { return nil }

func (r *rows) Next(values []driver.Value) error {
	if r.next == len(r.reply.rows) {
		return io.EOF
	}
	copy(values, r.reply.rows[r.next])
	r.next++
	return nil
}
