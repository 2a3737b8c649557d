package admission

import (
	"encoding/json"
	"math"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
)

func TestRefusalsOverHTTP(t *testing.T) {
	for _, x := range []struct {
		err       RejectedError
		code      int
		after, ms string
	}{
		{RejectedError{PredictedLate, 1200 * time.Millisecond}, 429, "2", "1200"},
		{RejectedError{BecameLate, time.Microsecond}, 429, "1", "1"},
		{RejectedError{QueueFull, 2 * time.Second}, 429, "2", "2000"},
		{RejectedError{Stalled, 30 * time.Second}, 503, "30", "30000"},
		{RejectedError{Closed, time.Minute}, 503, "60", "60000"},
		{RejectedError{Shed, 0}, 429, "1", "1"},
		{RejectedError{Shed, -time.Hour}, 429, "1", "1"},
		{RejectedError{Shed, time.Second + 1}, 429, "2", "1001"},
		{RejectedError{Shed, math.MaxInt64}, 429, "9223372037", "9223372036855"},
	} {
		rec := httptest.NewRecorder()
		rec.Header().Set("Content-Length", "7") // of what somebody else had in mind
		rec.Header().Set("Content-Encoding", "gzip")
		WriteRejection(rec, &x.err)
		require.Equal(t, x.code, rec.Code)
		require.Equal(t, x.after, rec.Header().Get("Retry-After"))
		require.Equal(t, x.ms, rec.Header().Get("retry-after-ms"))
		require.Equal(t, string(x.err.Reason), rec.Header().Get(goodput.ReasonHeader))
		require.Equal(t, goodput.Rejected, goodput.OutcomeOfStatus(rec.Code, rec.Header()), "a client books it as what it is")
		require.Empty(t, rec.Header().Get("Content-Length")+rec.Header().Get("Content-Encoding"))
		require.Equal(t, "application/json", rec.Header().Get("Content-Type"))
		var body struct {
			Error map[string]any `json:"error"`
		}
		require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &body))
		require.Equal(t, string(x.err.Reason), body.Error["code"])
		require.Contains(t, body.Error, "param")
		require.NotEmpty(t, body.Error["message"])
		require.NotEmpty(t, body.Error["type"])
	}
}
