package httpclient

import (
	"net/http"
	"time"
)

// MaxHeader bounds the header of an answer, in bytes.
const MaxHeader = 256 << 10

// newTransport is made for load: as many idle connections as there were requests at once, no compression, no proxy, no
// limit of time but the request's own.
func newTransport(dial, dialTLS dialFunc, http2 bool) *http.Transport {
	var p http.Protocols
	p.SetHTTP1(!http2)
	p.SetHTTP2(http2)
	p.SetUnencryptedHTTP2(http2)
	return &http.Transport{
		DialContext:            dial,
		DialTLSContext:         dialTLS,
		Protocols:              &p,
		MaxIdleConnsPerHost:    1 << 20,
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true,
		MaxResponseHeaderBytes: MaxHeader,
	}
}
