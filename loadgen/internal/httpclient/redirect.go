package httpclient

import (
	"net/http"
	"strings"
)

// mostRedirects are followed, as net/http does.
const mostRedirects = 10

// follow is check, or net/http's own check where it is nil, with two differences. What is named like a credential in the
// first request's header goes to its own host alone: net/http sees to that for the names that it knows. And a redirect that
// is not followed, for there were too many, is no failure of a connection, but the answer; one that check refuses is the
// client's.
func follow(check func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		for _, r := range append(via[1:len(via):len(via)], req) {
			if elsewhere(via[0], r) {
				confine(req.Header)
				break
			}
		}
		if check == nil {
			if len(via) >= mostRedirects {
				return http.ErrUseLastResponse
			}
			return nil
		}
		err := check(req, via)
		if err != nil && err != http.ErrUseLastResponse {
			err = &ownError{"a redirect was refused", err}
		}
		return err
	}
}

// elsewhere says that to goes to another server than from, or goes there for all to read, which from did not.
func elsewhere(from, to *http.Request) bool {
	return !strings.EqualFold(from.URL.Host, to.URL.Host) || from.URL.Scheme == "https" && to.URL.Scheme != "https"
}

// confine takes out what another server must not see, the query of the URL before among it.
func confine(h http.Header) {
	for name := range h {
		if credential(name) {
			delete(h, name)
		}
	}
	h.Del("Referer")
}

// leads says that a redirect can be followed: else net/http would call it an error, or another transport would.
func leads(resp *http.Response) bool {
	u, err := resp.Location()
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
