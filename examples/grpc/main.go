// Command grpc measures a gRPC service whose method streams its answer. The service is its own, on loopback; the target is
// what one copies: it tells a trace when each message came, and makes a gRPC status the outcome that it is.
//
//	go run ./examples/grpc
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/slo"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "grpc:", err)
		os.Exit(1)
	}
}

func run() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := newServer(writer{first: 20 * time.Millisecond, step: 5 * time.Millisecond, slots: make(chan struct{}, 8)})
	go server.Serve(listener)
	defer server.Stop()
	conn, err := connect(listener.Addr().String())
	if err != nil {
		return err
	}
	defer conn.Close()
	report, err := measure(context.Background(), conn, 50, 5*time.Second)
	if err != nil {
		return err
	}
	_, err = fmt.Print(report)
	return err
}

// connect opens nothing yet: the first request does.
func connect(addr string, opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient(addr, append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy(),      // whatever the environment says
		grpc.WithDisableRetry(), // a retry would hide a failure
	}, opts...)...)
}

// measure puts so many requests/s on the service for so long.
func measure(ctx context.Context, conn *grpc.ClientConn, rate float64, duration time.Duration) (*goodput.Report, error) {
	result, err := loadgen.Run(ctx, target{conn}, loadgen.Plan{
		SLO:      slo.MustParse("ttft p95 < 100ms, itl p95 < 50ms, error_rate < 5%"),
		Arrivals: loadgen.Poisson{Rate: rate, Seed: 1},
		Workload: func(yield func(*loadgen.Request) bool) {
			for yield(&loadgen.Request{Prompt: "goodput is what users get of all the work that is done"}) {
			}
		},
		Warmup:   time.Second,
		Duration: duration,
		Timeout:  2 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	return result.Report, nil
}
