package goodputkit

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/goodputkit/goodputkit"

// floor is how high a package stands; an import has to go to a lower floor, or to what beside allows.
func floor(pkg string) int {
	if pkg == module {
		return 4
	}
	top, _, _ := strings.Cut(strings.TrimPrefix(pkg, module+"/"), "/")
	switch top {
	case "internal":
		return 0
	case "slo", "percentile":
		return 1
	case "goodput":
		return 2
	case "loadgen":
		return 3
	}
	return -1
}

// beside is which packages of its own room a package may import.
var beside = map[string][]string{
	"goodput":                   {"goodput/internal/classtable"},
	"goodput/curve":             {"goodput"},
	"goodput/compat":            {"goodput"},
	"goodput/posthoc":           {"goodput"},
	"goodput/report":            {"goodput", "goodput/curve", "goodput/posthoc"},
	"goodput/monitor":           {"goodput", "goodput/internal/classtable"},
	"goodput/admission":         {"goodput"},
	"goodput/goodputhttp":       {"goodput", "goodput/monitor"},
	"goodput/goodputtest":       {"goodput"},
	"goodput/monitor/openslo":   {"goodput/monitor", "goodput/internal/exposition"},
	"goodput/monitor/promrules": {"goodput/monitor", "goodput/internal/exposition"},
	// What those share who export to a metrics system and those who write queries on it.
	"goodput/internal/exposition": nil,
	"goodput/internal/exporter":   {"goodput", "goodput/monitor", "goodput/internal/exposition"},
	"loadgen/workload":            {"loadgen"},
	"loadgen/openai":              {"loadgen", "loadgen/internal/httpclient"},
	"loadgen/httptarget":          {"loadgen", "loadgen/internal/httpclient"},
	"loadgen/llmsim":              {"loadgen"},
	"loadgen/capacity":            {"loadgen"},
	// What targets over HTTP share and no user does; it knows loadgen, so that it cannot be on the ground floor.
	"loadgen/internal/httpclient": {"loadgen"},
	"internal/chatevent":          {"internal/wellformed"},
}

func TestArrowsOnlyGoDown(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	require.NoError(t, err)
	seen := 0
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; seen++ {
		var p struct {
			ImportPath string
			Imports    []string
		}
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		from := floor(p.ImportPath)
		require.GreaterOrEqual(t, from, 0, "%s stands on no floor", p.ImportPath)
		for _, imp := range p.Imports {
			if !strings.HasPrefix(imp, module) {
				continue
			}
			to := floor(imp)
			require.GreaterOrEqual(t, to, 0, "%s imports %s, which stands on no floor", p.ImportPath, imp)
			if to == from {
				name := strings.TrimPrefix(p.ImportPath, module+"/")
				require.Contains(t, beside[name], strings.TrimPrefix(imp, module+"/"), "%s may not import %s", p.ImportPath, imp)
				continue
			}
			require.Less(t, to, from, "%s imports %s, which stands higher", p.ImportPath, imp)
		}
	}
	require.Greater(t, seen, 4, "go list saw the packages")
}

// pointersOnly are the exported types whose Marshal… and String methods a copy does not have, because they have a lock.
var pointersOnly = map[string]bool{"percentile.Digest": true, "goodput.Accumulator": true, "monitor.Monitor": true}

// A method that prints or marshals is there for a copy, too: without it fmt and encoding/json show what is inside, or nothing.
func TestCopiesPrintAndMarshal(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "internal/") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "String" && !strings.HasPrefix(f.Name.Name, "Marshal") {
				continue
			}
			star, ok := f.Recv.List[0].Type.(*ast.StarExpr)
			if seen++; !ok {
				continue
			}
			if name, ok := star.X.(*ast.Ident); ok && name.IsExported() && file.Name.Name != "main" {
				require.True(t, pointersOnly[file.Name.Name+"."+name.Name], "%s: a copy of a %s has no %s", path, name.Name, f.Name.Name)
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, seen, 20)
}
