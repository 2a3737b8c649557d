package goodput

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOutcomeTextIsItsName(t *testing.T) {
	names := strings.Fields("success timeout rate_limited rejected server_error client_error connection_error cancelled truncated empty malformed dropped unfinished")
	require.Len(t, Outcomes(), len(names))
	for i, o := range Outcomes() {
		assert.Equal(t, names[i], o.String())
		text, err := o.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, names[i], string(text))
		var back Outcome
		require.NoError(t, back.UnmarshalText(text))
		assert.Equal(t, o, back)
	}
}

func TestOutcomeRefusesWhatIsNone(t *testing.T) {
	for _, name := range []string{"", "Success", "ok", "success ", strings.Repeat("x", 1000)} {
		_, err := ParseOutcome(name)
		var bad *OutcomeError
		require.ErrorAs(t, err, &bad, name)
		assert.Less(t, len(err.Error()), 300)
	}
	for _, o := range []Outcome{0, Unfinished + 1, 255} {
		assert.False(t, o.Valid())
		assert.False(t, o.Throughput())
		_, err := json.Marshal(o)
		assert.Error(t, err)
	}
	assert.Equal(t, "Outcome(0)", Outcome(0).String())
}

func TestOutcomeThroughput(t *testing.T) {
	for _, o := range Outcomes() {
		assert.Equal(t, o != Dropped && o != Unfinished, o.Throughput(), o)
	}
}

func TestOutcomeOfStatus(t *testing.T) {
	type header = map[string][]string
	retry, reason := header{"Retry-After": {"1"}}, header{ReasonHeader: {"queue full"}}
	for _, c := range []struct {
		code   int
		header header
		want   Outcome
	}{
		{200, nil, Success}, {204, nil, Success}, {299, nil, Success},
		{301, nil, ClientError}, {400, nil, ClientError}, {404, retry, ClientError}, {499, nil, ClientError},
		{408, nil, Timeout}, {504, nil, Timeout}, {504, retry, Timeout},
		{429, nil, RateLimited}, {429, retry, RateLimited}, {429, reason, Rejected}, {429, header{ReasonHeader: {""}}, RateLimited},
		{503, nil, ServerError}, {503, reason, ServerError}, {503, retry, Rejected},
		{500, retry, ServerError}, {502, nil, ServerError}, {599, nil, ServerError},
		{0, nil, ServerError}, {-1, nil, ServerError}, {101, nil, ServerError}, {600, nil, ServerError},
	} {
		assert.Equal(t, c.want, OutcomeOfStatus(c.code, c.header), "%d %v", c.code, c.header)
	}
}
