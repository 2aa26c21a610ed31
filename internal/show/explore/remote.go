package explore

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"sync"

	"github.com/interlock-sim/interlock/internal/run/engine"
)

// A request is what a [Remote] asks for: the state at the end of a path, or to save it. Both ends
// write JSON; the first value on the connection is the [Scenario].
type request struct {
	Path
	Lenient bool `json:"lenient,omitempty"`
	Save    bool `json:"save,omitempty"`
}

// An answer has the value that was asked for, or one of the errors.
type answer struct {
	State   *State             `json:"state,omitempty"`
	Skipped []engine.Deviation `json:"skipped,omitempty"`
	Saved   *Saved             `json:"saved,omitempty"`
	BadPath string             `json:"bad_path,omitempty"`
	Error   string             `json:"error,omitempty"`
}

// Serve answers the requests of a [Remote] at the other end of a connection until that is closed.
func Serve(ctx context.Context, connection io.ReadWriter, runs Runs) error {
	in, out := json.NewDecoder(connection), json.NewEncoder(connection)
	if err := out.Encode(runs.Scenario()); err != nil {
		return err
	}
	for {
		var q request
		if err := in.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := out.Encode(q.answer(ctx, runs)); err != nil {
			return err
		}
	}
}

// answer answers a request.
func (q *request) answer(ctx context.Context, runs Runs) *answer {
	var a answer
	var err error
	if q.Save {
		a.Saved, err = runs.Save(ctx, q.Path)
	} else {
		a.State, a.Skipped, err = runs.Follow(ctx, q.Path, q.Lenient)
	}
	var bad *BadPath
	switch {
	case errors.As(err, &bad):
		a.BadPath = bad.Reason
	case err != nil:
		a.Error = err.Error()
	}
	return &a
}

// A Remote performs runs in another process, which calls [Serve]. If that ends, the request under
// way fails, and the next one connects to a new process.
type Remote struct {
	connect  func() (io.ReadWriteCloser, error)
	scenario *Scenario

	mu         sync.Mutex // guards the field below
	connection io.ReadWriteCloser
	in         *json.Decoder // from the connection
}

// NewRemote returns runs in the process at the other end of the connection that the function makes.
func NewRemote(connect func() (io.ReadWriteCloser, error)) (*Remote, error) {
	r := &Remote{connect: connect}
	_, err := r.begin()
	return r, err
}

// begin connects, and returns the connection.
func (r *Remote) begin() (io.ReadWriteCloser, error) {
	connection, err := r.connect()
	if err != nil {
		return nil, err
	}
	scenario, in := new(Scenario), json.NewDecoder(connection)
	if err := in.Decode(scenario); err != nil {
		connection.Close()
		return nil, err
	}
	switch {
	case r.scenario == nil:
		r.scenario = scenario // Others may read it, so later ones do not replace it.
	case !reflect.DeepEqual(r.scenario, scenario):
		connection.Close()
		return nil, errors.New("the test has another scenario now: begin to explore anew")
	}
	r.in = in
	r.mu.Lock()
	defer r.mu.Unlock()
	r.connection = connection
	return connection, nil
}

// Close closes the connection. It may be called while a request is under way, which then fails.
func (r *Remote) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.connection != nil {
		r.connection.Close()
	}
	r.connection = nil
}

// Scenario implements [Runs].
func (r *Remote) Scenario() *Scenario { return r.scenario }

// Follow implements [Runs]. The run goes on if the context ends.
func (r *Remote) Follow(ctx context.Context, path Path, lenient bool) (*State,
	[]engine.Deviation, error,
) {
	a, err := r.ask(ctx, &request{Path: path, Lenient: lenient})
	if err != nil {
		return nil, nil, err
	}
	return a.State, a.Skipped, nil
}

// Save implements [Runs].
func (r *Remote) Save(ctx context.Context, path Path) (*Saved, error) {
	a, err := r.ask(ctx, &request{Path: path, Save: true})
	if err != nil {
		return nil, err
	}
	return a.Saved, nil
}

// ask sends a request and returns the answer.
func (r *Remote) ask(ctx context.Context, q *request) (*answer, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r.mu.Lock()
	connection := r.connection
	r.mu.Unlock()
	if connection == nil {
		var err error
		if connection, err = r.begin(); err != nil {
			return nil, err
		}
	}
	// A process that has ended does not read. The error of the next read says why.
	json.NewEncoder(connection).Encode(q)
	a := new(answer)
	if err := r.in.Decode(a); err != nil {
		r.Close()
		return nil, err
	}
	switch {
	case a.BadPath != "":
		return nil, &BadPath{a.BadPath}
	case a.Error != "":
		return nil, errors.New(a.Error)
	}
	return a, nil
}
