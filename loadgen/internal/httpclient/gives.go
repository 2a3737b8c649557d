package httpclient

import "github.com/goodputkit/goodputkit/slo"

// Gives is which metrics a target can give: all but the caller's own, and those of tokens only where they are seen to
// arrive.
func Gives(tokens bool) func(slo.Metric) bool {
	return func(m slo.Metric) bool {
		switch m {
		case slo.TTFT, slo.TTFO, slo.TPOT, slo.ITL, slo.Speed, slo.ServiceTTFT:
			return tokens
		}
		return !m.Custom()
	}
}
