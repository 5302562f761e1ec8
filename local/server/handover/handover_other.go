//go:build !unix

package handover

import (
	"context"
	"log/slog"
)

// Offer does nothing: this system cannot pass sockets to processes.
func Offer(context.Context, *Socket, *slog.Logger, ...string) {}

// Take returns a closed channel, because there is no predecessor.
func Take(context.Context) (gone <-chan struct{}) {
	ended := make(chan struct{})
	close(ended)
	return ended
}
