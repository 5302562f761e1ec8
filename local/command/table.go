package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/protocol/tableapi"
)

func newTableCommand(s *session) *cobra.Command {
	var all bool
	list := s.in("list", "List the tables in a namespace", func(r *run, id protocol.Common) error {
		if all {
			return s.names(r.cmd, r.client.AllTables(r.ctx, &tableapi.ListAllRequest{}))
		}
		return s.names(r.cmd, r.client.Tables(r.ctx, &tableapi.ListRequest{Common: id}))
	})
	list.Flags().BoolVar(&all, "all", false, "list those of all namespaces, as names joined by $")
	return newGroup("table", "Tables", list, newTableShow(s), newTableStats(s), newTableStorage(s), newTableCount(s), newTableDrop(s),
		newTableRename(s), newTableRegister(s), newTableUpdate(s), newTableDelete(s), newTableAdd(s), newTableDropColumns(s))
}

// newTableShow shows a table and its columns.
func newTableShow(s *session) *cobra.Command {
	var at place
	cmd := s.on("show TABLE", "Show the version, the location and the columns of a table", exactly(1), func(r *run, id protocol.Common) error {
		found, err := r.client.DescribeTable(r.ctx, &tableapi.DescribeRequest{
			Common: id, LoadDetailedMetadata: true, Version: at.at(r.cmd), Branch: at.branch, VendCredentials: new(false),
		})
		if err != nil {
			return err
		}
		if s.form != "" && s.form != formTable {
			return s.show(r.cmd, found)
		}
		err = s.show(r.cmd, found, "location", found.Location, "version", value(found.Version),
			"properties", pairs(found.Properties), "metadata", pairs(found.Metadata))
		if err != nil || found.Schema == nil {
			return err
		}
		out := s.list(r.cmd, "COLUMN", "TYPE", "NULLABLE")
		for _, field := range found.Schema.Fields {
			out.add(field, field.Name, field.Type, field.Nullable)
		}
		return out.flush()
	})
	at.flags(cmd)
	return cmd
}

// place is the version and the branch to read.
type place struct {
	version int64
	branch  string
}

func (p *place) flags(cmd *cobra.Command) {
	cmd.Flags().Int64Var(&p.version, "version", 0, "the version to read; the newest when not given")
	cmd.Flags().StringVar(&p.branch, "branch", "", "the branch to read")
}

// at returns the version, or nil for the newest.
func (p *place) at(cmd *cobra.Command) *int64 {
	if !cmd.Flags().Changed("version") {
		return nil
	}
	return &p.version
}

func newTableStats(s *session) *cobra.Command {
	return s.on("stats TABLE", "Show the sizes of a table", exactly(1), func(r *run, id protocol.Common) error {
		stats, err := r.client.GetTableStats(r.ctx, &tableapi.GetStatsRequest{Common: id})
		if err != nil {
			return err
		}
		f := stats.FragmentStats
		return s.show(r.cmd, stats, "rows", stats.NumRows, "bytes", stats.TotalBytes, "indices", stats.NumIndices,
			"fragments", f.NumFragments, "small fragments", f.NumSmallFragments)
	})
}

// newTableStorage shows the size of each column.
func newTableStorage(s *session) *cobra.Command {
	var at place
	var files int64
	cmd := s.on("storage TABLE", "Show how much of the data files each column takes", exactly(1), func(r *run, id protocol.Common) error {
		found, err := patiently(r, func() (*tableapi.GetStorageResponse, error) {
			return r.client.GetTableStorage(r.ctx, &tableapi.GetStorageRequest{Common: id, Version: at.at(r.cmd), Branch: at.branch, MaxFiles: &files})
		})
		if err != nil {
			return err
		}
		if s.form != "" && s.form != formTable {
			return s.show(r.cmd, found)
		}
		out := s.list(r.cmd, "COLUMN", "BYTES", "SHARE")
		add := func(name string, bytes int64) {
			out.add(nil, name, bytes, fmt.Sprintf("%.1f%%", 100*float64(bytes)/float64(max(found.TotalBytes, 1))))
		}
		for _, column := range found.Columns {
			add(column.Name, column.Bytes)
		}
		add("(other)", found.OtherBytes)
		add("(total)", found.TotalBytes)
		if found.Estimated {
			say(r.cmd, "an estimate: %d of %d files were read; --files reads more", found.FilesRead, found.Files)
		}
		return out.flush()
	})
	cmd.Long = `Show how many bytes of the data files each column takes, by the metadata of the files. Each
file is a request to the storage. If the version has more files than --files, the numbers are an
estimate by a sample of them, and the command says so. Other bytes are contents of blobs, columns
that were dropped, and metadata of the files.`
	cmd.Flags().Int64Var(&files, "files", tableapi.DefaultStorageFiles, "how many files are read, at most 1000")
	at.flags(cmd)
	return cmd
}

func newTableCount(s *session) *cobra.Command {
	var at place
	var where string
	cmd := s.on("count TABLE", "Count rows", exactly(1), func(r *run, id protocol.Common) error {
		count, err := patiently(r, func() (*queryapi.CountRowsResponse, error) {
			return r.client.CountTableRows(r.ctx, &queryapi.CountRowsRequest{Common: id, Predicate: where, Version: at.at(r.cmd), Branch: at.branch})
		})
		if err != nil {
			return err
		}
		return s.show(r.cmd, map[string]int64{"rows": count.Count}, "rows", count.Count)
	})
	cmd.Flags().StringVar(&where, "where", "", "a filter in SQL")
	at.flags(cmd)
	return cmd
}

