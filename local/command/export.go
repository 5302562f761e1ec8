package command

import (
	"io"

	"github.com/spf13/cobra"

	"tiltyard/local/rowfile"
	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
)

// newExportCommand writes the rows of a table to a file.
func newExportCommand(s *session) *cobra.Command {
	var at place
	var format, where string
	var columns []string
	cmd := s.on("export TABLE [FILE]", "Write the rows of a table to a file", bound(cobra.RangeArgs(1, 2)), func(r *run, id protocol.Common) error {
		var name string
		if len(r.args) == 2 && r.args[1] != "-" {
			name = r.args[1]
		}
		format, err := formatOf(format, name)
		if err != nil {
			return err
		}
		req := &queryapi.Request{Common: id, Version: at.at(r.cmd), Branch: at.branch, Filter: where}
		for _, column := range columns {
			req.Columns = append(req.Columns, queryapi.ProjectedColumn{Name: column})
		}
		rows, done, err := wholeRows(r.ctx, r.client, req)
		if err != nil {
			return err
		}
		defer done()
		if err := checkForm(rows.Schema, format); err != nil {
			return err
		}
		if name == "" {
			return export(r, r.cmd.OutOrStdout(), format, rows)
		}
		// The file appears only if the export succeeds.
		return replaceFile(name, func(file io.Writer) error { return export(r, file, format, rows) })
	})
	cmd.Long = `Write the rows of a table, or those where a filter is true, to a file or to standard output, as
Parquet, Arrow, CSV with a header, or JSON with one object in a line. All rows are of one version
of the table. The file is there once it is whole, and only its owner can read it. In CSV a null
and an empty text are alike. Columns of blobs get their bytes in Parquet and Arrow; CSV and JSON
cannot hold them, and --columns leaves them out.`
	cmd.Example = `  tiltyard export sales/orders orders.parquet
  tiltyard export sales/orders march.csv --where 'month = 3' --columns id,price
  tiltyard export sales/orders --format jsonl --version 7 | gzip > orders.jsonl.gz`
	cmd.Flags().StringVar(&format, "format", "", "parquet, arrow, csv or jsonl; by the name of the file when not given")
	cmd.Flags().StringVar(&where, "where", "", "a filter in SQL")
	cmd.Flags().StringSliceVar(&columns, "columns", nil, "columns to write; all when not given")
	at.flags(cmd)
	return cmd
}

// export writes rows in a format, and reports their number.
func export(r *run, w io.Writer, format rowfile.Format, rows client.Source) error {
	written := startCount(r.cmd)
	err := writeAll(w, format, rows, written.add)
	written.end()
	if err == nil {
		say(r.cmd, "%d rows", written.rows)
	}
	return err
}
