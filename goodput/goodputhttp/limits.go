package goodputhttp

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goodputkit/goodputkit/slo"
)

// The headers in which a request brings thresholds of its own, as a decimal number of milliseconds above 0 and of at most
// [slo.MaxTime]. See [Config.OwnLimits].
const (
	TTFTHeader = "X-Slo-Ttft-Ms"
	TPOTHeader = "X-Slo-Tpot-Ms"
)

const maxLimitText = 24 // bytes

// limitCount counts what stood in such headers.
type limitCount struct{ malformed atomic.Uint64 }

// limits are the thresholds that a request brings along; nil: none.
func (n *limitCount) limits(header http.Header) (own map[slo.Metric]float64) {
	for _, one := range []struct {
		key    string
		metric slo.Metric
	}{{TTFTHeader, slo.TTFT}, {TPOTHeader, slo.TPOT}} {
		values := header[one.key]
		if len(values) == 0 {
			continue
		}
		s, ok := seconds(values[0])
		if !ok || len(values) > 1 { // of two nobody knows which one is meant
			n.malformed.Add(1)
			continue
		}
		if own == nil {
			own = make(map[slo.Metric]float64, 2)
		}
		own[one.metric] = s
	}
	return own
}

// seconds reads a number of milliseconds.
func seconds(text string) (float64, bool) {
	if len(text) > maxLimitText || strings.Trim(text, "0123456789.") != "" {
		return 0, false // neither a sign nor an exponent, neither NaN nor hexadecimal
	}
	ms, err := strconv.ParseFloat(text, 64)
	if err != nil || ms < 1e-6 || ms > float64(slo.MaxTime/time.Millisecond) {
		return 0, false
	}
	return ms / 1e3, true
}
