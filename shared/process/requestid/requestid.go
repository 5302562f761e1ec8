// Package requestid carries the AWS request ids of a request, which connect its log lines with those of the
// gateway and of Lambda.
package requestid

import (
	"context"
	"log/slog"
)

// An IDs identifies the call that brought a request to this process. Unknown ids are empty.
type IDs struct {
	Gateway string // id of the request at the gateway
	Lambda  string // id of the call of the function
}

type key struct{}

// With returns a context that carries the origin.
func With(ctx context.Context, o IDs) context.Context { return context.WithValue(ctx, key{}, o) }

// From returns the origin in the context, or an empty one.
func From(ctx context.Context) IDs {
	o, _ := ctx.Value(key{}).(IDs)
	return o
}

// Logging returns a handler that adds the origin of the context to each line.
func Logging(h slog.Handler) slog.Handler { return handler{h} }

type handler struct{ slog.Handler }

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	o := From(ctx)
	for _, a := range [...]slog.Attr{slog.String("gateway_request_id", o.Gateway), slog.String("lambda_request_id", o.Lambda)} {
		if a.Value.String() != "" {
			r.AddAttrs(a)
		}
	}
	return h.Handler.Handle(ctx, r)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}

func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }
