package loadgen

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestQuotas(t *testing.T) {
	const v1, v2 = "nr_periods 40\nnr_throttled 7\nthrottled_time 123456\n", "usage_usec 9\nnr_periods 50\nnr_throttled 8\nthrottled_usec 12\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  map[string]quota
	}{
		"version 2, and the group above": {map[string]string{
			"proc/self/cgroup":                 "0::/pod/box\n",
			"sys/fs/cgroup/pod/box/cpu.stat":   v2,
			"sys/fs/cgroup/pod/cpu.stat":       v1,
			"sys/fs/cgroup/pod/other/cpu.stat": v1,
			"sys/fs/cgroup/cpu.stat":           "usage_usec 9\n",
		}, map[string]quota{"/sys/fs/cgroup/pod/box": {50, 8}, "/sys/fs/cgroup/pod": {40, 7}}},
		"version 1, in a container": {map[string]string{
			"proc/self/cgroup":             "9:name=systemd:/x\n4:memory:/docker/abc\n1:cpu,cpuacct:/docker/abc\n",
			"sys/fs/cgroup/cpu/cpu.stat":   v1,
			"sys/fs/cgroup/cpuacct/stat":   v2,
			"sys/fs/cgroup/memory/x.limit": "1",
		}, map[string]quota{"/sys/fs/cgroup/cpu/": {40, 7}}},
		"no quota":          {map[string]string{"proc/self/cgroup": "1:cpu:/\n", "sys/fs/cgroup/cpu/cpu.stat": "nr_periods 0\nnr_throttled 0\n"}, map[string]quota{}},
		"no number":         {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.stat": "nr_periods\nnr_throttled x\nnr_periods -1\n"}, map[string]quota{}},
		"no groups":         {nil, map[string]quota{}},
		"a stranger's file": {map[string]string{"proc/self/cgroup": "\n0\n0:\n::../../..\n"}, map[string]quota{}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range c.files {
				require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(file)), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(root, file), []byte(text), 0o644))
			}
			assert.Equal(t, c.want, quotas(root))
		})
	}
}

func TestWorstQuota(t *testing.T) {
	before := map[string]quota{"a": {100, 10}, "b": {100, 50}, "idle": {7, 7}, "again": {900, 9}}
	after := map[string]quota{"a": {200, 12}, "b": {110, 51}, "idle": {7, 7}, "again": {1, 1}, "new": {1000, 99}}
	assert.Equal(t, quota{10, 1}, worst(before, after))
	assert.Equal(t, quota{10, 0}, worst(nil, map[string]quota{"a": {10, 0}}))
	assert.Zero(t, worst(before, before))
	assert.Zero(t, worst(nil, nil))
}
