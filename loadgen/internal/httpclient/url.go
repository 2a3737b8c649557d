package httpclient

import (
	"errors"
	"net/url"
	"strings"
)

// URL is the URL of an HTTP service. Its error quotes nothing of s, in which a password may stand.
func URL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, errors.New("is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("has to begin with http:// or https://")
	case u.Hostname() == "":
		return nil, errors.New("has no host")
	case u.Fragment != "":
		return nil, errors.New("has a fragment (#…), which no server gets to see")
	}
	return u, nil
}

// address is where a connection to a URL's host goes to, with the port of the scheme where the host has none.
func address(scheme, host string) string {
	if i := strings.LastIndexByte(host, ':'); i < 0 || host[len(host)-1] == ']' {
		host += ":"
	}
	if host[len(host)-1] != ':' {
		return host
	}
	if scheme == "https" {
		return host + "443"
	}
	return host + "80"
}
