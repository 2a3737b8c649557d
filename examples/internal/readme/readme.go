// Package readme has tests hold what README.md shows of a command against what the command prints. README.md is of another
// module, so that go test does not see that it has changed: -count 1 has it look again.
package readme

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var quoted = regexp.MustCompile(`'[^']*'|\S+`)

// Shown is the arguments of the first command in README.md that begins with command and has an output beneath it, in a block
// that names no language, and the lines of that output. A test with it runs in the root of the repository from then on.
func Shown(t *testing.T, command string) (args, lines []string) {
	t.Helper()
	t.Chdir("../..")
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	shown := regexp.MustCompile("`" + regexp.QuoteMeta(command) + "([^`\n]*)`[^`\n]*(?:`[^`\n]*`[^`\n]*)*:\n\n```\n([^`]*)```").FindSubmatch(text)
	require.NotNil(t, shown, "README.md shows no output of %s", command)
	for _, arg := range quoted.FindAllString(string(shown[1]), -1) {
		args = append(args, strings.Trim(arg, "'"))
	}
	return args, strings.Split(strings.TrimSpace(string(shown[2])), "\n")
}

// Prints requires that output has all of the lines, in their order, with others between them or not. How wide columns and
// the spaces between them are depends on the rows that are left out, and does not matter.
func Prints(t *testing.T, output string, lines []string) {
	t.Helper()
	rest := strings.Split(output, "\n")
	for _, line := range lines {
		want, at := strings.Fields(line), 0
		for at < len(rest) && strings.Join(strings.Fields(rest[at]), " ") != strings.Join(want, " ") {
			at++
		}
		require.Less(t, at, len(rest), "README.md has a line that is not printed, or not in that place:\n%s\nof:\n%s", line, output)
		rest = rest[at+1:]
	}
}
