package command

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/protocol/tableapi"
)

// An end is where rows are copied from or to: a table of a server, or a file.
type end struct {
	text   string
	file   string // path, or empty for a table
	client *client.Client
	server string // URL of the client
	id     protocol.Common
}

// end parses an argument of cp and mv:
//
//	sales/orders        a table of the server that other commands use
//	work:sales/orders   a table of a stored server
//	orders.parquet      a file, by the extension of a format, or by a path that begins with . or / or ends with /
func (s *session) end(text string) (end, error) {
	if _, err := formatOf("", text); err == nil || strings.HasPrefix(text, ".") || filepath.IsAbs(text) || strings.HasSuffix(text, string(filepath.Separator)) {
		return end{text: text, file: text}, nil
	}
	at := *s
	name := text
	if stored, rest, ok := strings.Cut(text, ":"); ok {
		at.url, at.context, name = "", stored, rest
	}
	target, err := at.target()
	if err != nil {
		return end{}, err
	}
	c, err := at.client()
	if err != nil {
		return end{}, err
	}
	id, err := s.object(name)
	return end{text: text, client: c, server: strings.TrimSuffix(target.URL, "/"), id: id}, err
}

// newCopyCommand copies the rows of tables between servers and files.
func newCopyCommand(s *session) *cobra.Command {
	c := &tableCopy{session: s}
	cmd := &cobra.Command{
		Use: "cp SOURCE DESTINATION", Short: "Copy a table to another name or server, or between a table and a file", Args: exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.bounded(cmd, func(ctx context.Context) error { return c.run(&run{ctx: ctx, cmd: cmd, args: args}) })
		},
	}
	cmd.Long = `Copy the rows of one version of a table. SOURCE and DESTINATION are tables, or one of them is a
file. CONTEXT:TABLE is a table of a server that tiltyard login has stored. A name with the extension
of a format, or a path that begins with . or / or ends with /, is a file; a folder gets a Parquet
file of the name of the table.

Rows are streamed. They go to a table with a temporary name, which gets the name of the destination
at the end, so an interrupted copy leaves no table of that name. A destination that exists is
refused, unless --overwrite replaces its rows or --append adds to them, in one version. Columns and
their metadata are copied, and the bytes of blobs; indices, tags, older versions and properties are
not. CSV and JSON cannot hold blobs.`
	cmd.Example = `  tiltyard cp sales/orders work:sales/orders
  tiltyard cp work:sales/orders archive/orders --version 7
  tiltyard cp sales/orders orders.parquet
  tiltyard cp orders.csv sales/orders --append`
	cmd.Flags().BoolVar(&c.overwrite, "overwrite", false, "replace the rows of the destination, or the file")
	cmd.Flags().BoolVar(&c.add, "append", false, "add the rows to those of the destination")
	c.at.flags(cmd)
	return cmd
}

// newMoveCommand renames a table.
func newMoveCommand(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use: "mv TABLE NEW", Short: "Give a table another name, like table rename", Args: exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, to, err := s.ends(args)
			if err != nil {
				return err
			}
			if from.file != "" || to.file != "" || from.server != to.server {
				return usagef("mv renames within a server; for another place: tiltyard cp %s %s, and then tiltyard table drop of the first", from.text, to.text)
			}
			return s.bounded(cmd, func(ctx context.Context) error { return rename(ctx, from.client, from.id, to.id) })
		},
	}
	cmd.Long = `Give a table another name, and perhaps another namespace, of the same server. Its files, versions
and indices stay. To another server, copy it by tiltyard cp, and drop the first by tiltyard table drop.`
	cmd.Example = `  tiltyard mv sales/orders archive/orders`
	return cmd
}

func (s *session) ends(args []string) (from, to end, err error) {
	if from, err = s.end(args[0]); err == nil {
		to, err = s.end(args[1])
	}
	return from, to, err
}

// rename gives a table another name in any namespace.
func rename(ctx context.Context, c *client.Client, id, to protocol.Common) error {
	last := len(to.ID) - 1
	namespace := to.ID[:last]
	if last == 0 {
		namespace = []string{protocol.DefaultDelimiter} // the root
	}
	_, err := c.RenameTable(ctx, &tableapi.RenameRequest{Common: id, NewTableName: to.ID[last], NewNamespaceID: namespace})
	return advised(err, protocol.TableAlreadyExists, nameTaken)
}

// A tableCopy is a use of cp.
type tableCopy struct {
	*session
	at             place
	overwrite, add bool
}

func (c *tableCopy) run(r *run) error {
	from, to, err := c.ends(r.args)
	switch {
	case err != nil:
		return err
	case c.overwrite && c.add:
		return usagef("--overwrite and --append exclude each other")
	case from.file != "" && to.file != "":
		return usagef("%s and %s are files; one of them must be a table", from.text, to.text)
	case from.file != "" && (c.at.at(r.cmd) != nil || c.at.branch != ""):
		return usagef("--version and --branch are of a table, and %s is a file", from.text)
	case to.file != "":
		return c.toFile(r, from, to.file)
	}
	exists, err := c.check(r.ctx, to)
	if err != nil {
		return err
	}
	read := startCount(r.cmd)
	defer read.end()
	source, done, err := c.source(r, from, to, exists, read)
	if err != nil {
		return err
	}
	defer done()
	version, err := c.write(r.ctx, to, exists, read.counted(source))
	if err != nil {
		return fmt.Errorf("copy %s to %s: %w", from.text, to.text, advisedType(err))
	}
	read.end()
	return c.show(r.cmd, map[string]any{"rows": read.rows, "version": version}, "rows", read.rows, "version", version)
}

