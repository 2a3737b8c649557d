package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/goodput/monitor/promrules"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/openai"
	"github.com/goodputkit/goodputkit/slo"
)

// The service under load, with a real Prometheus that scrapes it and has the generated rules: both say the same goodput, a
// slowdown fires the fast alert of both, and its end resolves it in both. It is in real time, for Prometheus has a clock of
// its own.
func TestPrometheusSaysWhatTheMonitorSays(t *testing.T) {
	if os.Getenv("GOODPUT_PROMETHEUS") != "required" {
		t.Skip("takes a minute and Prometheus: GOODPUT_PROMETHEUS=required has it run")
	}
	const wide = 30 * time.Second // the window that is compared
	promise := slo.MustParse("ttft p95 < 2s, error_rate < 1%")
	fast := monitor.DefaultRules(promise.Objectives[0], time.Hour)[0]
	rules, err := promrules.Plan{SLO: promise, Period: time.Hour}.Rules()
	require.NoError(t, err)

	var log locked
	h, w, stop, err := build(promise, time.Hour, true, logTo(&log))
	require.NoError(t, err)
	t.Cleanup(func() { stop() })
	scrapes := &scrapeLog{watched: w, window: wide}
	w.metrics.MustRegister(scrapes.number())
	service := httptest.NewServer(scrapes.around(h))
	t.Cleanup(service.Close)
	prom := startPrometheus(t, service.URL, rules.YAML())
	end := time.Now().Add(5 * time.Minute) // of all that is waited for; it takes one minute

	stopLoad := putLoadOn(t, service.URL, promise)
	inMonitor := func() monitor.Alert {
		_, text := call(t, "GET", service.URL+"/goodput?format=json", "")
		var s monitor.State
		require.NoError(t, json.Unmarshal([]byte(text), &s))
		i := slices.IndexFunc(s.Alerts, func(a monitor.Alert) bool {
			return a.Objective == promise.Objectives[0].String() && a.Rule.Long == fast.Long
		})
		require.GreaterOrEqual(t, i, 0, text)
		return s.Alerts[i]
	}
	inPrometheus := func() bool {
		return slices.ContainsFunc(prom.alerts(t), func(a promAlert) bool {
			return a.State == "firing" && a.Labels["alertname"] == "GoodputBudgetBurnTicket2m" && a.Labels["objective"] == promise.Objectives[0].String()
		})
	}

	// The rule's own expression, over a window that is long against a scrape interval.
	expr := func(record string) string {
		i := slices.IndexFunc(rules.Group.Rules, func(r promrules.Rule) bool { return r.Record == record })
		require.GreaterOrEqual(t, i, 0, record)
		return strings.ReplaceAll(rules.Group.Rules[i].Expr, "[10s]", "["+wide.String()+"]")
	}
	goodputOf, attainmentOf := expr("slo:goodput_goodput:rate10s"), expr("slo:goodput_attainment:ratio_rate10s")
	poll(t, end, "a window that Prometheus and the monitor have seen whole", func() (bool, string) {
		newest := prom.samples(t, "test_scrape_number["+wide.String()+"]", time.Now())
		if len(newest) < 2 {
			return false, "no scrapes"
		}
		at := newest[len(newest)-1].at
		numbers, goods := prom.samples(t, "test_scrape_number["+wide.String()+"]", at), prom.samples(t, "goodput_good_requests_total["+wide.String()+"]", at)
		require.Len(t, goods, len(numbers))
		seen := make([]scrape, len(numbers))
		for i, n := range numbers {
			seen[i] = scrapes.get(int(n.v))
			require.Equal(t, n.at, goods[i].at)
			require.GreaterOrEqual(t, goods[i].v, float64(seen[i].before.Classes[0].Good), "the counter of a scrape is the monitor's")
			require.LessOrEqual(t, goods[i].v, float64(seen[i].after.Classes[0].Good), "the counter of a scrape is the monitor's")
		}
		first, last := seen[0], seen[len(seen)-1]
		// rate is exact where the window's edges are as near to a sample as samples are to each other, where the counter did not begin
		// within the window, and where samples have the instant at which they were taken: elsewhere it is a guess.
		took := at.Sub(numbers[0].at)
		mean := took / time.Duration(len(numbers)-1)
		edge := numbers[0].at.Sub(at.Add(-wide))
		if begin := goods[0].v; begin == 0 || begin*took.Seconds() < (goods[len(goods)-1].v-begin)*edge.Seconds() {
			return false, "load has not been on for the whole window"
		}
		late := max(first.before.Time.Sub(numbers[0].at).Abs(), last.before.Time.Sub(at).Abs())
		if edge > mean || late > wide/400 {
			return false, fmt.Sprintf("scrapes were missed or late: %v from the edge, one each %v, %v late", edge, mean, late)
		}

		// What a counter was at a scrape lies between what the monitor counted just before and just after it, and so does the
		// difference of two, however long a scrape took.
		promGoodput, promAttainment := prom.value(t, goodputOf, at), prom.value(t, attainmentOf, at)
		a, b, c, d := first.before.Classes[0], first.after.Classes[0], last.before.Classes[0], last.after.Classes[0]
		const rounding = 1e-9
		require.GreaterOrEqual(t, promGoodput, float64(c.Good-b.Good)/took.Seconds()*(1-rounding), "goodput between two scrapes")
		require.LessOrEqual(t, promGoodput, float64(d.Good-a.Good)/took.Seconds()*(1+rounding), "goodput between two scrapes")
		require.GreaterOrEqual(t, promAttainment, float64(c.Good-b.Good)/float64(d.Decided-a.Decided)*(1-rounding), "attainment between two scrapes")
		require.LessOrEqual(t, promAttainment, float64(d.Good-a.Good)/float64(c.Decided-b.Decided)*(1+rounding), "attainment between two scrapes")
		own := float64(c.Good-a.Good) / last.before.Time.Sub(first.before.Time).Seconds()

		// The monitor's window begins with a second, so that between two scrapes: its count lies between theirs.
		var least, most uint64
		for n := int(numbers[len(numbers)-1].v); n > 0; n-- {
			s := scrapes.get(n)
			if s.before.Time.After(last.window.From) {
				least = last.before.Classes[0].Good - s.before.Classes[0].Good
			}
			if s.after.Time.Before(last.window.From) {
				most = last.between.Classes[0].Good - s.after.Classes[0].Good
				break
			}
		}
		if most == 0 {
			return false, "the monitor's window begins before the first scrape"
		}
		require.LessOrEqual(t, least, last.window.Good)
		require.GreaterOrEqual(t, most, last.window.Good)
		off := math.Abs(float64(last.window.Goodput)/promGoodput - 1)
		t.Logf("goodput %.3f/s by PromQL, %.3f/s between the same scrapes, %.3f/s by the monitor's window (%.2f%% off)", promGoodput, own, float64(last.window.Goodput), 100*off)
		return off <= 0.01, fmt.Sprintf("the windows, which differ by less than a second, are %.2f%% apart", 100*off)
	})
	require.False(t, inPrometheus())
	require.Equal(t, monitor.Inactive, inMonitor().State)

	status, _ := call(t, "PUT", service.URL+"/try/slowdown?by=3s", "")
	require.Equal(t, http.StatusNoContent, status)
	began := time.Now()
	poll(t, end, "the alert of a slowdown", func() (bool, string) {
		m, p := inMonitor(), inPrometheus()
		gauge := prom.query(t, fmt.Sprintf(`goodput_alert_state{state="firing",objective=%q} == 1`, promise.Objectives[0]), time.Now())
		return m.State == monitor.Firing && p && len(gauge) > 0, fmt.Sprintf("monitor %v, Prometheus %t", m.State, p)
	})
	t.Logf("both fire %v after the slowdown began", time.Since(began).Round(time.Millisecond))

	status, _ = call(t, "PUT", service.URL+"/try/slowdown?by=0s", "")
	require.Equal(t, http.StatusNoContent, status)
	began = time.Now()
	poll(t, end, "the end of the alert", func() (bool, string) {
		m, p := inMonitor(), inPrometheus()
		return m.State != monitor.Firing && !p, fmt.Sprintf("monitor %v, Prometheus %t", m.State, p)
	})
	t.Logf("both have resolved %v after its end", time.Since(began).Round(time.Millisecond))
	require.Contains(t, log.String(), "goodput alert firing")
	require.Contains(t, log.String(), "goodput alert resolved")
	require.Less(t, strings.Index(log.String(), "goodput alert firing"), strings.Index(log.String(), "goodput alert resolved"))

	offered := stopLoad()
	poll(t, end, "the last requests", func() (bool, string) {
		c := w.monitor.Counters().Classes[0]
		return c.Offered == offered && c.InFlight == 0, fmt.Sprintf("the client made %d requests, the service counts %d", offered, c.Offered)
	})
}

