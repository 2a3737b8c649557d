package main

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
)

// target calls a method that streams its answer. A generated client takes the place of NewStream.
type target struct{ conn *grpc.ClientConn }

// Do performs one call. Each message is a token event.
func (t target) Do(ctx context.Context, req *loadgen.Request, trace *loadgen.Trace) error {
	ctx, cancel := context.WithCancel(ctx) // a stream that is left alone has to be told
	defer cancel()
	trace.Sent()
	stream, err := t.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
	if err != nil {
		return outcome(err, false)
	}
	// Where SendMsg says EOF, RecvMsg says why.
	if err := stream.SendMsg(wrapperspb.String(req.Prompt)); err != nil && !errors.Is(err, io.EOF) {
		return outcome(err, false)
	}
	if err := stream.CloseSend(); err != nil {
		return outcome(err, false)
	}
	var word wrapperspb.StringValue
	for some := false; ; some = true {
		err := stream.RecvMsg(&word)
		if errors.Is(err, io.EOF) { // the status is OK: the answer is complete
			return nil
		}
		if err != nil {
			return outcome(err, some)
		}
		trace.FirstByte()
		trace.Token(1)
	}
}

// Describe says that an answer without a message is empty.
func (t target) Describe() loadgen.Description {
	return loadgen.Description{Name: "gRPC " + method + " at " + t.conn.Target(), Tokens: true}
}

// outcome is what a gRPC status means; some says that there were messages before it.
func outcome(err error, some bool) error {
	s := status.Convert(err)
	o := goodput.ServerError
	switch s.Code() {
	case codes.DeadlineExceeded:
		o = goodput.Timeout
	case codes.Canceled:
		o = goodput.Cancelled
	case codes.ResourceExhausted:
		o = goodput.RateLimited
	case codes.Unavailable: // gRPC's word for a connection that was lost, or never was
		o = goodput.ConnectionError
		if some {
			o = goodput.Truncated
		}
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied, codes.FailedPrecondition,
		codes.OutOfRange, codes.Unimplemented, codes.Unauthenticated:
		o = goodput.ClientError
	}
	return loadgen.Fail(o, s.Message())
}
