package event

import (
	"context"
	"errors"
	"slices"
	"strings"

	"tiltyard/shared/events/outbox"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/eventapi"
)

// errNoEvents is the error if events are disabled.
var errNoEvents = &protocol.Error{
	Code: protocol.Unsupported, Message: "this deployment announces no events", Detail: "configure a source of events (TILTYARD_EVENTS)",
}

// List returns events, oldest first. It leaves out events of objects whose events the caller may
// not list.
func (s *Service) List(ctx context.Context, req *eventapi.ListRequest) (*eventapi.ListResponse, error) {
	if s.tables.Announcer == nil {
		return nil, errNoEvents
	}
	log := s.tables.Announcer.Outbox.Log
	from, err := startOf(ctx, log, req.Cursor)
	if err != nil {
		return nil, err
	}
	page, err := log.Read(ctx, from, req.Most(), func(e *eventapi.Event) bool { return req.Wants(e) && mayRead(ctx, e) })
	var expired *outbox.ExpiredError
	if errors.As(err, &expired) {
		return nil, &protocol.Error{
			Code: protocol.InvalidInput, Message: "cursor " + req.Cursor + " has expired: events after it are deleted",
			Detail: `go on with cursor "` + expired.Oldest.String() + `", behind which the oldest event is that is kept`, Err: err,
		}
	}
	if err != nil {
		return nil, err
	}
	return &eventapi.ListResponse{Events: page.Events, Cursor: page.Next.String(), More: page.More}, nil
}

// startOf parses the cursor of a request. An empty one means the oldest event.
func startOf(ctx context.Context, log *outbox.Log, text string) (outbox.Cursor, error) {
	switch text {
	case "":
		return log.Oldest(ctx)
	case eventapi.Latest:
		return log.Newest(ctx)
	}
	return outbox.ParseCursor(text)
}

// mayRead reports whether the caller may list the events of the event's object. After a rename it checks both names.
func mayRead(ctx context.Context, e *eventapi.Event) bool {
	if !auth.Limited(ctx) {
		return true
	}
	kind := e.Data.JobType
	if strings.HasPrefix(string(e.Type), "tiltyard.namespace.") {
		kind = "namespace"
	}
	ids := [][]string{e.Data.ID}
	if e.Data.FromID != nil {
		ids = append(ids, e.Data.FromID)
	}
	return !slices.ContainsFunc(ids, func(id []string) bool {
		object := transaction.ObjectOf(kind, id)
		return !auth.Sees(ctx, object) || !auth.Permits(ctx, "ListEvents", object)
	})
}
