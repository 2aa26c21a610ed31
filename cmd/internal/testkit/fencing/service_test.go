package fencing_test

import (
	"net/http"
	"strconv"
	"sync"
)

// fenced refuses the requests of late holders, also those that only read. A service that can
// restart stores the highest token with its data.
func fenced(service http.Handler) http.Handler {
	var mu sync.Mutex
	var highest int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock() // after the access, so that no other comes between
		token, err := strconv.ParseInt(r.Header.Get("Fencing-Token"), 10, 64)
		if err != nil || token < highest {
			http.Error(w, "the lock was granted again", http.StatusConflict)
			return
		}
		highest = token
		service.ServeHTTP(w, r)
	})
}
