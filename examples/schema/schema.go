// Package schema validates what the library writes against the JSON Schemas that it publishes, with a validator that knows nothing of
// it: a test to copy for whoever reads reports in another program or another language.
package schema

import (
	"bytes"
	"io/fs"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/goodputkit/goodputkit/goodput/report"
)

// base is where the schemas' identifiers are; nothing is fetched from there.
const base = "https://github.com/goodputkit/goodputkit/goodput/report/schema/"

// Schema is the published schema of that name, such as "report.json", ready to validate. change, which may be nil, changes each
// schema that there is before it is compiled.
func Schema(name string, change func(any)) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	files, err := fs.Glob(report.Schemas(), "*.json")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := fs.ReadFile(report.Schemas(), file)
		if err != nil {
			return nil, err
		}
		parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		if change != nil {
			change(parsed)
		}
		if err := c.AddResource(base+file, parsed); err != nil {
			return nil, err
		}
	}
	return c.Compile(base + name)
}