// poll asks until it is so, or the time is over.
func poll(t *testing.T, end time.Time, what string, so func() (bool, string)) {
	t.Helper()
	for {
		ok, why := so()
		if ok {
			return
		}
		if time.Now().After(end) {
			require.FailNow(t, "it did not come to "+what, why)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// putLoadOn puts short requests on the service, evenly, until it is told to stop, which says how many they were.
func putLoadOn(t *testing.T, url string, s slo.SLO) (stop func() uint64) {
	target, err := openai.New(openai.Config{BaseURL: url, Model: engine().Model})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var enough atomic.Bool // those that have begun are not cancelled: one that is may have reached the service or not
	var res *loadgen.Result
	var all sync.WaitGroup
	all.Go(func() {
		res, err = loadgen.Run(ctx, target, loadgen.Plan{
			SLO: s, Arrivals: loadgen.Constant{Rate: 25}, Duration: 10 * time.Minute, Workload: func(yield func(*loadgen.Request) bool) {
				for !enough.Load() && yield(&loadgen.Request{Prompt: "what is goodput", MaxTokens: 4}) {
				}
			},
		})
	})
	t.Cleanup(func() { cancel(); all.Wait() })
	return func() uint64 {
		enough.Store(true)
		all.Wait()
		require.NoError(t, err)
		return res.Report.Offered
	}
}

// scrapeLog is what the monitor counted about each scrape.
type scrapeLog struct {
	*watched
	window time.Duration

	mu  sync.Mutex
	now int
	all map[int]scrape
}

// scrape is what the monitor counted just before and just after a scrape, and its window between the two.
type scrape struct {
	before, between, after *monitor.Counters // between: after the window
	window                 monitor.Window
}

func (l *scrapeLog) number() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "test_scrape_number", Help: "Which scrape this is."}, func() float64 {
		return float64(l.now) // only called within a scrape, which holds mu
	})
}

