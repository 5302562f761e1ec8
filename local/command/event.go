package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tiltyard/shared/protocol/eventapi"
)

// newEventCommand lists and follows events.
func newEventCommand(s *session) *cobra.Command {
	req := new(eventapi.ListRequest)
	var within string
	list := s.command("list", "List the events of changes, the oldest first", exactly(0), func(r *run) (err error) {
		if req.Within, err = s.within(within); err != nil {
			return err
		}
		return s.events(r, *req, false)
	})
	follow := s.command("follow", "Show events as they come", exactly(0), func(r *run) (err error) {
		if req.Within, err = s.within(within); err != nil {
			return err
		}
		if req.Cursor == "" {
			req.Cursor = eventapi.Latest
		}
		return s.events(r, *req, true)
	})
	follow.Long = "Show events as they come, until the command is interrupted. It begins with those that come\nafter now, unless --cursor names another place."
	for _, cmd := range []*cobra.Command{list, follow} {
		cmd.Flags().StringVar(&req.Cursor, "cursor", "", "begin behind this place, which an earlier list has written to standard error")
		cmd.Flags().StringSliceVar(&req.Types, "type", nil, "only events of this type, such as tiltyard.table.committed or tiltyard.branch.committed, or of all that begin with tiltyard.table.")
		cmd.Flags().StringVar(&within, "within", "", "only events of this namespace or table and of all that it holds")
	}
	return newGroup("event", "Events of changes", list, follow)
}

// within returns the id of a namespace or table, or nil for an empty name.
func (s *session) within(text string) ([]string, error) {
	common, err := s.id(text)
	return common.ID, err
}

// followPause is the pause after a page without further events.
const followPause = 2 * time.Second

// events writes events up to the newest one, and later ones if follows is true. At the end it writes the cursor to
// standard error.
func (s *session) events(r *run, req eventapi.ListRequest, follows bool) error {
	out := s.list(r.cmd, "TIME (UTC)", "TYPE", "OBJECT", "BRANCH", "VERSION", "OPERATION", "ADDED", "DELETED")
	defer func() {
		if req.Cursor != "" && req.Cursor != eventapi.Latest {
			fmt.Fprintln(r.cmd.ErrOrStderr(), "cursor:", req.Cursor)
		}
	}()
	for {
		answer, err := r.client.ListEvents(r.ctx, &req)
		if err != nil {
			return err
		}
		for _, e := range answer.Events {
			d := &e.Data
			out.add(e, e.Time.Format(time.DateTime), strings.TrimPrefix(string(e.Type), "tiltyard."), strings.Join(d.ID, s.delimiter), d.Branch,
				orNothing(d.Version), d.Operation+string(d.State), countText(d.RowsAdded), countText(d.RowsDeleted))
		}
		req.Cursor = answer.Cursor
		if answer.More {
			continue
		}
		if err := out.flush(); err != nil || !follows {
			return err
		}
		select {
		case <-r.ctx.Done(): // the user has interrupted the command
			return nil
		case <-time.After(followPause):
		}
	}
}

// orNothing returns a number, or "" for 0.
func orNothing(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// countText returns a count, or "" if it is unknown.
func countText(n *int64) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}
