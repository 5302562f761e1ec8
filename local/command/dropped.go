package command

import (
	"strings"

	"github.com/spf13/cobra"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/namespaceapi"
	"tiltyard/shared/protocol/tableapi"
)

// newDroppedCommand returns the commands that list and purge dropped objects.
func newDroppedCommand(s *session) *cobra.Command {
	var sizes bool
	list := s.in("list", "List the dropped tables, views and namespaces that can be restored", func(r *run, id protocol.Common) error {
		heading := []string{"NAME", "KIND", "UNTIL", "DROPPED", "BY", "DROP"}
		if sizes {
			heading = append(heading, "BYTES")
		}
		out := s.list(r.cmd, heading...)
		for one, err := range r.client.Dropped(r.ctx, &namespaceapi.ListDroppedRequest{Common: id, Sizes: sizes}) {
			if err != nil {
				return err
			}
			cells := []any{strings.Join(one.ID, s.delimiter), one.Kind, at(one.RestorableUntilMillis), at(one.DroppedAtMillis), one.DroppedBy, one.DropID}
			if sizes {
				cells = append(cells, countText(one.Bytes))
			}
			out.add(one, cells...)
		}
		return out.flush()
	})
	list.Flags().BoolVar(&sizes, "sizes", false, "show what the files of each table take; the storage lists all of them for that")
	return newGroup("dropped", "Dropped tables and namespaces that can be restored; see undrop", list, newPurge(s))
}

func newPurge(s *session) *cobra.Command {
	var drop string
	purge := s.on("purge TABLE", "Delete the files of a dropped table before its time", exactly(1), func(r *run, id protocol.Common) error {
		_, err := r.client.PurgeTable(r.ctx, &tableapi.PurgeRequest{Common: id, DropID: drop})
		return err
	})
	purge.Flags().StringVar(&drop, "drop", "", "which drop of the table, as dropped list shows it; the newest when not given")
	return purge
}

// newUndropCommand restores dropped objects.
func newUndropCommand(s *session) *cobra.Command {
	var as, drop string
	var namespace bool
	cmd := s.on("undrop NAME", "Restore a dropped table, view or namespace", exactly(1), func(r *run, id protocol.Common) error {
		to := protocol.Common{ID: id.ID}
		if as != "" {
			var err error
			if to, err = s.object(as); err != nil {
				return err
			}
		}
		if namespace {
			back, err := patiently(r, func() (*namespaceapi.UndropResponse, error) {
				return r.client.UndropNamespace(r.ctx, &namespaceapi.UndropRequest{Common: id, DropID: drop, NewID: to.ID})
			})
			if err != nil {
				return err
			}
			return s.show(r.cmd, back, "namespace", strings.Join(back.ID, s.delimiter), "restored objects", back.Restored)
		}
		last := len(to.ID) - 1
		around := to.ID[:last]
		if last == 0 {
			around = []string{protocol.DefaultDelimiter} // the root
		}
		back, err := r.client.UndropTable(r.ctx, &tableapi.UndropRequest{
			Common: id, DropID: drop, NewTableName: to.ID[last], NewNamespaceID: around,
		})
		if err != nil {
			return advised(err, protocol.TableAlreadyExists, "give it another name with --as")
		}
		return s.show(r.cmd, back, "table", strings.Join(back.ID, s.delimiter))
	})
	cmd.Flags().StringVar(&as, "as", "", "the name that it gets; the one that it had when not given")
	cmd.Flags().StringVar(&drop, "drop", "", "which drop of the name, as dropped list shows it; the newest when not given")
	cmd.Flags().BoolVar(&namespace, "namespace", false, "restore a namespace with what was dropped with it")
	return cmd
}
