package dataset_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/lance/dataset/branches"
	"tiltyard/shared/lance/dataset/clone"
	"tiltyard/shared/lance/dataset/datasettest"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/dataset/tags"
	"tiltyard/shared/lance/internal/deletion"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/rowset"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/storage/objectstore"
)

// The ids of rows that are looked for, and the index that is read.
var warmIDs = []uint64{0, 1, 2, 3, 4, 5}

const warmIndex, warmIndexFile = "index", "page_lookup.lance"

// A warmChange is something to do to a table.
type warmChange struct {
	name string
	do   func() error
}

// GoString names the change in the output of a failed history.
func (c warmChange) GoString() string { return c.name }

// change lets another process do one thing to the table at a place, which it returns. Whatever
// cannot be done is left out.
func (w *warmWorld) change() string {
	ctx := context.Background()
	place := rapid.SampledFrom(warmPlaces).Draw(w.t, "place")
	table := w.other(place)
	d, err := table.Latest(ctx)
	if err != nil {
		create := func() error { return w.create(place) }
		if rapid.Bool().Draw(w.t, "named") {
			create = func() error { return w.createNamed(place) }
		}
		w.note("create", place, create())
		return place
	}
	// Earlier entries are drawn more often.
	changes := []warmChange{
		{"create anew under the same names", func() error { return w.createNamed(place) }},
		{"index", func() error { return w.index(place, d) }},
		{"branch", func() error { return w.branch(table, d) }},
		{"replace a column", func() error { return w.replaceColumn(d) }},
		{"clone", func() error { return w.clone(place, d) }},
		{"create anew", func() error { return w.createAnew(place) }},
		{"append", func() error {
			_, err := w.draw(table).Append(ctx, rowsFrom(w.rows(warmColumns, w.rowCount())))
			return err
		}},
		{"drop branch", func() error { return branches.Delete(ctx, table, "b") }},
		{"tag", func() error {
			_ = tags.Delete(ctx, table, "x")
			return tags.Create(ctx, table, "x", "", w.version(d))
		}},
		{"swap members", func() error { return w.swapMembers(d) }},
		{"delete rows", func() error { return w.deleteRows(d) }},
		{"drop a member", func() error { _, err := alter.DropColumns(ctx, d, []string{"p.a"}); return err }},
		{"append by the warm process", func() error { return w.appendWarm(place, d) }},
		{"mark as blobs", func() error { return w.mark(d, "lance-encoding:blob", "true") }},
		{"mark as packed", func() error { return w.mark(d, "lance-encoding:packed", "true") }},
		{"remove the mark", func() error { return w.mark(d, "", "") }},
		{"restore", func() error { _, err := table.Restore(ctx, w.version(d)); return err }},
		{"drop a column", func() error { _, err := alter.DropColumns(ctx, d, []string{"n"}); return err }},
		{"add a column", func() error { return w.addColumn(d) }},
		{"rename", func() error {
			_, err := alter.Apply(ctx, d, []alter.Alteration{{Path: "s", Rename: "t"}}, nil)
			return err
		}},
	}
	chosen := rapid.SampledFrom(changes).Draw(w.t, "change")
	w.note(chosen.name, place, chosen.do())
	return place
}

func (w *warmWorld) note(what, place string, err error) {
	if err != nil {
		w.t.Logf("%s %s: %v", what, place, err)
	}
}

func (w *warmWorld) rowCount() int { return rapid.IntRange(1, 3).Draw(w.t, "rows") }

func (w *warmWorld) version(d *dataset.Dataset) uint64 {
	return rapid.Uint64Range(1, d.Version()).Draw(w.t, "version")
}

