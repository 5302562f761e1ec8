package dataset

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"tiltyard/shared/lance/pb"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/objectstore/memstore"
)

// What a process reads does not depend on what it has read before: a random history of tables,
// clones and branches, made by writers that each know nothing of the others, is read in random
// order by a process that keeps all it can, and by one that begins anew for each read.
func TestWarmProcessReadsWhatColdOneReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWarmWorld(t)
		for range rapid.IntRange(2, 14).Draw(t, "steps") {
			w.change()
			for range rapid.IntRange(0, 4).Draw(t, "reads") {
				w.compare()
			}
		}
		w.compareAll()
	})
}

// warmWorld is a store that many write to, and a process that reads it all along.
type warmWorld struct {
	t      *rapid.T
	store  objectstore.Store
	warm   *Session
	counts map[string]int // of rows and values made so far, so that no two are the same
}

var warmPlaces = []string{"prod", "dev", "test"}

func newWarmWorld(t *rapid.T) *warmWorld {
	w := &warmWorld{t: t, store: memstore.New(), counts: map[string]int{}}
	if rapid.Bool().Draw(t, "near") {
		w.store = nearStore{w.store}
	}
	w.warm = NewSession(64<<20, time.Now)
	return w
}

func (w *warmWorld) at(s *Session, place string) *Table {
	key := place + ".lance"
	return s.Table(objectstore.Location{URI: "memory://test/" + key, Store: w.store, Prefix: key}, 0)
}

// other is a table as a process sees it that has just begun.
func (w *warmWorld) other(place string) *Table { return w.at(NewSession(64<<20, time.Now), place) }

func (w *warmWorld) next(what string) int {
	w.counts[what]++
	return w.counts[what]
}

var warmColumns = arrow.NewSchema([]arrow.Field{
	{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "p", Type: arrow.StructOf(
		arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		arrow.Field{Name: "b", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	), Nullable: true},
}, nil)

// rows makes rows of values that were not there before, in columns of a schema.
func (w *warmWorld) rows(s *arrow.Schema, n int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	for range n {
		for _, f := range b.Fields() {
			w.appendValue(f)
		}
	}
	return b.NewRecordBatch()
}

func (w *warmWorld) appendValue(b array.Builder) {
	switch b := b.(type) {
	case *array.Int64Builder:
		b.Append(int64(w.next("values")))
	case *array.StringBuilder:
		b.Append(fmt.Sprint("s", w.next("values")))
	case *array.StructBuilder:
		b.Append(true)
		for i := range b.NumField() {
			w.appendValue(b.FieldBuilder(i))
		}
	default:
		b.AppendNull()
	}
}

func rowsFrom(batch arrow.RecordBatch) Rows {
	return Rows{Schema: batch.Schema(), Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}
}

// change lets another process do one thing. Whatever cannot be done is left out.
func (w *warmWorld) change() {
	ctx := context.Background()
	place := rapid.SampledFrom(warmPlaces).Draw(w.t, "place")
	table := w.other(place)
	d, err := table.Latest(ctx)
	if err != nil {
		_, err = table.Create(ctx, rowsFrom(w.rows(warmColumns, w.rowCount())), nil)
		w.note("create", place, err)
		return
	}
	changes := map[string]func() error{
		"append": func() error {
			_, err := w.draw(table).Append(ctx, rowsFrom(w.rows(warmColumns, w.rowCount())), nil)
			return err
		},
		"append by the warm process": func() error { return w.appendWarm(place, d) },
		"create anew":                func() error { return w.createAnew(place, table) },
		"create anew under the same names": func() error {
			return w.createNamed(place)
		},
		"clone":            func() error { return w.clone(place, d) },
		"branch":           func() error { _, err := table.CreateBranch(ctx, "b", "", w.version(d)); return err },
		"drop branch":      func() error { return table.DeleteBranch(ctx, "b") },
		"restore":          func() error { _, err := table.Restore(ctx, w.version(d), nil); return err },
		"replace a column": func() error { return w.replaceColumn(d) },
		"delete rows":      func() error { return w.deleteRows(d) },
		"drop a member":    func() error { _, err := d.DropColumns(ctx, []string{"p.a"}, nil); return err },
		"drop a column":    func() error { _, err := d.DropColumns(ctx, []string{"n"}, nil); return err },
		"add a column": func() error {
			s := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
			_, err := d.AddColumns(ctx, NewColumns{Schema: s, Values: func(_ context.Context, batch arrow.RecordBatch) (arrow.RecordBatch, error) {
				return w.rows(s, int(batch.NumRows())), nil
			}}, nil)
			return err
		},
		"rename": func() error {
			_, err := d.AlterColumns(ctx, []Alteration{{Path: "s", Rename: "t"}}, nil, nil)
			return err
		},
		"mark as blobs":   func() error { return w.mark(d, "lance-encoding:blob", "true") },
		"mark as packed":  func() error { return w.mark(d, "lance-encoding:packed", "true") },
		"remove the mark": func() error { return w.mark(d, "", "") },
		"tag": func() error {
			_ = table.DeleteTag(ctx, "x")
			return table.CreateTag(ctx, "x", "", w.version(d))
		},
	}
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(changes))).Draw(w.t, "change")
	w.note(name, place, changes[name]())
}

