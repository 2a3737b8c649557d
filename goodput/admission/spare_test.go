package admission

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

func TestSpare(t *testing.T) {
	for _, share := range []float64{0, -1, math.NaN()} {
		s := Spare{Share: share}
		s.Offered()
		require.False(t, s.Let(), "%v", share)
	}
	lets := func(s *Spare, offered int, late func(i int) bool) (let int) {
		for i := range offered {
			s.Offered()
			if late(i) && s.Let() {
				let++
			}
		}
		return let
	}
	none := func(int) bool { return false }
	s := Spare{Share: 0.05}
	lets(&s, 100_000, none)
	let := 0
	for range 30 {
		if s.Let() {
			let++
		}
	}
	require.Equal(t, 8, let, "at once no more, though 100 are saved")
	require.True(t, s.Dry())
	lets(&s, 49, none) // 0.08 each
	require.True(t, s.Dry(), "four are not at hand yet")
	lets(&s, 1, none)
	require.False(t, s.Dry())
	require.True(t, s.Let())

	// 3 % that are late are within the 4 % that may be.
	s = Spare{Share: 0.05}
	require.Equal(t, 297, lets(&s, 10_000, func(i int) bool { return i >= 100 && i%100 < 3 }))

	// 7 % are more than the 4 % that are saved and less than the 8 % that may be spent: what was saved lasts as long as it lasts.
	s = Spare{Share: 0.05}
	lets(&s, 100_000, none)
	seventh := func(i int) bool { return i%100 < 7 }
	require.Equal(t, 210, lets(&s, 3000, seventh), "100 and 4 % are 220")
	require.Less(t, lets(&s, 3000, seventh), 140, "4 %, and what was left")

	// 30 % are an overload, whatever was saved; what is refused for it is not taken off.
	s = Spare{Share: 0.05}
	lets(&s, 100_000, none)
	require.Less(t, lets(&s, 3000, func(i int) bool { return i%10 < 3 }), 20)
	require.Equal(t, spareMost, s.saved)
}

// What was let through and was in time nevertheless has cost nothing, and is not saved up beyond what can be.
func TestSpareOfWhatIsInTimeNevertheless(t *testing.T) {
	s := Spare{Share: 0.05}
	for range 100 { // 4 are saved, 8 at hand
		s.Offered()
	}
	for range 1000 {
		require.True(t, s.Let())
		s.InTime()
	}
	for range 4 {
		require.True(t, s.Let())
	}
	require.False(t, s.Let())
	for range 3 {
		s.InTime()
	}
	require.False(t, s.Let(), "four are not saved yet")
	for range 200 {
		s.InTime()
	}
	require.Equal(t, []float64{spareMost, spareHand}, []float64{s.saved, s.atHand})
	require.True(t, s.Let())
	none := Spare{}
	none.InTime()
	require.False(t, none.Let())
}

// A scheduler gives back what was spent for one that was predicted to be late and was not: by its first token, or by its end where its
// answer is one piece that is whole. What was late, or has failed, has been spent.
func TestSchedulerSparesNothingForWhatIsInTime(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(s *Scheduler, x *Ticket, now time.Time)
		back bool
	}{
		{"a first token", func(s *Scheduler, x *Ticket, now time.Time) { s.FirstToken(now, x); s.Done(now, x, goodput.Success) }, true},
		{"an answer of one piece", func(s *Scheduler, x *Ticket, now time.Time) { s.Done(now, x, goodput.Success) }, true},
		{"a failure", func(s *Scheduler, x *Ticket, now time.Time) { s.Done(now, x, goodput.ServerError) }, false},
		{"late", func(s *Scheduler, x *Ticket, now time.Time) { s.FirstToken(now.Add(2*time.Second), x) }, false},
	} {
		s := scheduler(t, Config{SLO: slo.MustParse("ttft p90 < 2s")})
		running, now := full(t, s)
		for range 50 { // 0.08 each
			s.def.spare.Offered()
		}
		s.Arrive(now, one(Request{}))
		s.Arrive(now, one(Request{}))
		x := s.Arrive(now, one(Request{}))
		require.True(t, x.spared)
		spent := s.def.spare
		for range 3 { // the two others, and it: all of them sooner than they were predicted to be
			s.Done(now.Add(100*time.Millisecond), running, goodput.ClientError)
			running = s.Decided()[0]
		}
		require.Equal(t, x, running)
		require.Equal(t, spent.saved, s.def.spare.saved)
		c.end(s, x, now.Add(time.Second))
		want := spent.saved
		if c.back {
			want++
		}
		require.Equal(t, want, s.def.spare.saved, c.name)
	}
}
