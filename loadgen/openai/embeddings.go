package openai

import (
	"fmt"

	"github.com/tidwall/gjson"
)

// takeEmbeddings takes a list of embeddings: one for each input, as numbers or in base64.
func (a *answer) takeEmbeddings(json string) (err error) {
	c := &a.chunk
	*c = chunk{}
	n := 0
	gjson.Parse(json).ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "data":
			c.choices = v.IsArray()
			v.ForEach(func(_, v gjson.Result) bool {
				e := v.Get("embedding")
				if number := e.Get("0"); !(e.Type == gjson.String && e.Str != "" || e.IsArray() && number.Type == gjson.Number) {
					err = a.malformed(fmt.Sprintf("embedding %d is neither numbers nor base64", n), []byte(v.Raw))
					return false
				}
				n++
				return true
			})
		case "usage":
			if v.Type == gjson.JSON {
				a.usage(v)
				a.out = 0 // some servers repeat the input's count there
			}
		case "error":
			if v.Type == gjson.JSON || v.Type == gjson.String && v.Str != "" {
				c.err = v
			}
		}
		return err == nil
	})
	if err == nil && !c.err.Exists() && c.choices && n < a.choices {
		err = a.malformed(fmt.Sprintf("%d embeddings for %d inputs", n, a.choices), nil)
	}
	return err
}