func (w *warmWorld) note(what, place string, err error) {
	if err != nil {
		w.t.Logf("%s %s: %v", what, place, err)
	}
}

func (w *warmWorld) rowCount() int { return rapid.IntRange(1, 3).Draw(w.t, "rows") }

func (w *warmWorld) version(d *Dataset) uint64 {
	return rapid.Uint64Range(1, d.Version()).Draw(w.t, "version")
}

// draw returns the table or its branch.
func (w *warmWorld) draw(table *Table) *Table {
	if rapid.Bool().Draw(w.t, "on the branch") {
		if branch, err := table.OpenBranch(context.Background(), "b"); err == nil {
			return branch
		}
	}
	return table
}

// drop deletes a table, as removing its directory does.
func (w *warmWorld) drop(place string) {
	page, err := w.store.List(context.Background(), objectstore.ListOptions{Prefix: place + ".lance/"})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, info := range page.Objects {
		if err := w.store.Delete(context.Background(), info.Key, objectstore.Condition{}); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *warmWorld) createAnew(place string, table *Table) error {
	versions := rapid.IntRange(1, 4).Draw(w.t, "versions")
	w.drop(place)
	_, err := table.Create(context.Background(), rowsFrom(w.rows(warmColumns, w.rowCount())), nil)
	for range versions - 1 {
		if err == nil {
			_, err = w.other(place).Append(context.Background(), rowsFrom(w.rows(warmColumns, w.rowCount())), nil)
		}
	}
	return err
}

// createNamed creates a table anew, whose one data file has a name that was used before, as
// writers can choose it.
func (w *warmWorld) createNamed(place string) error {
	ctx := context.Background()
	w.drop(place)
	made, err := w.other(place).Create(ctx, rowsFrom(w.rows(warmColumns, 2)), nil)
	if err != nil {
		return err
	}
	file := &made.Dataset.manifest.Fragments[0].Files[0]
	data, _, err := w.store.Get(ctx, place+".lance/data/"+file.Path)
	if err != nil {
		return err
	}
	if _, err := w.store.Put(ctx, place+".lance/data/rows.lance", data, objectstore.Condition{}); err != nil {
		return err
	}
	named := *made.Dataset.manifest.Fragments[0]
	named.Files = slices.Clone(named.Files)
	named.Files[0].Path = "rows.lance"
	_, err = made.Dataset.Commit(ctx, &pb.Overwrite{Fragments: []*pb.Fragment{&named}, Schema: made.Dataset.Schema().PB()}, nil)
	return err
}

// clone makes a shallow clone at another place, in the place of what was there.
func (w *warmWorld) clone(from string, d *Dataset) error {
	to := rapid.SampledFrom(warmPlaces).Draw(w.t, "clone to")
	if to == from || slices.ContainsFunc(d.fragments(), func(f *fragment) bool { return f.files[0].within != "" }) {
		return nil
	}
	w.drop(to)
	_, err := d.Clone(context.Background(), w.other(to), "", nil)
	return err
}

// replaceColumn writes the values of a column anew beside the files that have the others, as
// native writers do to update single columns.
func (w *warmWorld) replaceColumn(d *Dataset) error {
	ctx := context.Background()
	field := d.Schema().Fields[rapid.IntRange(0, len(d.Schema().Fields)-1).Draw(w.t, "column")]
	s, err := d.Schema().Project([]string{field.Name})
	if err != nil {
		return err
	}
	p, err := d.projection([]string{RowAddr})
	if err != nil {
		return err
	}
	match, err := s.Match(s.Arrow())
	if err != nil {
		return err
	}
	files, err := d.writeColumns(ctx, s, p, func(batch arrow.RecordBatch) ([]arrow.Array, error) {
		return match.Columns(w.rows(s.Arrow(), int(batch.NumRows())))
	})
	if err != nil {
		return err
	}
	if err := files.puts.Wait(); err != nil {
		return err
	}
	op := &pb.Merge{
		Fragments: replaceFields(d.manifest.Fragments, files.files, d.Schema()),
		Schema:    d.Schema().PB(), SchemaMetadata: d.Schema().Metadata, PreservesNullability: true,
	}
	_, err = d.Commit(ctx, op, nil)
	return err
}

// appendWarm lets the warm process add a row to the newest version, which is d.
func (w *warmWorld) appendWarm(place string, d *Dataset) error {
	ctx := context.Background()
	if _, err := w.at(w.warm, place).Append(ctx, rowsFrom(w.rows(warmColumns, 1)), nil); err != nil {
		return err
	}
	now, err := w.other(place).Latest(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	if now.Version() != d.Version()+1 || now.CountRows() != d.CountRows()+1 {
		w.t.Fatalf("append to version %d of %d rows: version %d has %d", d.Version(), d.CountRows(), now.Version(), now.CountRows())
	}
	return nil
}

func (w *warmWorld) deleteRows(d *Dataset) error {
	if len(d.fragments()) == 0 {
		return nil
	}
	rows := RowsAt(d.fragments()[0].address(0))
	_, err := d.Delete(context.Background(), rows, "", nil)
	return err
}

// mark gives a column metadata that says how its values are stored, or takes it away.
func (w *warmWorld) mark(d *Dataset, key, value string) error {
	field := rapid.SampledFrom([]string{"s", "p"}).Draw(w.t, "marked")
	f := d.Schema().Field(field)
	if f == nil {
		return nil
	}
	update := &pb.UpdateMap{Replace: true}
	if key != "" {
		update.Entries = []pb.UpdateMapEntry{{Key: key, Value: &value}}
	}
	_, err := d.Commit(context.Background(), &pb.UpdateConfig{FieldMetadata: map[int32]*pb.UpdateMap{f.ID: update}}, nil)
	return err
}

// compare reads something, warm and cold.
func (w *warmWorld) compare() {
	w.compareAt(rapid.SampledFrom(warmPlaces).Draw(w.t, "place"), rapid.SampledFrom([]string{"newest", "version", "branch", "tag"}).Draw(w.t, "what"), nil)
}

// compareAll reads the newest and all other versions, warm and cold.
func (w *warmWorld) compareAll() {
	for _, place := range warmPlaces {
		for _, what := range []string{"newest", "branch", "tag"} {
			w.compareAt(place, what, nil)
		}
		versions, err := w.other(place).Versions(context.Background(), nil, -1)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, info := range versions {
			version := VersionOf(info)
			w.compareAt(place, "version", &version)
		}
	}
}

func (w *warmWorld) compareAt(place, what string, version *uint64) {
	if what == "version" && version == nil {
		drawn := rapid.Uint64Range(1, 6).Draw(w.t, "version")
		version = &drawn
	}
	got, want := w.told(w.at(w.warm, place), what, version), w.told(w.other(place), what, version)
	// A clone whose source was dropped has lost its files. What the warm process has of them
	// it may still tell.
	if got != want && !strings.Contains(want, objectstore.ErrNotExist.Error()) {
		w.t.Fatalf("%s of %s, version %v:\nthe warm process reads\n%s\nthe cold one\n%s", what, place, version, got, want)
	}
}

// told returns all that a table has at some version, or the error of reading it.
func (w *warmWorld) told(table *Table, what string, version *uint64) string {
	ctx := context.Background()
	var text string
	var err error
	switch what {
	case "newest":
		text, err = Read(ctx, table, tellRows)
	case "version":
		text, err = ReadVersion(ctx, table, *version, tellRows)
	case "branch":
		var branch *Table
		if branch, err = table.OpenBranch(ctx, "b"); err == nil {
			text, err = Read(ctx, branch, tellRows)
		}
	case "tag":
		var d *Dataset
		if d, err = table.Tagged(ctx, "x"); err == nil {
			text, err = tellRows(ctx, d)
		}
	}
	if err != nil {
		return "error: " + err.Error()
	}
	return text
}

// tellRows writes out a version: each column by itself, so that one that cannot be read does
// not hide the others, and the rows by their addresses.
func tellRows(ctx context.Context, d *Dataset) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "version %d of %d rows: %s\n", d.Version(), d.CountRows(), d.ScanSchema())
	for _, f := range d.Schema().Fields {
		fmt.Fprintf(&b, "%s:", f.Name)
		_, batches, err := d.Scan(ctx, ScanOptions{Columns: []string{f.Name, RowAddr}})
		if err != nil {
			fmt.Fprintf(&b, " %v\n", err)
			continue
		}
		for batch, err := range batches {
			if err != nil {
				fmt.Fprintf(&b, " %v", err)
				break
			}
			fmt.Fprintf(&b, " %v %v", batch.Column(0), batch.Column(1))
		}
		b.WriteByte('\n')
	}
	for _, file := range d.manifest.Fragments {
		for i := range file.Files {
			fmt.Fprintf(&b, "%s ", path.Base(file.Files[i].Path))
		}
	}
	return b.String(), nil
}
