package main

import (
	"net/http"
	"sync/atomic"
	"time"
)

// slowdown is a fault to try alerts out with: each request to an API waits first. It is nothing to copy.
type slowdown struct {
	api http.Handler
	by  atomic.Int64 // ns
}

const slowest = time.Minute

// ServeHTTP passes a request on when it has waited.
func (s *slowdown) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if by := time.Duration(s.by.Load()); by > 0 {
		t := time.NewTimer(by)
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.Context().Done():
			return
		}
	}
	s.api.ServeHTTP(w, r)
}

// set answers PUT ?by=2s: from now on so long, and not at all with 0s. It is a PUT because a page from elsewhere can have a
// browser send a GET or a POST here, and not that.
func (s *slowdown) set(w http.ResponseWriter, r *http.Request) {
	by, err := time.ParseDuration(r.URL.Query().Get("by"))
	if err != nil || by < 0 || by > slowest {
		http.Error(w, "by is a time from 0s to 1m, such as 2s", http.StatusBadRequest)
		return
	}
	s.by.Store(int64(by))
	w.WriteHeader(http.StatusNoContent)
}
