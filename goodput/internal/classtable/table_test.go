package classtable

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

// The classes that are named from the start, the default and other take nobody's place, and what has none is other.
func TestPlacesOfClasses(t *testing.T) {
	var table Table[int]
	var mu sync.Mutex
	var made []string
	add := func(name string, index int) int { made = append(made, name); return index }
	table.Init(2, []string{"named", slo.DefaultClass}, add)
	before := table.Load()
	longest, over := strings.Repeat("x", MaxName), strings.Repeat("x", MaxName+1)
	for _, one := range []struct {
		class, want string
		elsewhere   bool
	}{
		{"named", "named", false}, {"", "default", false}, {"default", "default", false},
		{over, "other", true}, {"a\xff", "other", true}, // an exporter would refuse one, and the other is no name
		{"other", "other", false}, {longest, longest, false},
		{"b", "b", false}, {"c", "other", true}, {"b", "b", false}, {"named", "named", false}, {"", "default", false},
	} {
		index, elsewhere := table.Of(one.class, &mu, add)
		require.Equal(t, one.want, made[index])
		require.Equal(t, one.elsewhere, elsewhere, one.class)
	}
	require.Equal(t, []string{"named", "default", "other", longest, "b"}, made)
	require.Equal(t, []int{0, 1, 2, 3, 4}, table.Load().All)
	require.Equal(t, []int{0, 1}, before.All, "a list that somebody reads does not change")
	require.Len(t, before.ByName, 2)
}

func TestFits(t *testing.T) {
	var table Table[int]
	table.Init(2, []string{"named"}, func(_ string, index int) int { return index })
	l := table.Load()
	require.True(t, l.Fits([]string{"named", "a", "default", "other", "b"}))
	require.False(t, l.Fits([]string{"named", "a", "b", "c"}))
	require.False(t, l.Fits([]string{"a\xff"}))
	require.True(t, l.Fits([]string{"a", "b"}), "nothing was taken")
}

// Each of the names that many ask for at once is made once.
func TestAFloodOfClasses(t *testing.T) {
	var table Table[string]
	var mu sync.Mutex
	made := map[string]int{}
	add := func(name string, _ int) string { made[name]++; return name } // under mu
	table.Init(10, nil, add)
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 5000 {
				name := fmt.Sprint(g%2, "-", i)
				if of, elsewhere := table.Of(name, &mu, add); of != name && (of != Other || !elsewhere) {
					panic(of)
				}
			}
		})
	}
	all.Wait()
	require.Len(t, made, 11)
	for name, n := range made {
		require.Equal(t, 1, n, name)
	}
}
