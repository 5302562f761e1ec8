package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/spf13/cobra"

	"tiltyard/shared/arrow/rowjson"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/protocol/versionapi"
)

// A difference is what differs between two versions of a table.
type difference struct {
	FromVersion  int64          `json:"from_version"`
	ToVersion    int64          `json:"to_version"`
	StableRowIDs bool           `json:"stable_row_ids"`
	Columns      []columnChange `json:"columns"`
	Removed      int64          `json:"removed"`
	Added        int64          `json:"added"`
	Changed      int64          `json:"changed"`
	Rows         []rowChange    `json:"rows"` // the first ones
}

// A columnChange is a column that differs. Its type is empty in the version that lacks it.
type columnChange struct {
	Name   string `json:"name"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// A rowChange is a row that differs: removed rows have a before, added ones an after, and changed ones both.
type rowChange struct {
	Change string          `json:"change"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`

	was, is *comparedRow
}

// A comparedRow is a row without its id: as JSON, and as the cells of a table.
type comparedRow struct {
	text    string
	columns []string
	cells   map[string]string
}

// newDiffCommand shows what differs between two versions.
func newDiffCommand(s *session) *cobra.Command {
	var branch string
	var limit int64
	cmd := s.on("diff TABLE FROM [TO]", "Show what differs between two versions: columns and rows", between(2, 3), func(r *run, id protocol.Common) error {
		if limit < 0 || limit > versionapi.MaxComparedRows {
			return usagef("--limit is %d; 0 to %d are possible", limit, versionapi.MaxComparedRows)
		}
		req := &versionapi.CompareRequest{Common: id, Branch: branch, Limit: new(max(limit, versionapi.DefaultComparedRows))}
		for i, to := range []**int64{&req.FromVersion, &req.ToVersion}[:len(r.args)-1] {
			version, err := number(r.args[i+1])
			if err != nil {
				return err
			}
			*to = &version
		}
		found, err := patiently(r, func() (*difference, error) { return differ(r, req, int(limit)) })
		if err != nil {
			return err
		}
		if s.form != "" && s.form != formTable {
			return s.show(r.cmd, found)
		}
		return found.write(r.cmd)
	})
	cmd.Long = `Show what differs between two versions of a table, TO being the newest when not given: the columns,
the numbers of rows, and the first of them: - is removed, + is added, and ~ is changed, with the old
and the new value. Rows are matched by their stable row ids. In a table without them an updated row
is removed and added; rows that only moved are left out if there are no more than 1,000.`
	cmd.Example = `  tiltyard diff sales/orders 3
  tiltyard diff sales/orders 3 5 --limit 100 -o json`
	cmd.Flags().StringVar(&branch, "branch", "", "the branch of the versions")
	cmd.Flags().Int64Var(&limit, "limit", 20, "the greatest number of rows to show")
	return cmd
}

// differ compares two versions, and reads up to limit of the rows that differ.
func differ(r *run, req *versionapi.CompareRequest, limit int) (*difference, error) {
	told, err := r.client.CompareTableVersions(r.ctx, req)
	if err != nil {
		return nil, err
	}
	d := &difference{
		FromVersion: told.FromVersion, ToVersion: told.ToVersion, StableRowIDs: told.StableRowIDs,
		Removed: told.Removed.Count, Added: told.Added.Count, Changed: told.Changed.Count, Columns: []columnChange{}, Rows: []rowChange{},
	}
	if d.Columns, err = differingColumns(r, req, d); err != nil {
		return nil, err
	}
	from := &queryapi.Request{Common: req.Common, Branch: req.Branch, Version: &d.FromVersion}
	to := &queryapi.Request{Common: req.Common, Branch: req.Branch, Version: &d.ToVersion}
	if err := d.readChanged(r, from, to, first(told.Changed.RowIDs, limit)); err != nil {
		return nil, err
	}
	if err := d.readOthers(r, from, to, told, limit); err != nil {
		return nil, err
	}
	d.Rows = first(d.Rows, limit)
	return d, nil
}

// first returns the first n items, or all.
func first[T any](items []T, n int) []T { return items[:min(len(items), n)] }

// readChanged reads rows of both versions. A row that was written again with the values that it had is left out.
func (d *difference) readChanged(r *run, from, to *queryapi.Request, ids []uint64) error {
	before, err := readByIDs(r, from, ids)
	if err != nil {
		return err
	}
	after, err := readByIDs(r, to, ids)
	if err != nil {
		return err
	}
	for i, was := range before {
		if is := after[i]; was != nil && is != nil && was.text != is.text {
			d.Rows = append(d.Rows, rowChange{"changed", json.RawMessage(was.text), json.RawMessage(is.text), was, is})
		}
	}
	return nil
}

// readOthers reads rows of one version. Without stable row ids it leaves out the rows that only moved, which are equal on both
// sides, if all rows are listed.
func (d *difference) readOthers(r *run, from, to *queryapi.Request, told *versionapi.CompareResponse, limit int) error {
	most := limit
	mayMove := !told.StableRowIDs && limit > 0 && isWhole(told.Removed) && isWhole(told.Added)
	if mayMove {
		most = int(max(told.Removed.Count, told.Added.Count))
	}
	removed, err := readByIDs(r, from, first(told.Removed.RowIDs, most))
	if err != nil {
		return err
	}
	added, err := readByIDs(r, to, first(told.Added.RowIDs, most))
	if err != nil {
		return err
	}
	removed, added = slices.DeleteFunc(removed, isMissing), slices.DeleteFunc(added, isMissing)
	if mayMove {
		removed, added = unequal(removed, added)
		d.Removed, d.Added = int64(len(removed)), int64(len(added))
	}
	for _, was := range removed {
		d.Rows = append(d.Rows, rowChange{Change: "removed", Before: json.RawMessage(was.text), was: was})
	}
	for _, is := range added {
		d.Rows = append(d.Rows, rowChange{Change: "added", After: json.RawMessage(is.text), is: is})
	}
	return nil
}

func isMissing(row *comparedRow) bool { return row == nil }

// isWhole reports whether a list has the ids of all rows.
func isWhole(rows versionapi.ComparedRows) bool { return rows.Count == int64(len(rows.RowIDs)) }

// unequal removes the rows that both sides have.
func unequal(removed, added []*comparedRow) (_, _ []*comparedRow) {
	were := map[string]int{}
	for _, row := range removed {
		were[row.text]++
	}
	both := map[string]int{}
	added = slices.DeleteFunc(added, func(row *comparedRow) bool {
		if were[row.text] == both[row.text] {
			return false
		}
		both[row.text]++
		return true
	})
	removed = slices.DeleteFunc(removed, func(row *comparedRow) bool {
		both[row.text]--
		return both[row.text] >= 0
	})
	return removed, added
}

// differingColumns compares the columns of two versions.
func differingColumns(r *run, req *versionapi.CompareRequest, d *difference) ([]columnChange, error) {
	var order []string
	types := map[string]*columnChange{}
	for _, version := range []int64{d.FromVersion, d.ToVersion} {
		found, err := r.client.DescribeTable(r.ctx, &tableapi.DescribeRequest{
			Common: req.Common, LoadDetailedMetadata: true, Version: &version, Branch: req.Branch, VendCredentials: new(false),
		})
		if err != nil {
			return nil, err
		}
		if found.Schema == nil {
			continue
		}
		for _, field := range found.Schema.Fields {
			text := field.Type.String()
			if !field.Nullable {
				text += ", never null"
			}
			if types[field.Name] == nil {
				order = append(order, field.Name)
				types[field.Name] = &columnChange{Name: field.Name}
			}
			if version == d.FromVersion {
				types[field.Name].Before = text
			}
			if version == d.ToVersion {
				types[field.Name].After = text
			}
		}
	}
	changes := []columnChange{}
	for _, name := range order {
		if change := *types[name]; change.Before != change.After {
			changes = append(changes, change)
		}
	}
	return changes, nil
}

// idsPerQuery bounds the ids in a filter.
const idsPerQuery = 500

// readByIDs reads rows, in the order of their ids. A row that is not found is nil.
func readByIDs(r *run, req *queryapi.Request, ids []uint64) ([]*comparedRow, error) {
	var found []*comparedRow
	for chunk := range slices.Chunk(ids, idsPerQuery) {
		texts := make([]string, len(chunk))
		for i, id := range chunk {
			texts[i] = fmt.Sprint(id)
		}
		one := *req
		one.Filter, one.K, one.WithRowID = "_rowid IN ("+strings.Join(texts, ", ")+")", new(int64(len(chunk))), true
		byID, err := readWithIDs(r, &one)
		if err != nil {
			return nil, err
		}
		for _, id := range chunk {
			found = append(found, byID[id])
		}
	}
	return found, nil
}

// readWithIDs reads the rows of a query by their ids.
func readWithIDs(r *run, req *queryapi.Request) (map[uint64]*comparedRow, error) {
	rows, err := r.client.QueryTable(r.ctx, req)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[uint64]*comparedRow{}
	for batch, err := range rows.Batches() {
		if err != nil {
			return nil, err
		}
		at := batch.Schema().FieldIndices("_rowid")
		if len(at) != 1 {
			return nil, fmt.Errorf("the server sends no row ids")
		}
		ids, ok := batch.Column(at[0]).(*array.Uint64)
		if !ok {
			return nil, fmt.Errorf("the server sends row ids of type %s", batch.Column(at[0]).DataType())
		}
		plain := withoutColumn(batch, at[0])
		var lines bytes.Buffer
		if err := rowjson.Write(&lines, plain); err != nil {
			return nil, err
		}
		for i := range int(plain.NumRows()) {
			line, _ := lines.ReadString('\n')
			row := &comparedRow{text: strings.TrimSuffix(line, "\n"), cells: map[string]string{}}
			for j, column := range plain.Columns() {
				row.columns = append(row.columns, plain.ColumnName(j))
				row.cells[plain.ColumnName(j)] = cell(column, i)
			}
			found[ids.Value(i)] = row
		}
	}
	return found, nil
}

// withoutColumn returns a batch without one of its columns.
func withoutColumn(batch arrow.RecordBatch, at int) arrow.RecordBatch {
	fields, columns := slices.Clone(batch.Schema().Fields()), slices.Clone(batch.Columns())
	return array.NewRecordBatch(arrow.NewSchema(slices.Delete(fields, at, at+1), nil), slices.Delete(columns, at, at+1), batch.NumRows())
}

// write writes the difference as text.
func (d *difference) write(cmd *cobra.Command) error {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
	fmt.Fprintf(w, "versions\t%d and %d\n", d.FromVersion, d.ToVersion)
	fmt.Fprintf(w, "rows\t%d removed, %d added, %d changed\n", d.Removed, d.Added, d.Changed)
	for _, c := range d.Columns {
		sign := "~"
		if c.Before == "" {
			sign = "+"
		} else if c.After == "" {
			sign = "-"
		}
		fmt.Fprintf(w, "column\t%s %s: %s\n", sign, printable(c.Name, false), arrowed(c.Before, c.After))
	}
	if err := w.Flush(); err != nil || len(d.Rows) == 0 {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout())
	if err := d.writeRows(cmd); err != nil {
		return err
	}
	if all := d.Removed + d.Added + d.Changed; int64(len(d.Rows)) < all {
		say(cmd, "these are %d of %d rows; --limit shows more", len(d.Rows), all)
	}
	return nil
}

// writeRows writes a line for each row.
func (d *difference) writeRows(cmd *cobra.Command) error {
	var columns []string
	for _, row := range d.Rows {
		for _, one := range []*comparedRow{row.was, row.is} {
			if one == nil {
				continue
			}
			for _, name := range one.columns {
				if !slices.Contains(columns, name) {
					columns = append(columns, name)
				}
			}
		}
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
	heading := make([]string, len(columns))
	for i, name := range columns {
		heading[i] = printable(name, false)
	}
	fmt.Fprintln(w, "\t"+strings.Join(heading, "\t"))
	signs := map[string]string{"removed": "-", "added": "+", "changed": "~"}
	for _, row := range d.Rows {
		cells := make([]string, len(columns))
		for i, name := range columns {
			var was, is string
			if row.was != nil {
				was = row.was.cells[name]
			}
			if row.is != nil {
				is = row.is.cells[name]
			}
			cells[i] = arrowed(was, is)
		}
		fmt.Fprintln(w, signs[row.Change]+"\t"+strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// arrowed joins an old and a new text, of which one may be empty.
func arrowed(was, is string) string {
	switch {
	case was == is || is == "":
		return was
	case was == "":
		return is
	}
	return was + " → " + is
}
