package command

import (
	"github.com/spf13/cobra"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/viewapi"
)

func newViewCommand(s *session) *cobra.Command {
	var plain, wait, full bool
	list := s.in("list", "List the materialized views in a namespace, or with --plain the others", func(r *run, id protocol.Common) error {
		if plain {
			return s.names(r.cmd, r.client.Views(r.ctx, &viewapi.ListRequest{Common: id}))
		}
		return s.names(r.cmd, r.client.MaterializedViews(r.ctx, &viewapi.ListMaterializedRequest{Common: id}))
	})
	create := s.on("create VIEW QUERY", "Make a materialized view of a query in SQL, or with --plain a view without rows of its own", exactly(2), func(r *run, id protocol.Common) error {
		if plain {
			_, err := r.client.CreateView(r.ctx, &viewapi.CreateRequest{Common: id, Query: r.args[1]})
			return err
		}
		begun, err := r.client.CreateMaterializedView(r.ctx, &viewapi.CreateMaterializedRequest{Common: id, Query: r.args[1]})
		if err != nil {
			return err
		}
		return s.begun(r, begun.JobID, wait)
	})
	refresh := s.on("refresh VIEW", "Bring the rows of a materialized view up to date", exactly(1), func(r *run, id protocol.Common) error {
		begun, err := r.client.RefreshMaterializedView(r.ctx, &viewapi.RefreshRequest{Common: id, Full: full})
		if err != nil {
			return err
		}
		return s.begun(r, begun.JobID, wait)
	})
	refresh.Flags().BoolVar(&full, "full", false, "compute all rows")
	drop := s.on("drop VIEW", "Remove a view", exactly(1), func(r *run, id protocol.Common) error {
		if plain {
			_, err := r.client.DropView(r.ctx, &viewapi.Request{Common: id})
			return err
		}
		_, err := r.client.DropMaterializedView(r.ctx, &viewapi.MaterializedRequest{Common: id})
		return err
	})
	for _, cmd := range []*cobra.Command{list, create, drop} {
		cmd.Flags().BoolVar(&plain, "plain", false, "about views without rows of their own")
	}
	waitFlag(create, &wait)
	waitFlag(refresh, &wait)
	return newGroup("view", "Views", list, create, refresh, drop)
}