// check reports whether a table exists, which is an error without --overwrite and --append.
func (c *tableCopy) check(ctx context.Context, to end) (bool, error) {
	err := to.client.TableExists(ctx, &tableapi.ExistsRequest{Common: to.id})
	switch {
	case errors.Is(err, protocol.TableNotFound):
		return false, nil
	case err == nil && !c.overwrite && !c.add:
		return true, &advice{protocol.Errorf(protocol.TableAlreadyExists, "table %s exists", to.text), "--overwrite replaces its rows, and --append adds to them"}
	}
	return true, err
}

// source returns the rows to copy.
func (c *tableCopy) source(r *run, from, to end, exists bool, read *count) (client.Source, func(), error) {
	if from.file != "" {
		return fileSource(r, from.file, to, exists, read)
	}
	rows, done, err := c.rows(r, from)
	if err != nil {
		return client.Source{}, nil, err
	}
	if all, err := from.client.CountTableRows(r.ctx, &queryapi.CountRowsRequest{Common: from.id, Version: c.at.at(r.cmd), Branch: c.at.branch}); err == nil {
		read.share = func(rows int64) (done, of int64) { return rows, all.Count }
	}
	return rows, done, nil
}

// rows returns the rows of the table to copy.
func (c *tableCopy) rows(r *run, from end) (client.Source, func(), error) {
	return wholeRows(r.ctx, from.client, &queryapi.Request{Common: from.id, Version: c.at.at(r.cmd), Branch: c.at.branch})
}

// fileSource returns the rows of a file, with inferred types if the table is new and the file has none.
func fileSource(r *run, path string, to end, exists bool, read *count) (source client.Source, done func(), err error) {
	format, err := formatOf("", path)
	if err != nil {
		return source, nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return source, nil, err
	}
	var in io.Reader = file
	if counted := countFile(file); counted != nil {
		in, read.share = counted, counted.share
	}
	source, err = filling{client: to.client, id: to.id, isNew: !exists}.source(r.ctx, r.cmd, in, path, format)
	if err != nil {
		_ = file.Close()
	}
	return source, func() { _ = file.Close() }, err
}

// write writes rows to a table, and returns its version.
func (c *tableCopy) write(ctx context.Context, to end, exists bool, rows client.Source) (int64, error) {
	if exists {
		req := &dataapi.InsertRequest{Common: to.id}
		if c.overwrite {
			req.Mode = dataapi.InsertModeOverwrite
		}
		return insertAll(ctx, to.client, req, rows)
	}
	last := len(to.id.ID) - 1
	staged := protocol.Common{ID: slices.Concat(to.id.ID[:last], []string{to.id.ID[last] + "__copy_" + strings.ToLower(rand.Text()[:12])})}
	if _, err := to.client.CreateTable(ctx, &dataapi.CreateTableRequest{Common: staged}, client.Batches(rows.Schema)); err != nil {
		return 0, err
	}
	version, err := insertAll(ctx, to.client, &dataapi.InsertRequest{Common: staged}, rows)
	if err == nil {
		err = rename(ctx, to.client, staged, to.id)
	}
	if err != nil {
		return 0, errors.Join(err, discard(ctx, to.client, staged))
	}
	return version, nil
}

func insertAll(ctx context.Context, c *client.Client, req *dataapi.InsertRequest, rows client.Source) (int64, error) {
	answer, err := c.InsertInParts(ctx, req, rows, 0)
	if err != nil {
		return 0, err
	}
	return answer.Version, nil
}

// discardTime bounds the removal of an incomplete table, which continues after the context has ended.
const discardTime = 10 * time.Second

// discard removes an incomplete table and its files.
func discard(ctx context.Context, c *client.Client, id protocol.Common) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), discardTime)
	defer done()
	dropped, err := c.DropTable(ctx, &tableapi.DropRequest{Common: id})
	if err == nil && dropped != nil && dropped.DropID != "" {
		_, err = c.PurgeTable(ctx, &tableapi.PurgeRequest{Common: id, DropID: dropped.DropID})
	}
	if err != nil {
		return fmt.Errorf("the incomplete table %s stays: %w", strings.Join(id.ID, "/"), err)
	}
	return nil
}

// toFile writes a table to a file, or to a Parquet file in a folder.
func (c *tableCopy) toFile(r *run, from end, path string) error {
	if c.add {
		return usagef("--append is for tables; a file is written as a whole")
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		path = filepath.Join(path, from.id.ID[len(from.id.ID)-1]+".parquet")
		_, err = os.Stat(path)
	}
	switch {
	case err == nil && !c.overwrite:
		return &advice{protocol.Errorf(protocol.TableAlreadyExists, "%s exists", path), "--overwrite replaces it"}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	format, err := formatOf("", path)
	if err != nil {
		return usagef("%s is no folder, and its name does not say a format; end it with .parquet, .arrow, .csv or .jsonl", path)
	}
	rows, done, err := c.rows(r, from)
	if err != nil {
		return err
	}
	defer done()
	if err := checkForm(rows.Schema, format); err != nil {
		return err
	}
	return replaceFile(path, func(file io.Writer) error { return export(r, file, format, rows) })
}
