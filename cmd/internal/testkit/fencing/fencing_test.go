// Package fencing tests the recipes by which a resource rejects late holders. docs/lock.md shows the
// files of this directory.
package fencing_test

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite"
)

// The recipes.
var (
	//go:embed postgres.sql
	postgres string
	//go:embed mysql.sql
	mysql string
	//go:embed redis.lua
	script string
)

// A resource holds a balance. A token of 0 stands for an access that is not fenced.
type resource interface {
	read(token int64) (balance int, err error)
	write(token int64, balance int) error // errLate if it was refused
}

var errLate = errors.New("refused as late")

// The recipes lose no update if a holder is paused between its read and its write.
// If only writes are fenced, they do.
func TestRecipes(t *testing.T) {
	for name, open := range map[string]func(*testing.T) resource{
		"postgres": func(t *testing.T) resource {
			// SQLite takes a number as the name of a parameter only after a question mark.
			return openDatabase(t, strings.ReplaceAll(postgres, "$", "?"),
				func(token int64) []any { return []any{token, "billing"} })
		},
		"mysql": func(t *testing.T) resource {
			return openDatabase(t, mysql,
				func(token int64) []any { return []any{token, "billing", token} })
		},
		"redis": openRedis,
		"http":  openService,
	} {
		t.Run(name, func(t *testing.T) {
			if lost := lostUpdates(t, open, false); len(lost) != 2 {
				t.Errorf("without fenced reads updates are lost in the orders %q, want two", lost)
			}
			if lost := lostUpdates(t, open, true); len(lost) > 0 {
				t.Errorf("updates are lost in the orders %q", lost)
			}
		})
	}
}

// lostUpdates lets two holders each read a balance and add to it, in each order of the four steps
// in which a holder may be paused, and returns the orders after which the balance lacks what a
// holder has added. The holder b has the higher token.
func lostUpdates(t *testing.T, open func(*testing.T) resource, fencedReads bool) (lost []string) {
	t.Helper()
	bothWrote := false
	for _, order := range []string{"aabb", "abab", "abba", "baab", "baba", "bbaa"} {
		r := open(t)
		want, refused := 100, 0
		seen := map[rune]int{}
		for _, holder := range order {
			token, amount := int64(5)<<32, 1
			if holder == 'b' {
				token, amount = token+1, 10
			}
			err := error(nil)
			if balance, reads := seen[holder]; reads {
				if err = r.write(token, balance+amount); err == nil {
					want += amount
				}
			} else if fencedReads {
				seen[holder], err = r.read(token)
			} else {
				seen[holder], err = r.read(0)
			}
			if err != nil && !errors.Is(err, errLate) {
				t.Fatalf("%s: %v", order, err)
			}
			if err != nil {
				refused++
				if holder == 'b' {
					t.Errorf("%s: the last holder was refused", order)
				}
			}
		}
		bothWrote = bothWrote || refused == 0
		if balance, err := r.read(0); err != nil || balance != want {
			lost = append(lost, order)
		}
	}
	if !bothWrote {
		t.Error("one of the holders is refused in every order")
	}
	return lost
}

// A database is a resource whose transactions begin with the statement of the recipe.
type database struct {
	*sql.DB
	fence     string
	arguments func(token int64) []any
}

func openDatabase(t *testing.T, fence string, arguments func(int64) []any) resource {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1) // Each connection has a database of its own.
	if _, err := db.Exec(`CREATE TABLE fences (name VARCHAR(100) PRIMARY KEY, token BIGINT);
		INSERT INTO fences VALUES ('billing', 0);
		CREATE TABLE account (balance INT);
		INSERT INTO account VALUES (100)`); err != nil {
		t.Fatal(err)
	}
	return database{db, fence, arguments}
}

// transact fences a transaction and runs it.
func (d database) transact(token int64, run func(*sql.Tx) error) error {
	tx, err := d.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if token != 0 {
		result, err := tx.Exec(d.fence, d.arguments(token)...)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, errLate)
		}
	}
	return errors.Join(run(tx), tx.Commit())
}

func (d database) read(token int64) (balance int, err error) {
	err = d.transact(token, func(tx *sql.Tx) error {
		return tx.QueryRow("SELECT balance FROM account").Scan(&balance)
	})
	return balance, err
}

func (d database) write(token int64, balance int) error {
	return d.transact(token, func(tx *sql.Tx) error {
		_, err := tx.Exec("UPDATE account SET balance = ?", balance)
		return err
	})
}

// A redisServer is a resource whose commands are run by the script of the recipe.
type redisServer struct{ *redis.Client }

func openRedis(t *testing.T) resource {
	client := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	t.Cleanup(func() { client.Close() })
	if err := client.Set(context.Background(), "balance", 100, 0).Err(); err != nil {
		t.Fatal(err)
	}
	return redisServer{client}
}

func (s redisServer) run(token int64, command ...any) *redis.Cmd {
	if token == 0 {
		return s.Do(context.Background(), command...)
	}
	cmd := s.Eval(context.Background(), script, []string{"billing:token", "balance"},
		append([]any{token}, command...)...)
	if err := cmd.Err(); err != nil && strings.HasPrefix(err.Error(), "LATE") {
		cmd.SetErr(errLate)
	}
	return cmd
}

func (s redisServer) read(token int64) (int, error) { return s.run(token, "GET", "balance").Int() }

func (s redisServer) write(token int64, balance int) error {
	return s.run(token, "SET", "balance", balance).Err()
}

// A service is a resource behind the handler of the recipe.
type service struct{ fenced, unfenced string } // addresses

func openService(t *testing.T) resource {
	balance := "100"
	account := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			body, _ := io.ReadAll(r.Body)
			balance = string(body)
		}
		io.WriteString(w, balance)
	})
	guarded, open := httptest.NewServer(fenced(account)), httptest.NewServer(account)
	t.Cleanup(guarded.Close)
	t.Cleanup(open.Close)
	return service{guarded.URL, open.URL}
}

func (s service) request(method string, token int64, body string) (string, error) {
	address := s.fenced
	if token == 0 {
		address = s.unfenced
	}
	r, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Fencing-Token", strconv.FormatInt(token, 10))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		answer, err := io.ReadAll(response.Body)
		return string(answer), err
	case http.StatusConflict:
		return "", errLate
	}
	return "", fmt.Errorf("status %s", response.Status)
}

func (s service) read(token int64) (int, error) {
	answer, err := s.request(http.MethodGet, token, "")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(answer)
}

func (s service) write(token int64, balance int) error {
	_, err := s.request(http.MethodPut, token, strconv.Itoa(balance))
	return err
}
