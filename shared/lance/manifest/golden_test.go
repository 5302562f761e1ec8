package manifest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/lance/pb"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// expected is the content of a version as native Lance reads it.
type expected struct {
	Version   uint64
	Timestamp int64
	Operation string
	Columns   map[string]string
	Fragments [][3]uint64 // id, physical rows, deleted rows
	Indices   []string
}

func expectations(t testing.TB) map[string][]expected {
	t.Helper()
	raw, err := os.ReadFile("testdata/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string][]expected
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// goldenStore holds all files of testdata under their paths there.
func goldenStore(t testing.TB) objectstore.Store {
	t.Helper()
	store := memstore.New()
	err := filepath.WalkDir("testdata", func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		key := filepath.ToSlash(strings.TrimPrefix(name, "testdata"+string(filepath.Separator)))
		_, err = store.Put(context.Background(), key, raw, objectstore.Condition{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// manifestFiles returns the manifest files of testdata by their keys.
func manifestFiles(t testing.TB) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("testdata/*/_versions/*.manifest")
	if err != nil || len(names) < 40 {
		t.Fatalf("%d manifests, %v", len(names), err)
	}
	files := map[string][]byte{}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(filepath.ToSlash(name), "testdata/")] = raw
	}
	return files
}

func TestNativeManifestsReadAsNativeLanceReadsThem(t *testing.T) {
	ctx, store := context.Background(), goldenStore(t)
	for table, versions := range expectations(t) {
		newest, err := Latest(ctx, store, table)
		if err != nil {
			t.Fatal(err)
		}
		if want := versions[len(versions)-1].Version; newest.Version != want {
			t.Errorf("%s: latest version: got %d, want %d", table, newest.Version, want)
		}
		for _, want := range versions {
			m, err := Read(ctx, store, Key(table, want.Version, newest.Scheme), 0)
			if err != nil {
				t.Errorf("%s: %v", table, err)
				continue
			}
			if diff := cmp.Diff(want, describe(t, m, store, table)); diff != "" {
				t.Errorf("%s version %d (-want +got):\n%s", table, want.Version, diff)
			}
			if err := errors.Join(m.CheckReadable(), m.CheckWritable(), m.Validate()); err != nil {
				t.Errorf("%s version %d: %v", table, want.Version, err)
			}
		}
	}
}

// describe returns the content of a manifest in the form of expected.json.
func describe(t *testing.T, m *Manifest, store objectstore.Store, table string) expected {
	txn, err := m.ReadTransaction(context.Background(), store, table)
	if err != nil {
		t.Errorf("%s: %v", table, err)
	}
	got := expected{
		Version:   m.Version,
		Timestamp: m.Time().Unix(),
		Operation: txn.OperationName(),
		Columns:   map[string]string{},
		Indices:   []string{},
	}
	switch txn.Operation.(type) {
	case *pb.ReserveFragments:
		got.Operation = "BaseOperation" // the class of operations that pylance does not support
	}
	for _, f := range m.Schema.Fields {
		got.Columns[f.Name] = pyarrowName(f.Type)
	}
	for _, f := range m.Fragments {
		deleted := uint64(0)
		if f.DeletionFile != nil {
			deleted = f.DeletionFile.DeletedRows
		}
		got.Fragments = append(got.Fragments, [3]uint64{f.ID, f.PhysicalRows, deleted})
	}
	indices, err := m.Indices()
	if err != nil {
		t.Errorf("%s: %v", table, err)
	}
	for _, index := range indices {
		got.Indices = append(got.Indices, index.Name)
	}
	slices.Sort(got.Indices)
	return got
}

func TestTransactionFilesSayWhatIsInline(t *testing.T) {
	ctx, store := context.Background(), goldenStore(t)
	files := 0
	for key := range manifestFiles(t) {
		m, err := Read(ctx, store, key, 0)
		if err != nil {
			t.Fatal(err)
		}
		table, _, _ := strings.Cut(key, "/")
		inline, err := m.ReadTransaction(ctx, store, table)
		if err != nil {
			t.Fatal(err)
		}
		if m.TransactionFile == "" || table == "branch" {
			continue
		}
		m.transaction, m.TransactionSection = nil, nil
		fromFile, err := m.ReadTransaction(ctx, store, table)
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		if diff := cmp.Diff(inline, fromFile); diff != "" {
			t.Errorf("%s (-inline +file):\n%s", key, diff)
		}
		if want := TransactionName(inline.ReadVersion, inline.UUID); m.TransactionFile != want {
			t.Errorf("%s: transaction file: got %s, want %s", key, m.TransactionFile, want)
		}
		files++
	}
	if files < 30 {
		t.Errorf("%d transaction files were compared", files)
	}
	m := &Manifest{}
	if _, err := m.ReadTransaction(ctx, store, "t"); !errors.Is(err, ErrNoTransaction) {
		t.Errorf("a manifest without one: got %v, want ErrNoTransaction", err)
	}
}

// Native writers put maps in random order, we put them in key order: files without a
// map of two entries must come out byte for byte.
func TestEncodeWritesTheBytesOfNativeLance(t *testing.T) {
	same := 0
	for key, raw := range manifestFiles(t) {
		m, err := Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		txn, err := m.ReadTransaction(context.Background(), nil, "")
		if err != nil {
			t.Fatal(err)
		}
		out, err := m.Encode(txn)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case bytes.Equal(out, raw):
			same++
		case len(out) != len(raw):
			t.Errorf("%s: got %d bytes, want %d", key, len(out), len(raw))
		}
		again, err := Parse(out)
		if err != nil {
			t.Fatalf("%s: second reading: %v", key, err)
		}
		if diff := compareManifests(m, again); diff != "" {
			t.Errorf("%s (-first +second reading):\n%s", key, diff)
		}
	}
	if same < 35 {
		t.Errorf("%d files came out byte for byte", same)
	}
}

// compareManifests compares all but the unexported cache.
func compareManifests(a, b *Manifest) string {
	return cmp.Diff(a.Manifest, b.Manifest) +
		cmp.Diff(a.Schema.PB(), b.Schema.PB()) +
		cmp.Diff(a.Schema.Metadata, b.Schema.Metadata) +
		cmp.Diff(a.IndexSection, b.IndexSection) +
		cmp.Diff(a.transaction, b.transaction)
}

func TestEncodeKeepsTheIndexSectionByteForByte(t *testing.T) {
	raw := manifestFiles(t)[Key("indices", 4, V2)]
	m, err := Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	indices, err := m.Indices()
	if err != nil || len(indices) != 2 {
		t.Fatalf("indices: got %d, %v", len(indices), err)
	}
	before := m.IndexSection
	m.SetIndices(indices)
	if !bytes.Equal(m.IndexSection, before) {
		t.Errorf("decoded and encoded section differs from the native one")
	}
	m.SetIndices(nil)
	if out, err := m.Encode(nil); err != nil || len(out) >= len(raw) {
		t.Errorf("without indices: got %d bytes, %v, want fewer than %d", len(out), err, len(raw))
	}
}

// SetFlags computes the flags that native writers computed.
func TestSetFlagsAgreesWithNativeLance(t *testing.T) {
	for key, raw := range manifestFiles(t) {
		m, err := Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		reader, writer := m.ReaderFlags, m.WriterFlags
		m.ReaderFlags, m.WriterFlags = reader&FlagStableRowIDs, 0
		if err := m.SetFlags(); err != nil {
			t.Errorf("%s: %v", key, err)
		}
		if m.ReaderFlags != reader || m.WriterFlags != writer {
			t.Errorf("%s: flags: got %b, %b, want %b, %b", key, m.ReaderFlags, m.WriterFlags, reader, writer)
		}
	}
}

func TestUnknownFieldsAreKept(t *testing.T) {
	files := manifestFiles(t)
	key := slices.Sorted(maps.Keys(files))[0]
	m, err := Parse(files[key])
	if err != nil {
		t.Fatal(err)
	}
	m.Unknown = []byte{0xC2, 0x3E, 3, 'n', 'e', 'w'} // field 1000
	m.Fragments[0].Unknown = []byte{0xC0, 0x3E, 7}
	out, err := m.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(out)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Unknown, m.Unknown) || !bytes.Equal(again.Fragments[0].Unknown, m.Fragments[0].Unknown) {
		t.Errorf("unknown fields: got %x and %x", again.Unknown, again.Fragments[0].Unknown)
	}
}

func TestBranchManifestsNameTheirBase(t *testing.T) {
	store := goldenStore(t)
	at, err := Latest(context.Background(), store, "branch")
	if err != nil {
		t.Fatal(err)
	}
	m, err := Read(context.Background(), store, at.Key, at.Size)
	if err != nil {
		t.Fatal(err)
	}
	if m.Branch == nil || *m.Branch != "dev" || len(m.BasePaths) != 1 || !m.BasePaths[0].IsDatasetRoot {
		t.Errorf("got branch %v and bases %+v", m.Branch, m.BasePaths)
	}
	if base := m.Fragments[0].Files[0].BaseID; base == nil || *base != m.BasePaths[0].ID {
		t.Errorf("base of the first file: got %v, want %d", base, m.BasePaths[0].ID)
	}
	if path.Base(at.Key) != Name(m.Version, V2) {
		t.Errorf("key: got %s", at.Key)
	}
}

// pyarrowName is the type as pyarrow prints it.
func pyarrowName(t arrow.DataType) string {
	member := func(f arrow.Field) string {
		name := f.Name + ": " + pyarrowName(f.Type)
		if !f.Nullable {
			name += " not null"
		}
		return name
	}
	switch t := t.(type) {
	case *arrow.StructType:
		members := make([]string, t.NumFields())
		for i := range members {
			members[i] = member(t.Field(i))
		}
		return "struct<" + strings.Join(members, ", ") + ">"
	case *arrow.ListType:
		return "list<" + member(t.ElemField()) + ">"
	case *arrow.FixedSizeListType:
		return fmt.Sprintf("fixed_size_list<%s>[%d]", member(t.ElemField()), t.Len())
	case *arrow.MapType:
		return fmt.Sprintf("map<%s, %s>", pyarrowName(t.KeyType()), pyarrowName(t.ItemType()))
	case *arrow.DictionaryType:
		return fmt.Sprintf("dictionary<values=%s, indices=%s, ordered=0>", pyarrowName(t.ValueType), pyarrowName(t.IndexType))
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return fmt.Sprintf("timestamp[%s, tz=%s]", t.Unit, t.TimeZone)
		}
		return fmt.Sprintf("timestamp[%s]", t.Unit)
	case *arrow.Decimal128Type:
		return fmt.Sprintf("decimal128(%d, %d)", t.Precision, t.Scale)
	}
	names := map[string]string{"utf8": "string", "float32": "float", "float64": "double", "float16": "halffloat", "date32": "date32[day]"}
	if name, ok := names[t.String()]; ok {
		return name
	}
	return t.String()
}
