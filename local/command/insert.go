package command

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
)

// createIt is the advice if the table does not exist.
const createIt = "--create makes it"

// newInsertCommand adds the rows of a file to a table, or creates, overwrites or merges into it.
func newInsertCommand(s *session) *cobra.Command {
	var create, overwrite bool
	var format, branch string
	var merge, typed []string
	cmd := s.command("insert TABLE [FILE]", "Add rows from a file", bound(cobra.RangeArgs(1, 2)), func(r *run) error {
		id, err := s.object(r.args[0])
		if err != nil {
			return err
		}
		if create && overwrite || len(merge) > 0 && (create || overwrite) {
			return usagef("--create, --overwrite and --merge-on exclude each other")
		}
		types, err := columnTypes(typed)
		if err != nil {
			return err
		}
		in, name, done, err := openInput(r)
		if err != nil {
			return err
		}
		defer done()
		format, err := formatOf(format, name)
		if err != nil {
			return err
		}
		if len(types) > 0 && (!create || format.IsTyped()) {
			return usagef("--type is for --create from CSV or JSON; the types of other files, and of tables that exist, are known")
		}
		read := startCount(r.cmd)
		defer read.end()
		if file := countFile(in); file != nil {
			in, read.share = file, file.share
		}
		source, err := filling{r.client, id, branch, create, types, len(merge) > 0}.source(r.ctx, r.cmd, in, name, format)
		if err != nil {
			return err
		}
		source = read.counted(source)
		switch {
		case len(merge) > 0:
			answer, err := r.client.MergeInsertIntoTable(r.ctx, &dataapi.MergeInsertRequest{
				Common: id, On: merge, WhenMatchedUpdateAll: true, WhenNotMatchedInsertAll: true, Branch: branch,
			}, source)
			if err != nil {
				return advisedTooLarge(advised(err, protocol.TableNotFound, createIt), "merge the rows by several commands")
			}
			return s.show(r.cmd, answer, "inserted rows", answer.NumInsertedRows, "updated rows", answer.NumUpdatedRows, "version", answer.Version)
		case create:
			answer, err := r.client.CreateTable(r.ctx, &dataapi.CreateTableRequest{Common: id}, source)
			if err != nil {
				err = advisedTooLarge(advisedType(err), "create the table with some of the rows, and insert the others, which go in parts")
				return advised(err, protocol.TableAlreadyExists, "leave out --create to add rows, or use --overwrite to replace those that are there")
			}
			return s.show(r.cmd, answer, "location", answer.Location, "version", answer.Version)
		}
		req := &dataapi.InsertRequest{Common: id, Branch: branch}
		if overwrite {
			req.Mode = dataapi.InsertModeOverwrite
		}
		answer, err := r.client.InsertInParts(r.ctx, req, source, 0)
		if err != nil {
			return advised(err, protocol.TableNotFound, createIt)
		}
		return s.show(r.cmd, answer, "inserted rows", answer.NumInsertedRows, "version", answer.Version)
	})
	cmd.Long = `Add the rows of a file, or of standard input, to a table. The file is an Arrow stream or file,
Parquet, CSV with a header, or JSON: one object in a line, or an array of objects. Rows are read
while they are sent, so a file may be larger than the memory. All of them become one version, or
none. Columns that the file lacks are null in new rows.

The types of CSV and JSON are those of the columns of the table. With --create they are inferred
from the first 2,000 rows, shown, and kept: a later row that does not fit is an error, and nothing
is created. --type sets the type of a column instead: bool, int8 to int64, uint8 to uint64,
float16, float32, float64, utf8, large_utf8, binary, date32, timestamp, timestamp[us],
timestamp[ns], vector[N] or list<TYPE>.

With --merge-on, rows that are there keep the columns that the file lacks. All JSON objects must
then have the same fields: a command whose rows differ in that does nothing.

Rows that are added go in parts of 64 MiB, and a part whose answer is lost is sent again alone.
If the command fails, the same one within 15 minutes adds the rows once.`
	cmd.Example = `  tiltyard insert sales/orders orders.arrow --create
  tiltyard insert sales/orders more.csv
  tiltyard insert sales/zips zips.csv --create --type zip=utf8
  generate | tiltyard insert sales/orders --format jsonl --merge-on id`
	cmd.Flags().StringVar(&format, "format", "", "arrow, parquet, csv or jsonl; by the name of the file when not given")
	cmd.Flags().BoolVar(&create, "create", false, "make the table")
	cmd.Flags().BoolVar(&overwrite, "overwrite", false, "replace the rows that are there")
	cmd.Flags().StringSliceVar(&merge, "merge-on", nil, "columns by which to find rows that are replaced")
	cmd.Flags().StringArrayVar(&typed, "type", nil, "COLUMN=TYPE of a created column of CSV or JSON; may be repeated")
	cmd.Flags().StringVar(&branch, "branch", "", "the branch to write to")
	return cmd
}

// openInput opens the file of the second argument, or standard input.
func openInput(r *run) (in io.Reader, name string, done func(), err error) {
	if len(r.args) < 2 || r.args[1] == "-" {
		if file, ok := r.cmd.InOrStdin().(*os.File); ok && terminal(file) {
			return nil, "", nil, usagef("name a file, or send rows to standard input")
		}
		return r.cmd.InOrStdin(), "standard input", func() {}, nil
	}
	file, err := os.Open(r.args[1])
	if err != nil {
		return nil, "", nil, err
	}
	return file, r.args[1], func() { _ = file.Close() }, nil
}
