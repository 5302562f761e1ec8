package manifest

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/dictionary"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/storage/objectstore/memstore"
)

// legacyManifests returns the manifest files of package dataset's golden tables with dictionaries
// in legacy data files, which pylance wrote.
func legacyManifests(t testing.TB) map[string][]byte {
	t.Helper()
	archive, err := zip.OpenReader("../dataset/testdata/legacy.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	files := map[string][]byte{}
	for _, f := range archive.File {
		if !strings.HasSuffix(f.Name, ".manifest") || !strings.HasPrefix(f.Name, "legacy/types") && !strings.HasPrefix(f.Name, "legacy/dictionaries") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	if len(files) == 0 {
		t.Fatal("no manifests with dictionaries")
	}
	return files
}

func sameDictionaries(a, b *Manifest) bool {
	return maps.EqualFunc(a.Dictionaries, b.Dictionaries, dictionary.Equal)
}

// Dictionaries are written byte for byte as by native Lance, and can be moved behind other bytes in
// a file.
func TestDictionariesAreWrittenAsNativeLanceWritesThem(t *testing.T) {
	for name, raw := range legacyManifests(t) {
		m, err := Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Dictionaries) != len(dictionary.Fields(m.Schema)) || len(m.Dictionaries) == 0 {
			t.Errorf("%s: got %d dictionaries", name, len(m.Dictionaries))
		}
		if err := m.CheckWritable(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		end := len(raw)
		for _, at := range []*uint64{m.Manifest.IndexSection, m.TransactionSection} {
			if at != nil {
				end = min(end, int(*at))
			}
		}
		out, err := m.Encode(nil)
		if err != nil {
			t.Fatal(err)
		}
		if end == len(raw) || !bytes.HasPrefix(out, raw[:end]) {
			t.Errorf("%s: got\n%q, want\n%q", name, out[:min(end, len(out))], raw[:end])
		}
		again, err := Parse(out)
		if err != nil {
			t.Fatal(err)
		}
		if !sameDictionaries(m, again) {
			t.Errorf("%s: the second reading differs:\n%v\n%v", name, again.Dictionaries, m.Dictionaries)
		}
		noted, err := WithNote(raw, []byte("note"))
		if err != nil {
			t.Fatal(err)
		}
		if again, err = Parse(noted); err != nil || !sameDictionaries(m, again) {
			t.Errorf("%s: with a note: %v", name, err)
		}
	}
}

// Dictionaries of all types and lengths are read back from consecutive locations.
func TestDictionariesOfAllTypes(t *testing.T) {
	types := []arrow.DataType{
		arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint64,
		arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary,
	}
	for _, n := range []int{0, 1, 3, 20_000} {
		m, fields := wide(t, 3, 1), []arrow.Field{}
		m.SetFileVersion(lance.Legacy)
		m.Fragments, m.Dictionaries = nil, map[int32]arrow.Array{}
		for i, typ := range types {
			b := array.NewBuilder(arrowmemory.DefaultAllocator, typ)
			for j := range n {
				text := []string{"7777", "5555"}[j%2]
				if arrow.IsBaseBinary(typ.ID()) && j%5 == 2 {
					b.AppendNull()
				} else if err := b.AppendValueFromString(text); err != nil {
					t.Fatal(err)
				}
			}
			m.Dictionaries[int32(i)] = b.NewArray()
			fields = append(fields, arrow.Field{
				Name: typ.String(), Nullable: true,
				Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: typ},
			})
		}
		s, err := schema.FromArrowAbove(arrow.NewSchema(fields, nil), -1)
		if err != nil {
			t.Fatal(err)
		}
		m.SetSchema(s)
		if len(m.Dictionaries) != len(types) {
			t.Fatalf("%d dictionaries are kept of %d", len(m.Dictionaries), len(types))
		}
		store, raw := &countingStore{Store: memstore.New()}, encode(t, m)
		put(t, store, Key("t", 3, V2), raw)
		got, err := Read(t.Context(), store, Key("t", 3, V2), 0)
		if err != nil {
			t.Fatal(err)
		}
		if !sameDictionaries(m, got) {
			t.Errorf("%d values: got %v, want %v", n, got.Dictionaries, m.Dictionaries)
		}
		if n <= 3 && store.ranges != 1 {
			t.Errorf("%d values: read by %d requests, want 1", n, store.ranges)
		}
		if !bytes.Equal(encode(t, got), raw) {
			t.Errorf("%d values: the second encoding differs", n)
		}
	}
}

// A place that is not in the file, or that no field has, is found when the manifest is read,
// or when the table is to be written.
func TestDictionariesThatAreNotThereAreRefused(t *testing.T) {
	for name, raw := range legacyManifests(t) {
		m, err := Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		field := dictionary.Fields(m.Schema)[0]
		m.Dictionaries = nil
		for _, place := range []dictionary.Place{{Offset: 1 << 40, Length: 1}, {Offset: 0, Length: 1 << 40}, {Offset: 0, Length: 1 << 62}, {Offset: int64(len(raw)), Length: 5}} {
			field.Unknown = dictionary.WithPlace(nil, place)
			out, err := m.Encode(nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Parse(out); !errors.Is(err, lance.ErrCorrupt) {
				t.Errorf("%s: %+v: got error %v, want ErrCorrupt", name, place, err)
			}
		}
		other := *m
		other.DataFormat = &pb.DataFormat{FileFormat: "other", Version: "0.1"}
		if _, err := Parse(encode(t, &other)); err != nil {
			t.Errorf("%s: files of another format: %v", name, err) // CheckReadable rejects it
		}
		if err := m.CheckWritable(); !errors.Is(err, lance.ErrUnsupported) || !strings.Contains(err.Error(), m.Schema.Path(field.ID)) {
			t.Errorf("%s: without dictionaries: got error %v", name, err)
		}
	}
}

// As many fields as there are may name one place: they are not read again and again.
func TestDictionariesTakeNoMoreThanTheirFile(t *testing.T) {
	m, fields := wide(t, 3, 1), []arrow.Field{}
	m.SetFileVersion(lance.Legacy)
	m.Fragments = nil
	for i := range 1000 {
		fields = append(fields, arrow.Field{
			Name: fmt.Sprint("word", i), Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.PrimitiveTypes.Int8},
		})
	}
	s, err := schema.FromArrowAbove(arrow.NewSchema(fields, nil), -1)
	if err != nil {
		t.Fatal(err)
	}
	for field := range s.All() {
		field.Unknown = dictionary.WithPlace(nil, dictionary.Place{Length: 20_000})
	}
	m.SetSchema(s)
	if _, err := Parse(encode(t, m)); !errors.Is(err, lance.ErrCorrupt) || !strings.Contains(err.Error(), "dictionaries of more than") {
		t.Errorf("got error %v", err)
	}
}

// Fields that are dropped take their dictionaries along, and one of another type has none.
func TestDictionariesGoWithTheirFields(t *testing.T) {
	values := array.NewStringBuilder(arrowmemory.DefaultAllocator).NewArray()
	m := &Manifest{Manifest: pb.Manifest{Version: 1}, Dictionaries: map[int32]arrow.Array{0: values, 1: values, 2: values}}
	kind := func(t arrow.DataType) arrow.DataType {
		return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: t}
	}
	s, err := schema.FromArrowAbove(arrow.NewSchema([]arrow.Field{
		{Name: "same", Type: kind(arrow.BinaryTypes.String)}, {Name: "bytes", Type: kind(arrow.BinaryTypes.Binary)},
	}, nil), -1)
	if err != nil {
		t.Fatal(err)
	}
	before := m.Dictionaries
	m.SetSchema(s)
	if len(m.Dictionaries) != 1 || m.Dictionaries[0] == nil || len(before) != 3 {
		t.Errorf("got %v of %v", m.Dictionaries, before)
	}
}
