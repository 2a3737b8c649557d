package memnet

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := http.Client{Transport: Serve(t, &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Hour)
			_, _ = io.WriteString(w, r.Host)
		})})}
		begin := time.Now()
		resp, err := client.Get("http://anything/")
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, "anything", string(body))
		require.Equal(t, time.Hour, time.Since(begin))
	})
}

func TestNobodyAccepts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Listen()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := l.Dial(ctx, "", "")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, l.Close())
		require.NoError(t, l.Close())
		_, err = l.Dial(t.Context(), "", "")
		require.ErrorIs(t, err, net.ErrClosed)
		_, err = l.Accept()
		require.ErrorIs(t, err, net.ErrClosed)
	})
}
