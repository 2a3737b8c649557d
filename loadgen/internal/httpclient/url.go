package httpclient

import (
	"errors"
	"net/url"
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