func (l *scrapeLog) get(n int) scrape {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[n]
}

func (l *scrapeLog) around(h http.Handler) http.Handler {
	l.all = map[int]scrape{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			h.ServeHTTP(w, r)
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.now++
		s := scrape{before: counters(l.monitor)}
		s.window, _ = l.monitor.Window(l.window)
		s.between = counters(l.monitor)
		h.ServeHTTP(w, r)
		s.after = counters(l.monitor)
		l.all[l.now] = s
	})
}

// counters are those of the one class that there is, from the start.
func counters(m *monitor.Monitor) *monitor.Counters {
	c := m.Counters()
	if len(c.Classes) == 0 {
		c.Classes = make([]monitor.ClassCounters, 1)
	}
	return c
}

// promServer is a Prometheus that runs, by its URL.
type promServer string

// startPrometheus starts one on a free port of loopback, which scrapes a service each second.
func startPrometheus(t *testing.T, service string, rules []byte) promServer {
	path, err := exec.LookPath("prometheus")
	require.NoError(t, err)
	dir := t.TempDir()
	config := fmt.Sprintf(`global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
scrape_configs: [{job_name: service, static_configs: [{targets: [%q]}]}]
`, strings.TrimPrefix(service, "http://"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prometheus.yaml"), []byte(config), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), rules, 0o600))

	// The shell ends it when this process does, however that comes about, for then nobody has the other end of its input.
	cmd := exec.Command("sh", "-c", `"$@" & read -r _; kill -9 $!; wait`, "sh", path, "--config.file="+filepath.Join(dir, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var said locked
	address := make(chan string, 1)
	var read sync.WaitGroup
	read.Go(func() {
		listens := regexp.MustCompile(`address=(127\.0\.0\.1:[1-9]\d*)`)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			fmt.Fprintln(&said, lines.Text())
			if m := listens.FindStringSubmatch(lines.Text()); m != nil {
				select {
				case address <- m[1]:
				default:
				}
			}
		}
		io.Copy(io.Discard, stderr)
	})
	t.Cleanup(func() {
		stdin.Close()
		read.Wait()
		cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	var p promServer
	select {
	case a := <-address:
		p = promServer("http://" + a)
	case <-time.After(time.Minute):
		require.FailNow(t, "Prometheus does not listen", said.String())
	}
	poll(t, time.Now().Add(time.Minute), "a Prometheus that is ready", func() (bool, string) {
		resp, err := http.Get(string(p) + "/-/ready")
		if err != nil {
			return false, err.Error()
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK, resp.Status
	})
	return p
}

func (p promServer) get(t *testing.T, path string, into any) {
	t.Helper()
	status, text := call(t, "GET", string(p)+path, "")
	require.Equal(t, http.StatusOK, status, text)
	require.NoError(t, json.Unmarshal([]byte(text), into), text)
}

type promAlert struct {
	Labels map[string]string `json:"labels"`
	State  string            `json:"state"`
}

func (p promServer) alerts(t *testing.T) []promAlert {
	t.Helper()
	var answer struct{ Data struct{ Alerts []promAlert } }
	p.get(t, "/api/v1/alerts", &answer)
	return answer.Data.Alerts
}

type sample struct {
	at time.Time
	v  float64
}

// UnmarshalJSON reads [seconds, "value"].
func (s *sample) UnmarshalJSON(b []byte) error {
	var seconds float64
	var text string
	if err := json.Unmarshal(b, &[]any{&seconds, &text}); err != nil {
		return err
	}
	var err error
	s.at = time.UnixMilli(int64(math.Round(seconds * 1000)))
	s.v, err = strconv.ParseFloat(text, 64)
	return err
}

type series struct {
	Value  sample   // of an instant vector
	Values []sample // of a range
}

func (p promServer) query(t *testing.T, expr string, at time.Time) []series {
	t.Helper()
	var answer struct{ Data struct{ Result []series } }
	p.get(t, "/api/v1/query?"+url.Values{"query": {expr}, "time": {strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', 3, 64)}}.Encode(), &answer)
	return answer.Data.Result
}

// samples are those of the one series that there is; nil: there is none yet.
func (p promServer) samples(t *testing.T, expr string, at time.Time) []sample {
	t.Helper()
	all := p.query(t, expr, at)
	if len(all) == 0 {
		return nil
	}
	require.Len(t, all, 1, expr)
	return all[0].Values
}

func (p promServer) value(t *testing.T, expr string, at time.Time) float64 {
	t.Helper()
	all := p.query(t, expr, at)
	require.Len(t, all, 1, expr)
	return all[0].Value.v
}