// newTableDrop removes a table, or with --keep-data only its name.
func newTableDrop(s *session) *cobra.Command {
	var ifExists, keep, now bool
	cmd := s.on("drop TABLE", "Remove a table; undrop restores it for a time", exactly(1), func(r *run, id protocol.Common) error {
		var dropped *tableapi.DropResponse
		var err error
		if keep && now {
			return usagef("--keep-data and --now exclude each other")
		}
		if keep {
			_, err = r.client.DeregisterTable(r.ctx, &tableapi.DeregisterRequest{Common: id})
		} else {
			dropped, err = r.client.DropTable(r.ctx, &tableapi.DropRequest{Common: id})
		}
		if ifExists && errors.Is(err, protocol.TableNotFound) {
			return nil
		}
		if err != nil || dropped == nil || dropped.DropID == "" {
			return err
		}
		if now {
			_, err = r.client.PurgeTable(r.ctx, &tableapi.PurgeRequest{Common: id, DropID: dropped.DropID})
			return err
		}
		say(r.cmd, "tiltyard undrop %s restores it until %s; its files stay until then", r.args[0], at(dropped.RestorableUntilMillis))
		return nil
	})
	cmd.Long = `Remove a table. Its files stay for as long as the property drop.retention of the table, of a
namespace around it, or the setting --drop-retention of the server has it, which is 7d by default: until
then tiltyard undrop restores it, and tiltyard dropped list --sizes shows what it takes. With --now the
files are deleted with the drop, and nothing can restore the table.`
	cmd.Flags().BoolVar(&ifExists, "if-exists", false, "do nothing if it does not exist")
	cmd.Flags().BoolVar(&keep, "keep-data", false, "remove the name only")
	cmd.Flags().BoolVar(&now, "now", false, "delete the files at once, so that nothing can restore the table")
	return cmd
}

// nameTaken is the advice if another table has the name.
const nameTaken = "choose another name, or drop the table that has this one; --keep-data keeps its files"

func newTableRename(s *session) *cobra.Command {
	return s.on("rename TABLE NEW", "Give a table another name, and perhaps another namespace", exactly(2), func(r *run, id protocol.Common) error {
		to, err := s.object(r.args[1])
		if err != nil {
			return err
		}
		return rename(r.ctx, r.client, id, to)
	})
}

func newTableRegister(s *session) *cobra.Command {
	return s.on("register TABLE LOCATION", "Give a name to a table that exists on storage", exactly(2), func(r *run, id protocol.Common) error {
		_, err := r.client.RegisterTable(r.ctx, &tableapi.RegisterRequest{Common: id, Location: r.args[1]})
		return advised(err, protocol.TableAlreadyExists, nameTaken)
	})
}

func newTableUpdate(s *session) *cobra.Command {
	var where string
	cmd := s.on("update TABLE COLUMN=EXPRESSION...", "Set columns to SQL expressions", atLeast(2), func(r *run, id protocol.Common) error {
		req := &dataapi.UpdateRequest{Common: id, Predicate: where}
		for _, text := range r.args[1:] {
			column, expression, err := assignment(text)
			if err != nil {
				return err
			}
			req.Updates = append(req.Updates, []string{column, expression})
		}
		done, err := patiently(r, func() (*dataapi.UpdateResponse, error) { return r.client.UpdateTable(r.ctx, req) })
		if err != nil {
			return err
		}
		return s.show(r.cmd, done, "updated rows", done.UpdatedRows, "version", done.Version)
	})
	cmd.Flags().StringVar(&where, "where", "", "which rows, as a filter in SQL; all when not given")
	return cmd
}

func newTableDelete(s *session) *cobra.Command {
	var where string
	cmd := s.on("delete TABLE --where FILTER", "Delete rows", exactly(1), func(r *run, id protocol.Common) error {
		if where == "" {
			return usagef("--where is required: which rows to delete; --where true is all of them")
		}
		done, err := patiently(r, func() (*dataapi.DeleteResponse, error) {
			return r.client.DeleteFromTable(r.ctx, &dataapi.DeleteRequest{Common: id, Predicate: where})
		})
		if err != nil {
			return err
		}
		return s.show(r.cmd, done, "deleted rows", done.NumDeletedRows, "version", done.Version)
	})
	cmd.Flags().StringVar(&where, "where", "", "which rows, as a filter in SQL")
	return cmd
}

func newTableAdd(s *session) *cobra.Command {
	return s.on("add-columns TABLE COLUMN=EXPRESSION...", "Add columns that SQL expressions compute once", atLeast(2), func(r *run, id protocol.Common) error {
		req := &schemaapi.AddColumnsRequest{Common: id}
		for _, text := range r.args[1:] {
			column, expression, err := assignment(text)
			if err != nil {
				return err
			}
			req.NewColumns = append(req.NewColumns, schemaapi.NewColumn{Name: column, Expression: expression})
		}
		_, err := patiently(r, func() (*schemaapi.AddColumnsResponse, error) {
			return r.client.AlterTableAddColumns(r.ctx, req)
		})
		return err
	})
}

func newTableDropColumns(s *session) *cobra.Command {
	return s.on("drop-columns TABLE COLUMN...", "Remove columns", atLeast(2), func(r *run, id protocol.Common) error {
		_, err := r.client.AlterTableDropColumns(r.ctx, &schemaapi.DropColumnsRequest{Common: id, Columns: r.args[1:]})
		return err
	})
}
