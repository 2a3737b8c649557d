package main

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/slo"
)

// inBubble does f in a bubble of its own; synctest.Test wants a T.
func inBubble(f func() error) (wait, error) {
	var err error
	synctest.Test(new(testing.T), func(*testing.T) { err = f() })
	return nil, err
}

func sleeper(ctx context.Context) error {
	select {
	case <-time.After(time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// bareBubble is a goroutine for each request, with a context that ends it in time.
func bareBubble(_ context.Context, l load) (wait, error) {
	return inBubble(func() error {
		_, err := paced(l, byTimer, func(int) error {
			ctx, cancel := context.WithTimeout(context.Background(), loadgen.DefaultTimeout)
			defer cancel()
			return sleeper(ctx)
		})
		return err
	})
}

func runBubble(_ context.Context, l load) (wait, error) {
	return inBubble(func() error {
		res, err := loadgen.Run(context.Background(),
			loadgen.TargetFunc(func(ctx context.Context, _ *loadgen.Request, _ *loadgen.Trace) error { return sleeper(ctx) }),
			loadgen.Plan{
				SLO:      slo.MustParse("e2e p95 < 10s, error_rate < 1%"),
				Arrivals: loadgen.Constant{Rate: l.rate()},
				Requests: l.Requests,
			})
		if err == nil && res.Report.Good != uint64(l.Requests) {
			err = fmt.Errorf("%d good of %d", res.Report.Good, l.Requests)
		}
		return err
	})
}
