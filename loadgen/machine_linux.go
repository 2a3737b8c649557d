package loadgen

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// host reads the times of the CPUs that this process may run on: proc_stat(5).
type host struct {
	file *os.File // stays open: later there may be no descriptor for it
	may  unix.CPUSet
}

func openHost() *host {
	h := new(host)
	if unix.SchedGetaffinity(os.Getpid(), &h.may) == nil {
		if f, err := os.Open("/proc/stat"); err == nil {
			h.file = f
		}
	}
	return h
}

func (h *host) close() {
	if h.file != nil {
		h.file.Close()
	}
}

func (h *host) times() hostTimes {
	if h.file == nil {
		return hostTimes{}
	}
	return hostTimesIn(io.NewSectionReader(h.file, 0, 1<<20), &h.may)
}

// tick is the unit of proc_stat(5): USER_HZ is 100 on all systems that Go runs on.
const tick = time.Second / 100

// hostTimesIn reads the lines "cpu0 user nice system idle iowait irq softirq steal …" of the CPUs in may. A guest's time is
// in user's and nice's already.
func hostTimesIn(r io.Reader, may *unix.CPUSet) (t hostTimes) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) < 9 || !strings.HasPrefix(f[0], "cpu") {
			break // those of the CPUs come first
		}
		cpu, err := strconv.Atoi(f[0][len("cpu"):])
		if err != nil || !may.IsSet(cpu) {
			continue // "cpu" alone is the sum of all
		}
		var ticks [8]time.Duration
		for i := range ticks {
			n, err := strconv.ParseInt(f[i+1], 10, 64)
			if err != nil {
				return hostTimes{}
			}
			ticks[i] = time.Duration(n) * tick
		}
		t.cpus++
		t.busy += ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]
		t.idle += ticks[3] + ticks[4]
		t.stolen += ticks[7]
	}
	return t
}
