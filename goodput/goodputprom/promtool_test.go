package goodputprom_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput/goodputprom"
)

// promtool is the path of Prometheus' own tool. Without it the test is skipped, unless GOODPUT_PROMETHEUS=required.
func promtool(t *testing.T) string {
	path, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("GOODPUT_PROMETHEUS") == "required" {
			require.NoError(t, err)
		}
		t.Skip("no promtool here: ", err)
	}
	return path
}

func TestPromtoolFindsNoFault(t *testing.T) {
	m := watch(t, chatText)
	c := goodputprom.New(m)
	c.Observe(request(rand.New(rand.NewPCG(1, 1))))
	var text bytes.Buffer
	for _, family := range gather(t, c) {
		_, err := expfmt.MetricFamilyToText(&text, family)
		require.NoError(t, err)
	}
	require.Contains(t, text.String(), "goodput_good_requests_total")
	cmd := exec.Command(promtool(t), "check", "metrics")
	cmd.Stdin = &text
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, string(out))
}
