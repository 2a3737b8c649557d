package exposition

import (
	"strconv"
	"strings"
	"time"
)

// Duration is d as Prometheus writes a duration, rounded to the millisecond, which is its smallest unit: 30d, 1h30m, 5m, 1s500ms.
func Duration(d time.Duration) string {
	d = d.Round(time.Millisecond)
	if d < time.Millisecond {
		return "0s"
	}
	var b strings.Builder
	for _, unit := range []struct {
		name string
		is   time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}} {
		if n := d / unit.is; n > 0 {
			b.WriteString(strconv.FormatInt(int64(n), 10))
			b.WriteString(unit.name)
			d -= n * unit.is
		}
	}
	return b.String()
}
