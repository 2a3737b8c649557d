package main

import (
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	service = "goodputkit.example.Writer"
	method  = "/" + service + "/Write"
)

// writer streams the words of what it is given. It writes as many answers at once as it has slots, and refuses the rest.
type writer struct {
	first, step time.Duration // until the first word, and from word to word
	slots       chan struct{}
}

// Write is the method: of a StringValue it makes a stream of them.
func (w writer) Write(stream grpc.ServerStream) error {
	var text wrapperspb.StringValue
	if err := stream.RecvMsg(&text); err != nil {
		return err
	}
	select {
	case w.slots <- struct{}{}:
		defer func() { <-w.slots }()
	default:
		return status.Error(codes.ResourceExhausted, "every slot is taken")
	}
	words := strings.Fields(text.Value)
	if len(words) == 0 {
		return status.Error(codes.InvalidArgument, "there is no text")
	}
	wait := w.first
	for _, word := range words {
		select {
		case <-time.After(wait):
		case <-stream.Context().Done():
			return status.FromContextError(stream.Context().Err()).Err()
		}
		if err := stream.SendMsg(wrapperspb.String(word)); err != nil {
			return err
		}
		wait = w.step
	}
	return nil
}

// newServer has the service. Its description is what protoc would generate; the messages are ready-made ones.
func newServer(w writer) *grpc.Server {
	s := grpc.NewServer()
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: service,
		HandlerType: (*interface{ Write(grpc.ServerStream) error })(nil),
		Streams: []grpc.StreamDesc{{
			StreamName:    "Write",
			ServerStreams: true,
			Handler:       func(srv any, stream grpc.ServerStream) error { return srv.(writer).Write(stream) },
		}},
	}, w)
	return s
}
