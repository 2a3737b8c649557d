package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
)

// memory is a network without sockets, which do not stop a bubble's clock.
type memory struct {
	mu        sync.Mutex
	next      uint16
	listeners map[string]*pipes
}

func (m *memory) network() network { return network{m.listen, m.dial} }

func (m *memory) listen(addr string) (net.Listener, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := netip.MustParseAddrPort(addr)
	if at.Port() == 0 {
		m.next++
		at = netip.AddrPortFrom(at.Addr(), m.next)
	}
	if m.listeners == nil {
		m.listeners = map[string]*pipes{}
	}
	if m.listeners[at.String()] != nil {
		return nil, fmt.Errorf("%v is taken", at)
	}
	p := &pipes{m: m, at: at, conns: make(chan net.Conn), done: make(chan struct{})}
	m.listeners[at.String()] = p
	return p, nil
}

func (m *memory) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	m.mu.Lock()
	p := m.listeners[addr]
	m.mu.Unlock()
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	if p == nil {
		return nil, refused
	}
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.done:
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: ctx.Err()}
	}
	return nil, refused
}

// pipes is a listener.
type pipes struct {
	m     *memory
	at    netip.AddrPort
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() {
		close(p.done)
		p.m.mu.Lock()
		defer p.m.mu.Unlock()
		delete(p.m.listeners, p.at.String())
	})
	return nil
}

func (p *pipes) Addr() net.Addr { return net.TCPAddrFromAddrPort(p.at) }
