package loadgen

import (
	"os"
	"path"
	"strconv"
	"strings"
)

// quotas reads those of the process's control group and of the groups above it, by their directory, below root ("" in
// earnest): cpu.stat has them in version 2 of control groups, and under another name in version 1.
func quotas(root string) map[string]quota {
	qs := map[string]quota{}
	groups, err := os.ReadFile(root + "/proc/self/cgroup")
	if err != nil {
		return qs
	}
	for line := range strings.Lines(string(groups)) {
		_, line, _ = strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(line, ":")
		dir := "/sys/fs/cgroup"
		switch {
		case controllers == "":
		case strings.Contains(","+controllers+",", ",cpu,"):
			dir += "/cpu"
		default:
			continue
		}
		// In a container the name of the group need not be there: its own is the root then.
		for group = path.Clean("/" + group); ; group = path.Dir(group) {
			if stat, err := os.ReadFile(root + dir + group + "/cpu.stat"); err == nil {
				if q := quotaIn(string(stat)); q.periods > 0 {
					qs[dir+group] = q
				}
			}
			if group == "/" {
				break
			}
		}
	}
	return qs
}

func quotaIn(stat string) (q quota) {
	for line := range strings.Lines(stat) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			continue
		}
		switch name {
		case "nr_periods":
			q.periods = n
		case "nr_throttled":
			q.halted = n
		}
	}
	return q
}
