package inspect

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// WriteText writes the report as readable text. Consecutive pages with the same encoding share a line.
func (r *Report) WriteText(w io.Writer) error {
	out := &text{bufio.NewWriter(w)}
	out.summary(r)
	out.history(r)
	out.schema(r.Detail.Fields)
	out.indices(&r.Detail)
	for i := range r.Detail.Contents {
		out.fragment(&r.Detail.Contents[i])
	}
	return out.Flush()
}

// A text is a writer that keeps the first error until Flush.
type text struct{ *bufio.Writer }

func (t *text) line(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }

// table writes rows of tab-separated cells.
func (t *text) table(rows ...string) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, row)
	}
	_ = w.Flush() // a Builder takes everything
	for line := range strings.Lines(b.String()) {
		t.line("%s", strings.TrimRight(line, " \n")) // empty cells at the end leave blanks
	}
}

// summary writes the properties of the version.
func (t *text) summary(r *Report) {
	d := &r.Detail
	rows := []string{
		"table\t" + shown(r.Location),
		fmt.Sprintf("version\t%d of %d, %s", d.Version.Version, r.Latest, moment(d.Time)),
		"written by\t" + shown(d.Writer),
		"data files\t" + shown(d.FileVersion),
		fmt.Sprintf("rows\t%d in %s, %d of them deleted", d.Rows+d.deletedRows(), counted(d.Fragments, "fragment"), d.deletedRows()),
		"size\t" + size(d.bytes()),
	}
	if len(d.Features) > 0 {
		rows = append(rows, "features\t"+strings.Join(d.Features, ", "))
	}
	if d.Branch != "" {
		rows = append(rows, "branch\t"+shown(d.Branch))
	}
	if d.NextRowID > 0 {
		rows = append(rows, fmt.Sprintf("next row id\t%d", d.NextRowID))
	}
	rows = append(rows, pairs("config", d.Config)...)
	rows = append(rows, pairs("schema metadata", d.SchemaMetadata)...)
	rows = append(rows, pairs("table metadata", d.TableMetadata)...)
	for _, b := range d.BasePaths {
		rows = append(rows, fmt.Sprintf("base path %d\t%s %s", b.ID, shown(b.Path), shown(b.Name)))
	}
	for _, tag := range r.Tags {
		on := ""
		if tag.Branch != "" {
			on = " of branch " + shown(tag.Branch)
		}
		rows = append(rows, fmt.Sprintf("tag\t%s: version %d%s", shown(tag.Name), tag.Version, on))
	}
	t.table(rows...)
}

// history writes the listed versions, one per line.
func (t *text) history(r *Report) {
	if len(r.Versions) == 0 {
		return
	}
	t.line("\nversions")
	rows := make([]string, len(r.Versions))
	for i, v := range r.Versions {
		rows[i] = fmt.Sprintf("  %d\t%s\t%s\t%s\t%s\t%s", v.Version, moment(v.Time), shown(v.Operation),
			counted(v.Rows, "row"), counted(v.Fragments, "fragment"), shown(v.Message))
		if v.Error != "" {
			rows[i] = fmt.Sprintf("  %d\tERROR: %s", v.Version, shown(v.Error))
		}
	}
	t.table(rows...)
	if r.More {
		t.line("  and older ones")
	}
}

func (t *text) schema(fields []Field) {
	t.line("\nschema")
	rows := make([]string, len(fields))
	for i, f := range fields {
		null := ""
		if !f.Nullable {
			null = " not null"
		}
		name := f.Path[strings.LastIndexByte(f.Path, '.')+1:]
		rows[i] = fmt.Sprintf("  %d\t%s%s\t%s%s\t%s", f.ID, strings.Repeat("  ", f.Depth), shown(name),
			shown(f.Type), null, strings.Join(pairs("", f.Metadata), " "))
	}
	t.table(rows...)
}

// indices writes the index segments of the version, one per line.
func (t *text) indices(d *Detail) {
	if d.IndexError != "" {
		t.line("\nindices\n  ERROR: %s", shown(d.IndexError))
	}
	if len(d.Indices) == 0 {
		return
	}
	t.line("\nindices")
	rows := make([]string, len(d.Indices))
	for i, x := range d.Indices {
		names := make([]string, len(x.Fields))
		for k, name := range x.Fields {
			names[k] = shown(name)
		}
		rows[i] = fmt.Sprintf("  %s\t%s on %s\t%d of %s\tbuilt from version %d\t%s\t%s", shown(x.Name), shown(x.Type),
			strings.Join(names, ", "), len(x.Fragments), counted(d.Fragments, "fragment"), x.Built, size(x.Bytes), x.UUID)
	}
	t.table(rows...)
}

