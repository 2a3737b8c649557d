package readme_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// given is what the blocks take as given.
const given = `package blocks

var (
	after, before *goodput.Report
	acc           *goodput.Accumulator
	api, proxy    http.Handler
	body          func(*loadgen.Request) io.Reader
	callMyService func(context.Context, string) error
	comment, page io.Writer
	ctx           context.Context
	m             *monitor.Monitor
	mux           *http.ServeMux
	plan          loadgen.Plan
	record        goodput.Record
	result        *loadgen.Result
	s             slo.SLO
	start         time.Time
	t             *testing.T
	target        loadgen.Target
)
`

var (
	fence    = regexp.MustCompile("(?ms)^( *)```go\n(.*?)^ *```$")
	word     = regexp.MustCompile(`\b([a-z]\w*)\.[A-Z]`)
	notes    = regexp.MustCompile(`//.*|"[^"\n]*"`)
	unused   = regexp.MustCompile(`declared and not used|^#`)
	packages = map[string]string{
		"context": "context", "errors": "errors", "fmt": "fmt", "httptest": "net/http/httptest", "http": "net/http", "io": "io", "os": "os",
		"prometheus": "github.com/prometheus/client_golang/prometheus", "promhttp": "github.com/prometheus/client_golang/prometheus/promhttp",
		"require": "github.com/stretchr/testify/require", "slog": "log/slog", "synctest": "testing/synctest", "testing": "testing", "time": "time",
	}
)

func init() {
	for _, path := range []string{"goodput", "goodput/admission", "goodput/compat", "goodput/curve", "goodput/goodputhttp", "goodput/goodputotel",
		"goodput/goodputprom", "goodput/goodputtest", "goodput/monitor", "goodput/monitor/promrules", "goodput/report", "loadgen", "loadgen/capacity",
		"loadgen/httptarget", "loadgen/llmsim", "loadgen/openai", "loadgen/workload", "percentile", "slo"} {
		packages[filepath.Base(path)] = "github.com/goodputkit/goodputkit/" + path
	}
}

// file is src, of package blocks, with the imports that it needs.
func file(src string) string {
	var imports []string
	for _, found := range word.FindAllStringSubmatch(notes.ReplaceAllString(src, ""), -1) {
		if path := packages[found[1]]; path != "" && !slices.Contains(imports, path) {
			imports = append(imports, path)
		}
	}
	head := "package blocks\n"
	for _, path := range imports {
		head += fmt.Sprintf("import %q\n", path)
	}
	return head + strings.TrimPrefix(src, "package blocks\n")
}

// TestCodeInThePagesCompiles: a variable that a block leaves for its reader to use is no fault, anything else is one.
// go test does not see that a page of another module has changed: -count 1 has it look again.
func TestCodeInThePagesCompiles(t *testing.T) {
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	dir, scratch := filepath.Join(root, "examples", "internal", "blocks"), t.TempDir()
	overlay := map[string]string{}
	add := func(name, src string) {
		t.Helper()
		at := filepath.Join(scratch, name)
		require.NoError(t, os.WriteFile(at, []byte(file(src)), 0o600))
		overlay[filepath.Join(dir, name)] = at
	}
	add("given.go", given)
	blocks := 0
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, at := range fence.FindAllSubmatchIndex(text, -1) {
			blocks++
			line := strings.Count(string(text[:at[4]]), "\n") + 1
			code := strings.ReplaceAll(string(text[at[4]:at[5]]), "…\n", "\n") // something that is left out
			add(fmt.Sprintf("block%d.go", blocks), fmt.Sprintf("func block%d() error {\n//line %s:%d\n%s\npanic(0)\n}\n", blocks, filepath.Base(page), line, code))
		}
	}
	require.Greater(t, blocks, 10)
	replace, err := json.Marshal(map[string]any{"Replace": overlay})
	require.NoError(t, err)
	config := filepath.Join(scratch, "overlay.json")
	require.NoError(t, os.WriteFile(config, replace, 0o600))
	cmd := exec.Command("go", "build", "-gcflags=-e", "-overlay", config, "./examples/internal/blocks")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOWORK="+filepath.Join(root, "go.work")) // a page may show any module of the workspace
	out, err := cmd.CombinedOutput()
	if err == nil {
		return
	}
	var faults []string
	for line := range strings.Lines(string(out)) {
		if !unused.MatchString(line) {
			faults = append(faults, strings.TrimSpace(line))
		}
	}
	require.Empty(t, faults)
	require.Contains(t, string(out), "declared and not used", "the compiler did not get as far as this")
}
