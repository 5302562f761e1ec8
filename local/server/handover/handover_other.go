//go:build !unix

package handover

import (
	"context"
	"log/slog"
)

// Offer does nothing: processes of this system cannot be given sockets.
func Offer(context.Context, *Socket, *slog.Logger, ...string) {}

// Take returns a channel that is closed: there is no predecessor.
func Take(context.Context) (gone <-chan struct{}) {
	ended := make(chan struct{})
	close(ended)
	return ended
}