func (t *text) fragment(f *Fragment) {
	t.line("\nfragment %d: %s, %d of them deleted", f.ID, counted(f.PhysicalRows, "row"), f.DeletedRows)
	if f.DeletionFile != "" {
		t.line("  deletion file %s", f.DeletionFile)
	}
	if f.RowIDBytes > 0 {
		t.line("  row ids in %s", size(uint64(f.RowIDBytes)))
	}
	for i := range f.Files {
		t.file(&f.Files[i])
	}
}

func (t *text) file(f *File) {
	switch {
	case f.Error != "":
		t.line("  %s\n    ERROR: %s", shown(f.Path), shown(f.Error))
		return
	case f.Base != nil:
		t.line("  %s in base path %d: version %s, %s", shown(f.Path), *f.Base, f.Version, size(f.Bytes))
		return
	}
	t.line("  %s: version %s, %s, %s", shown(f.Path), f.Version, counted(f.Rows, "row"), size(f.Bytes))
	for i := range f.Columns {
		t.column(&f.Columns[i])
	}
}

// column writes a column and its pages, with consecutive pages of the same encoding in one line.
func (t *text) column(c *Column) {
	name := strings.TrimSpace(shown(c.Field) + " " + shown(c.Type))
	t.line("    column %d %s: %s, %s", c.Index, name, counted(len(c.Pages), "page"), size(c.Bytes))
	if c.Error != "" {
		t.line("      ERROR: %s", shown(c.Error))
	}
	for first := 0; first < len(c.Pages); {
		last := first
		var rows, bytes uint64
		for ; last < len(c.Pages) && c.Pages[last].alike(c.Pages[first]); last++ {
			rows += c.Pages[last].Rows
			bytes += c.Pages[last].Bytes()
		}
		what := fmt.Sprintf("page %d", first)
		if last-first > 1 {
			what = fmt.Sprintf("pages %d to %d", first, last-1)
		}
		t.line("      %s: %s in %s, %s: %s", what, counted(rows, "row"), size(bytes),
			counted(len(c.Pages[first].Buffers), "buffer"), c.Pages[first].Encoding)
		first = last
	}
}

// alike reports whether two pages differ only in their sizes.
func (p Page) alike(q Page) bool { return p.Encoding == q.Encoding && len(p.Buffers) == len(q.Buffers) }

func (d *Detail) deletedRows() (n uint64) {
	for i := range d.Contents {
		n += d.Contents[i].DeletedRows
	}
	return n
}

func (d *Detail) bytes() (n uint64) {
	for i := range d.Contents {
		for _, f := range d.Contents[i].Files {
			n += f.Bytes
		}
	}
	return n
}

// pairs returns lines of keys and values in the order of the keys.
func pairs(what string, m map[string]string) []string {
	lines := make([]string, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		line := shown(key) + "=" + shown(m[key])
		if what != "" {
			line = what + "\t" + line
		}
		lines = append(lines, line)
	}
	return lines
}

// shown returns text of a table in a form that is safe to print: quoted if it contains
// characters that do not print, or that separate the cells of a table.
func shown(s string) string {
	const longest = 200 // bytes of one name or value
	if len(s) > longest {
		return strconv.Quote(s[:longest]) + "..."
	}
	if quoted := strconv.Quote(s); quoted[1:len(quoted)-1] != s {
		return quoted
	}
	return s
}

func moment(t time.Time) string {
	if t.IsZero() {
		return "at a time unknown"
	}
	return t.UTC().Format("2006-01-02 15:04:05.000 MST")
}

func counted[N int | int64 | uint64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// size is a number of bytes with three significant digits or so.
func size(n uint64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n)/(1<<10), "KiB"
	for _, next := range []string{"MiB", "GiB", "TiB", "PiB", "EiB"} {
		if value < 1<<10 {
			break
		}
		value, unit = value/(1<<10), next
	}
	return fmt.Sprintf("%.1f %s", value, unit)
}