// draw returns the table or its branch.
func (w *warmWorld) draw(table *dataset.Table) *dataset.Table {
	if rapid.Bool().Draw(w.t, "on the branch") {
		if branch, err := branches.Open(context.Background(), table, "b"); err == nil {
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

// create creates a table, with stable row ids or without.
func (w *warmWorld) create(place string) error {
	opts := dataset.CreateOptions{StableRowIDs: rapid.Bool().Draw(w.t, "stable row ids")}
	_, err := w.other(place).CreateAs(context.Background(), rowsFrom(w.rows(warmColumns, w.rowCount())), opts)
	return err
}

func (w *warmWorld) createAnew(place string) error {
	if place == sole {
		return nil
	}
	versions := rapid.IntRange(1, 4).Draw(w.t, "versions")
	w.drop(place)
	err := w.create(place)
	for range versions - 1 {
		if err == nil {
			_, err = w.other(place).Append(context.Background(), rowsFrom(w.rows(warmColumns, w.rowCount())))
		}
	}
	return err
}

// createNamed creates a table again, with a data file and a deletion file whose names were used
// before, as a writer may choose them.
func (w *warmWorld) createNamed(place string) error {
	if place == sole {
		return w.create(place)
	}
	ctx := context.Background()
	w.drop(place)
	made, err := w.other(place).Create(ctx, rowsFrom(w.rows(warmColumns, 2)))
	if err != nil {
		return err
	}
	named := *made.Dataset.Manifest().Fragments[0]
	named.Files = slices.Clone(named.Files)
	if err := w.copy(place+".lance/data/", named.Files[0].Path, "rows.lance"); err != nil {
		return err
	}
	named.Files[0].Path = "rows.lance"
	d, err := made.Dataset.Commit(ctx, &pb.Overwrite{Fragments: []*pb.Fragment{&named}, Schema: made.Dataset.Schema().PB()})
	if err != nil {
		return err
	}
	data, kind, err := deletion.Encode(deletion.New(rapid.Uint32Range(0, 1).Draw(w.t, "row to delete")))
	if err != nil {
		return err
	}
	changed := *d.Manifest().Fragments[0]
	changed.DeletionFile = &pb.DeletionFile{FileType: kind, ReadVersion: d.Version(), ID: 1, DeletedRows: 1}
	if _, err := w.store.Put(ctx, place+".lance/"+deletion.Path(changed.ID, changed.DeletionFile), data, objectstore.Condition{}); err != nil {
		return err
	}
	_, err = d.Commit(ctx, &pb.Delete{UpdatedFragments: []*pb.Fragment{&changed}, Predicate: "true"})
	return err
}

// copy gives an object a second name.
func (w *warmWorld) copy(dir, from, to string) error {
	data, _, err := w.store.Get(context.Background(), dir+from)
	if err == nil {
		_, err = w.store.Put(context.Background(), dir+to, data, objectstore.Condition{})
	}
	return err
}

// branch creates the branch, in place of an existing one, with some versions of its own.
func (w *warmWorld) branch(table *dataset.Table, d *dataset.Dataset) error {
	ctx := context.Background()
	_ = branches.Delete(ctx, table, "b")
	if _, err := branches.Create(ctx, table, "b", "", w.version(d)); err != nil {
		return err
	}
	made, err := branches.Open(ctx, table, "b")
	if err != nil {
		return err
	}
	for range rapid.IntRange(0, 2).Draw(w.t, "versions of the branch") {
		if _, err := made.Append(ctx, rowsFrom(w.rows(warmColumns, 1))); err != nil {
			return err
		}
	}
	return nil
}

// addColumn adds the column that was dropped.
func (w *warmWorld) addColumn(d *dataset.Dataset) error {
	s := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	values := func(_ context.Context, batch arrow.RecordBatch) (arrow.RecordBatch, error) {
		return w.rows(s, int(batch.NumRows())), nil
	}
	_, err := alter.AddColumns(context.Background(), d, alter.NewColumns{Schema: s, Values: values})
	return err
}

// swapMembers commits the same files with two members of equal type swapped, as a writer may do
// with files that it did not write.
func (w *warmWorld) swapMembers(d *dataset.Dataset) error {
	p := d.Schema().Field("p")
	if p == nil || len(p.Children) < 2 {
		return nil
	}
	a, b := p.Children[0].ID, p.Children[1].ID
	op := &pb.Overwrite{Schema: d.Schema().PB(), SchemaMetadata: d.Schema().Metadata}
	for _, meta := range d.Manifest().Fragments {
		swapped := *meta
		swapped.Files = slices.Clone(meta.Files)
		for i := range swapped.Files {
			fields := slices.Clone(swapped.Files[i].Fields)
			at, other := slices.Index(fields, a), slices.Index(fields, b)
			if at >= 0 && other >= 0 {
				fields[at], fields[other] = b, a
			}
			swapped.Files[i].Fields = fields
		}
		op.Fragments = append(op.Fragments, &swapped)
	}
	_, err := d.Commit(context.Background(), op)
	return err
}

// index gives the table an index of the one name, whose file holds parameters of its own.
func (w *warmWorld) index(place string, d *dataset.Dataset) error {
	s, err := schema.FromArrow(warmColumns)
	if err != nil {
		return err
	}
	s.Metadata = map[string]string{"parameter": fmt.Sprint(w.next("parameters"))}
	var file bytes.Buffer
	writer, err := datafile.NewWriter(&file, s, lance.V2_0)
	if err != nil {
		return err
	}
	if err := writer.Write(w.rows(warmColumns, 1)); err != nil {
		return err
	}
	if _, err := writer.Close(); err != nil {
		return err
	}
	segment := &pb.IndexMetadata{
		UUID: pb.UUID(uuid.New()), Name: warmIndex, DatasetVersion: d.Version(), Fields: []int32{d.Schema().Fields[0].ID},
	}
	key := place + ".lance/_indices/" + segment.UUID.String() + "/" + warmIndexFile
	if _, err := w.store.Put(context.Background(), key, file.Bytes(), objectstore.Condition{}); err != nil {
		return err
	}
	_, err = d.Commit(context.Background(), &pb.CreateIndex{NewIndices: []*pb.IndexMetadata{segment}})
	return err
}

// clone makes a shallow clone at another location, in place of its table.
func (w *warmWorld) clone(from string, d *dataset.Dataset) error {
	to := rapid.SampledFrom(warmPlaces).Draw(w.t, "clone to")
	if to == from || to == sole || slices.ContainsFunc(d.Fragments(), func(f *fragment.Fragment) bool { return len(f.Meta.Files[0].Path) < 50+len(".lance") }) {
		return nil
	}
	w.drop(to)
	_, err := clone.Shallow(context.Background(), d, w.other(to), "")
	return err
}

// replaceColumn rewrites the values of a column into additional files, as native writers do to
// update single columns.
func (w *warmWorld) replaceColumn(d *dataset.Dataset) error {
	field := d.Schema().Fields[rapid.IntRange(0, len(d.Schema().Fields)-1).Draw(w.t, "column")]
	return datasettest.ReplaceColumn(context.Background(), d, field.Name, w.rows)
}

// appendWarm lets the warm process add a row to the newest version, which is d.
func (w *warmWorld) appendWarm(place string, d *dataset.Dataset) error {
	ctx := context.Background()
	if _, err := w.at(w.warm, place).Append(ctx, rowsFrom(w.rows(warmColumns, 1))); err != nil {
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

func (w *warmWorld) deleteRows(d *dataset.Dataset) error {
	if len(d.Fragments()) == 0 {
		return nil
	}
	rows := rowset.At(d.Fragments()[0].Address(0))
	_, err := d.Delete(context.Background(), rows, "")
	return err
}

// mark sets or removes column metadata with storage options.
func (w *warmWorld) mark(d *dataset.Dataset, key, value string) error {
	field := rapid.SampledFrom([]string{"s", "p"}).Draw(w.t, "marked")
	f := d.Schema().Field(field)
	if f == nil {
		return nil
	}
	update := &pb.UpdateMap{Replace: true}
	if key != "" {
		update.Entries = []pb.UpdateMapEntry{{Key: key, Value: &value}}
	}
	_, err := d.Commit(context.Background(), &pb.UpdateConfig{FieldMetadata: map[int32]*pb.UpdateMap{f.ID: update}})
	return err
}
