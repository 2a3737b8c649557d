package panicsite

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFind(t *testing.T) {
	assert.Empty(t, Find(), "nobody panics")
	_, file, line, _ := runtime.Caller(0)
	where := ""
	func() {
		defer func() {
			assert.NotNil(t, recover())
			where = Find()
		}()
		var nobody *int
		*nobody = 1
	}()
	assert.Equal(t, fmt.Sprintf("%s:%d", filepath.Base(file), line+8), where)
}
