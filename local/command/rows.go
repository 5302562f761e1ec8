package command

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/local/rowfile"
	"tiltyard/shared/client"
)

// writeAll writes all rows in a format. After an error the end is missing, which shows that the output is incomplete.
func writeAll(out io.Writer, format rowfile.Format, rows client.Source, wrote func(int64)) error {
	w, err := rowfile.NewWriter(out, format, rows.Schema)
	if err != nil {
		return err
	}
	for batch, err := range rows.Batches {
		if err == nil {
			err = w.Write(batch)
		}
		if err != nil {
			return err
		}
		wrote(batch.NumRows())
	}
	return w.Close()
}

// sourceOf returns the rows of an answer.
func sourceOf(rows *client.Rows) client.Source {
	return client.Source{Schema: rows.Schema(), Once: true, Batches: rows.Batches()}
}

// writeTable writes rows as a table, at most most rows if bounded is true. more reports that there
// are further ones. Each batch has its own column widths.
func writeTable(w io.Writer, rows *client.Rows, most int, bounded bool) (more bool, err error) {
	var header []string
	for _, field := range rows.Schema().Fields() {
		header = append(header, printable(field.Name, false))
	}
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(header, "\t"))
	written := 0
	for batch, err := range rows.Batches() {
		if err != nil {
			return false, err
		}
		for i := range int(batch.NumRows()) {
			if bounded && written == most {
				return true, table.Flush()
			}
			written++
			cells := make([]string, batch.NumCols())
			for j, column := range batch.Columns() {
				cells[j] = cell(column, i)
			}
			fmt.Fprintln(table, strings.Join(cells, "\t"))
		}
		if err := table.Flush(); err != nil {
			return false, err
		}
	}
	return false, table.Flush()
}

// cell formats a value for a table: a vector by its first items, other values like [valueText].
func cell(column arrow.Array, i int) string {
	const most = 4
	if vector, ok := column.(*array.FixedSizeList); ok && column.IsValid(i) {
		from, end := vector.ValueOffsets(i)
		if end-from > most {
			return fmt.Sprintf("[%s, … %d in all]", printable(elements(vector.ListValues(), from, from+most), false), end-from)
		}
	}
	return shorten(printable(valueText(column, i), false))
}

// shorten shortens a text to the width of a cell.
func shorten(text string) string {
	const most = 60
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
