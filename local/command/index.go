package command

import (
	"github.com/spf13/cobra"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/indexapi"
)

func newIndexCommand(s *session) *cobra.Command {
	list := s.on("list TABLE", "List the indices of a table", exactly(1), func(r *run, id protocol.Common) error {
		out := s.list(r.cmd, "NAME", "TYPE", "COLUMNS", "INDEXED", "UNINDEXED")
		for index, err := range r.client.Indices(r.ctx, &indexapi.ListRequest{Common: id}) {
			if err != nil {
				return err
			}
			out.add(index, index.Name, index.Type, joined(index.Columns), index.NumIndexedRows, index.NumUnindexedRows)
		}
		return out.flush()
	})
	var kind, name, metric string
	var replace, wait bool
	create := s.on("create TABLE COLUMN --type TYPE", "Build an index of a column", exactly(2), func(r *run, id protocol.Common) error {
		if kind == "" {
			return usagef("--type is required, such as BTREE, BITMAP, FTS or IVF_PQ")
		}
		req := &indexapi.CreateRequest{Common: id, Column: r.args[1], Type: kind, Name: name, Replace: &replace}
		if err := req.DistanceType.UnmarshalText([]byte(metric)); err != nil {
			return usagef("--metric: %w", err)
		}
		begun, err := r.client.CreateTableIndex(r.ctx, req)
		if err != nil {
			return advised(err, protocol.TableIndexAlreadyExists, "give another --name, or --replace")
		}
		return s.begun(r, begun.JobID, wait)
	})
	create.Flags().StringVar(&kind, "type", "", "the type of the index")
	create.Flags().StringVar(&name, "name", "", "its name; the column with _idx when not given")
	create.Flags().StringVar(&metric, "metric", "", "of vectors: l2, cosine, dot or hamming")
	create.Flags().BoolVar(&replace, "replace", false, "replace an index of the same name")
	waitFlag(create, &wait)
	drop := s.on("drop TABLE NAME", "Remove an index", exactly(2), func(r *run, id protocol.Common) error {
		_, err := r.client.DropTableIndex(r.ctx, &indexapi.DropRequest{Common: id, IndexName: r.args[1]})
		return err
	})
	return newGroup("index", "Indices of tables", list, create, drop)
}
