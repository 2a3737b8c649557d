package netfault

import (
	"errors"
	"net/http"
	"strings"
)

// Mistaken says that the error of a write to an [http.ResponseWriter] is net/http's to the handler (there may be no body, or no
// more of it), and not one of the writing. Over HTTP/2 one of them has no name.
func Mistaken(err error) bool {
	return errors.Is(err, http.ErrBodyNotAllowed) || errors.Is(err, http.ErrContentLength) || errors.Is(err, http.ErrHijacked) ||
		strings.Contains(err.Error(), "declared Content-Length")
}
