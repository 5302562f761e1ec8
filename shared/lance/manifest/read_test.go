package manifest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// wide returns a manifest of n fragments as an append-only table has them.
func wide(t testing.TB, version uint64, n int) *Manifest {
	t.Helper()
	s, err := schema.FromFields([]*pb.Field{{ID: 0, ParentID: -1, Name: "id", LogicalType: "int64"}, {ID: 1, ParentID: -1, Name: "v", LogicalType: "fixed_size_list:float:128"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := &Manifest{Schema: s}
	m.Version = version
	m.DataFormat = &pb.DataFormat{FileFormat: "lance", Version: "2.2"}
	for i := range n {
		m.Fragments = append(m.Fragments, &pb.Fragment{
			ID:           uint64(i),
			PhysicalRows: 1000,
			Files: []pb.DataFile{{
				Path:   fmt.Sprintf("%024b%026x.lance", i, i),
				Fields: []int32{0, 1}, ColumnIndices: []int32{0, 1},
				MajorVersion: 2, MinorVersion: 2, SizeBytes: 520000,
			}},
		})
	}
	highest := uint32(n)
	m.MaxFragmentID = &highest
	m.SetTime(time.Unix(1_700_000_000, 5))
	return m
}

func encode(t testing.TB, m *Manifest) []byte {
	t.Helper()
	raw, err := m.Encode(&pb.Transaction{UUID: "u", Operation: &pb.Append{}})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// countingStore counts requests.
type countingStore struct {
	objectstore.Store
	ranges, lists int
}

func (s *countingStore) GetRanges(ctx context.Context, key string, ranges ...objectstore.Range) ([][]byte, objectstore.Info, error) {
	s.ranges += len(ranges)
	return s.Store.GetRanges(ctx, key, ranges...)
}

func (s *countingStore) List(ctx context.Context, opts objectstore.ListOptions) (objectstore.ListPage, error) {
	s.lists++
	return s.Store.List(ctx, opts)
}

func put(t testing.TB, store objectstore.Store, key string, data []byte) {
	t.Helper()
	if _, err := store.Put(context.Background(), key, data, objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
}

func TestReadTakesFewRequests(t *testing.T) {
	cases := []struct {
		name      string
		fragments int
		indices   int // bytes in the index section
		known     bool
		want      int
	}{
		{"small", 10, 0, false, 1},
		{"small with indices", 10, 1000, false, 1},
		{"middle", 3000, 1000, false, 2},
		{"middle of known size", 3000, 1000, true, 1},
		{"large", 20000, 1000, true, 2},
		{"behind a large index section", 10, 3 << 20, true, 3},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ctx, store := context.Background(), &countingStore{Store: memstore.New()}
			m := wide(t, 3, c.fragments)
			if c.indices > 0 {
				m.SetIndices([]*pb.IndexMetadata{{Name: "i", FragmentBitmap: make([]byte, c.indices)}})
			}
			raw := encode(t, m)
			key, size := Key("t", 3, V2), int64(0)
			put(t, store, key, raw)
			if c.known {
				size = int64(len(raw))
			}
			got, err := Read(ctx, store, key, size)
			if err != nil {
				t.Fatal(err)
			}
			if store.ranges != c.want {
				t.Errorf("requests: got %d, want %d", store.ranges, c.want)
			}
			if txn, err := got.ReadTransaction(ctx, store, "t"); err != nil || txn.UUID != "u" {
				t.Errorf("transaction: got %v, %v", txn, err)
			}
			if !bytes.Equal(encode(t, got), raw) {
				t.Errorf("the manifest that was read is not the one that was written")
			}
		})
	}
}

func TestReadRefusesAManifestUnderAnotherName(t *testing.T) {
	store := memstore.New()
	put(t, store, Key("t", 4, V2), encode(t, wide(t, 3, 1)))
	if _, err := Read(context.Background(), store, Key("t", 4, V2), 0); !errors.Is(err, lance.ErrCorrupt) {
		t.Errorf("got error %v, want ErrCorrupt", err)
	}
	if _, err := Read(context.Background(), store, Key("t", 5, V2), 0); !errors.Is(err, objectstore.ErrNotExist) {
		t.Errorf("got error %v, want ErrNotExist", err)
	}
}

func TestLatestFindsTheNewestVersion(t *testing.T) {
	var manyV1, manyV2 []string
	for v := range uint64(1200) {
		manyV1 = append(manyV1, Name(v+1, V1))
		manyV2 = append(manyV2, Name(v+1, V2))
	}
	leftovers := []string{".tmp_1", ".tmp_2", ".tmp_3", ".tmp_4", ".tmp_5", ".tmp_6", ".tmp_7", ".tmp_8", ".tmp_9", "latest_version_hint.json", Name(1<<63+9, Detached), "3.manifest-8a7f"}
	cases := []struct {
		name  string
		files []string
		want  uint64 // 0: none
		lists int
	}{
		{"none", nil, 0, 1},
		{"only others", leftovers, 0, 2},
		{"V2", manyV2, 1200, 1},
		{"V1", manyV1, 1200, 3},
		{"V2 among others", append(leftovers, Name(1, V2), Name(2, V2)), 2, 2},
		{"nested", []string{"sub/" + Name(7, V2), Name(1, V2)}, 1, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			store := &countingStore{Store: memstore.New()}
			put(t, store, "t2/_versions/"+Name(99, V2), nil)
			for _, name := range c.files {
				put(t, store, "t/_versions/"+name, []byte("x"))
			}
			got, err := Latest(context.Background(), store, "t")
			if c.want == 0 {
				if !errors.Is(err, objectstore.ErrNotExist) {
					t.Errorf("got %+v, %v, want ErrNotExist", got, err)
				}
			} else if err != nil || got.Version != c.want || got.Key != Key("t", c.want, got.Scheme) {
				t.Errorf("got %+v, %v, want version %d", got, err, c.want)
			}
			if store.lists != c.lists {
				t.Errorf("listings: got %d, want %d", store.lists, c.lists)
			}
		})
	}
}

func TestProbeFindsVersionsAboveAKnownOne(t *testing.T) {
	for _, c := range []struct{ newer, requests, lists int }{{0, 1, 0}, {1, 2, 0}, {5, 6, 0}, {8, 8, 1}, {30, 9, 1}} {
		store := &countingStore{Store: memstore.New()}
		for v := range uint64(c.newer + 1) {
			put(t, store, Key("", v+1, V2), encode(t, wide(t, v+1, 1)))
		}
		m, err := Probe(context.Background(), store, "", Location{Version: 1, Scheme: V2})
		if err != nil {
			t.Fatal(err)
		}
		got := uint64(1)
		if m != nil {
			got = m.Location.Version
		}
		if got != uint64(c.newer+1) || store.ranges != c.requests || store.lists != c.lists {
			t.Errorf("%d newer: got version %d by %d requests and %d listings, want %d and %d", c.newer, got, store.ranges, store.lists, c.requests, c.lists)
		}
	}
}

func TestFlagsThatWeLackAreNamed(t *testing.T) {
	cases := []struct {
		reader, writer uint64
		read, write    string // a word of the error, "" for none
	}{
		{0, 0, "", ""},
		{FlagDeletionFiles | FlagStableRowIDs | FlagBasePaths | FlagMixedFileVersions, FlagTableConfig | FlagInlineOnly | FlagV2Format, "", ""},
		{FlagDataOverlays, FlagDataOverlays, "data overlays", "data overlays"},
		{0, FlagFieldIDsOnce, "", "non-reusable field ids"},
		{FlagFragmentTree | 1<<40, 0, "fragment tree, feature flag 40", "fragment tree"},
		{0, FlagObjectMetadata, "", "object metadata"},
	}
	for _, c := range cases {
		m := &Manifest{}
		m.DataFormat = &pb.DataFormat{FileFormat: "lance", Version: "2.2"}
		m.ReaderFlags, m.WriterFlags = c.reader, c.writer
		for what, got := range map[string]error{c.read: m.CheckReadable(), c.write: m.CheckWritable()} {
			if what == "" && c.read == c.write && got != nil {
				t.Errorf("flags %b, %b: %v", c.reader, c.writer, got)
			}
			if what != "" && (!errors.Is(got, lance.ErrUnsupported) || !strings.Contains(got.Error(), what)) {
				t.Errorf("flags %b, %b: got error %v, want one about %s", c.reader, c.writer, got, what)
			}
		}
	}
}

// Content that readers would take for nulls or ignore is rejected by name.
func TestContentThatWeDoNotUnderstandIsNamed(t *testing.T) {
	unknown := func(field protowire.Number, value []byte) []byte {
		var e pb.Encoder
		e.AlwaysBytes(field, value)
		return e.B
	}
	cases := []struct {
		name   string
		change func(m *Manifest, f *pb.Fragment)
		want   error
		word   string
	}{
		{"table of tomorrow", func(m *Manifest, _ *pb.Fragment) { m.DataFormat.Version = "2.3" }, lance.ErrUnsupported, `"2.3"`},
		{"other format", func(m *Manifest, _ *pb.Fragment) { m.DataFormat.FileFormat = "parquet" }, lance.ErrUnsupported, "parquet"},
		{"file before 2.0", func(_ *Manifest, f *pb.Fragment) { f.Files[0].MajorVersion, f.Files[0].MinorVersion = 0, 4 }, lance.ErrUnsupported, "0.4"},
		{"file of tomorrow", func(_ *Manifest, f *pb.Fragment) { f.Files[0].MinorVersion = 3 }, lance.ErrUnsupported, "2.3"},
		{"file of the day after", func(_ *Manifest, f *pb.Fragment) { f.Files[0].MajorVersion = 65536 + 2 }, lance.ErrUnsupported, "65538"},
		{"file between generations", func(_ *Manifest, f *pb.Fragment) { f.Files[0].MajorVersion = 1 }, lance.ErrUnsupported, "1."},
		{"deletion file", func(_ *Manifest, f *pb.Fragment) { f.DeletionFile = &pb.DeletionFile{FileType: 2} }, lance.ErrUnsupported, "type 2"},
		{"overlays", func(_ *Manifest, f *pb.Fragment) { f.Unknown = unknown(11, nil) }, lance.ErrUnsupported, "data overlays"},
		{"row ids in no column", func(_ *Manifest, f *pb.Fragment) { f.Unknown = unknown(12, nil) }, lance.ErrCorrupt, "row ids"},
		{"row ids elsewhere", func(m *Manifest, _ *pb.Fragment) { m.ReaderFlags = FlagStableRowIDs | FlagSpilledRowLineage }, lance.ErrCorrupt, "row ids"},
		{"update versions in no column", func(_ *Manifest, f *pb.Fragment) { f.Unknown = unknown(13, nil) }, lance.ErrCorrupt, "row versions"},
		{"creation versions in no column", func(_ *Manifest, f *pb.Fragment) { f.Unknown = unknown(14, nil) }, lance.ErrCorrupt, "row versions"},
	}
	for _, c := range cases {
		m := wide(t, 1, 3)
		if err := m.CheckReadable(); err != nil {
			t.Fatal(err)
		}
		format := *m.DataFormat
		m.DataFormat = &format
		c.change(m, m.Fragments[1])
		for what, err := range map[string]error{"read": m.CheckReadable(), "write": m.CheckWritable()} {
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.word) {
				t.Errorf("%s: %s: got error %v, want %v that names %s", c.name, what, err, c.want, c.word)
			}
		}
	}
	// Files of version 2.0 may carry 0.3, and their entries need column indices like others.
	m := wide(t, 1, 3)
	m.Fragments[1].Files[0].MajorVersion, m.Fragments[1].Files[0].MinorVersion = 0, 3
	if err := m.CheckReadable(); err != nil {
		t.Error(err)
	}
	m.Fragments[1].Files[0].ColumnIndices = nil
	if err := m.check(); !errors.Is(err, lance.ErrCorrupt) {
		t.Errorf("a file 0.3 without columns: got error %v, want ErrCorrupt", err)
	}
}

// Sums of file sizes do not overflow, whatever sizes a manifest lists.
func TestSizesOfFilesHaveASum(t *testing.T) {
	for _, c := range []struct {
		sizes [2]uint64
		want  error
	}{
		{[2]uint64{math.MaxInt64 - 1, 1}, nil},
		{[2]uint64{math.MaxInt64, 1}, lance.ErrCorrupt},
		{[2]uint64{1, math.MaxUint64}, lance.ErrCorrupt},
		{[2]uint64{math.MaxUint64, math.MaxUint64}, lance.ErrCorrupt},
	} {
		m := wide(t, 1, 2)
		for i, size := range c.sizes {
			m.Fragments[i].Files[0].SizeBytes = size
		}
		if _, err := Parse(encode(t, m)); !errors.Is(err, c.want) {
			t.Errorf("sizes %d: got error %v, want %v", c.sizes, err, c.want)
		}
	}
}

func TestValidateFindsWhatNativeLanceRefuses(t *testing.T) {
	cases := map[string]func(*Manifest){
		"unsorted":        func(m *Manifest) { m.Fragments[0], m.Fragments[1] = m.Fragments[1], m.Fragments[0] },
		"doubled":         func(m *Manifest) { m.Fragments[1] = m.Fragments[0] },
		"empty":           func(m *Manifest) { m.Fragments[1].PhysicalRows = 0 },
		"above the max":   func(m *Manifest) { m.Fragments[1].ID = 100 },
		"field twice":     func(m *Manifest) { m.Fragments[1].Files = append(m.Fragments[1].Files, m.Fragments[1].Files[0]) },
		"no files":        func(m *Manifest) { m.Fragments[1].Files = nil },
		"too many gone":   func(m *Manifest) { m.Fragments[1].DeletionFile = &pb.DeletionFile{DeletedRows: 1001} },
		"no row ids":      func(m *Manifest) { m.ReaderFlags = FlagStableRowIDs },
		"columns missing": func(m *Manifest) { m.Fragments[1].Files[0].ColumnIndices = nil },
	}
	if err := wide(t, 1, 3).Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range cases {
		m := wide(t, 1, 3)
		change(m)
		if err := m.Validate(); !errors.Is(err, lance.ErrCorrupt) {
			t.Errorf("%s: got error %v, want ErrCorrupt", name, err)
		}
	}
}

func TestParseSurvivesPrefixesAndChangedBytes(t *testing.T) {
	files := manifestFiles(t)
	maps.Copy(files, legacyManifests(t))
	for key, raw := range files {
		if !strings.HasPrefix(key, "indices/") && !strings.HasPrefix(key, "rowids/") && !strings.HasPrefix(key, "legacy/dictionaries.lance/_versions/") {
			continue
		}
		for n := range raw {
			if _, err := Parse(raw[:n]); err == nil {
				t.Errorf("%s: the first %d of %d bytes parse", key, n, len(raw))
			}
			changed := append([]byte(nil), raw...)
			for _, x := range []byte{0x00, 0xFF, changed[n] ^ 0x80} {
				changed[n] = x
				if m, err := Parse(changed); err == nil {
					probe(m)
				}
			}
		}
	}
}

// probe calls the methods that readers call on a manifest.
func probe(m *Manifest) {
	_, _ = m.Indices()
	_, _ = m.ReadTransaction(context.Background(), memstore.New(), "t")
	_, _ = m.FileVersion()
	_ = m.Validate()
	_ = m.MaxFieldID()
}

func FuzzParse(f *testing.F) {
	for _, files := range []map[string][]byte{manifestFiles(f), legacyManifests(f)} {
		for _, raw := range files {
			f.Add(raw)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Parse(b)
		if err != nil {
			if !errors.Is(err, lance.ErrCorrupt) && !errors.Is(err, lance.ErrUnsupported) {
				t.Fatalf("error %v is of no kind", err)
			}
			return
		}
		probe(m)
		out, err := m.Encode(nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(out)
		if err != nil {
			t.Fatalf("second reading: %v", err)
		}
		if !cmp.Equal(m.Fragments, again.Fragments) || !cmp.Equal(m.Schema.PB(), again.Schema.PB()) || !sameDictionaries(m, again) {
			t.Fatal("the second reading differs")
		}
	})
}

func FuzzIndexSection(f *testing.F) {
	for _, raw := range manifestFiles(f) {
		if m, err := Parse(raw); err == nil && m.IndexSection != nil {
			f.Add(m.IndexSection)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := &Manifest{IndexSection: b}
		indices, err := m.Indices()
		if err != nil {
			return
		}
		m.SetIndices(indices)
		again, err := m.Indices()
		if err != nil || !cmp.Equal(indices, again) {
			t.Fatalf("the second reading differs: %v", err)
		}
	})
}

func BenchmarkParse100kFragments(b *testing.B) {
	raw := encode(b, wide(b, 1, 100_000))
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode100kFragments(b *testing.B) {
	m := wide(b, 1, 100_000)
	b.ReportAllocs()
	for b.Loop() {
		encode(b, m)
	}
}

// A long manifest charges its memory during the read and is rejected without memory.
func TestLongManifestsAreCounted(t *testing.T) {
	store, key := memstore.New(), Key("t", 3, V2)
	m := wide(t, 3, 20000)
	m.SetIndices([]*pb.IndexMetadata{{Name: "i", FragmentBitmap: make([]byte, 1<<20)}})
	raw := encode(t, m)
	put(t, store, key, raw)
	for limit, fits := range map[int64]bool{64 << 20: true, 1 << 20: false} {
		share := memory.NewBudget(limit, limit).Open()
		ctx := memory.WithShare(t.Context(), share)
		_, err := Read(ctx, store, key, 0)
		refused := new(memory.Error)
		if fits && (err != nil || share.Peak() < int64(len(raw))) || !fits && !errors.As(err, &refused) || share.Held() != 0 {
			t.Errorf("%d bytes in a share of %d: %v; %d were held, and %d are", len(raw), limit, err, share.Peak(), share.Held())
		}
	}
}

func TestTransactionFilesOfAnySizeAreNotRead(t *testing.T) {
	store := memstore.New()
	put(t, store, TransactionKey("t", "1-u.txn"), make([]byte, maxTransactionLen+1))
	m := wide(t, 3, 1)
	m.TransactionFile, m.TransactionSection, m.OldTransactionSection, m.transaction = "1-u.txn", nil, nil, nil
	if _, err := m.ReadTransaction(t.Context(), store, "t"); !errors.Is(err, lance.ErrCorrupt) || !strings.Contains(err.Error(), "at most") {
		t.Errorf("got %v, want that it is too long", err)
	}
}

// An entry of a manifest may have two bytes, and takes memory for more.
func TestEntriesTakeMemoryOfTheShare(t *testing.T) {
	const entries = 1 << 20
	small := encode(t, wide(t, 1, 1))
	body, err := messageIn(small, int64(len(small)))
	if err != nil {
		t.Fatal(err)
	}
	at := len(small) - footerLen - len(body)
	with := func(more []byte) []byte {
		large := binary.LittleEndian.AppendUint32(slices.Clone(small[:at-lengthLen]), uint32(len(body)+len(more)))
		return slices.Concat(large, body, more, small[len(small)-footerLen:])
	}
	indexed := wide(t, 1, 1)
	indexed.IndexSection = bytes.Repeat([]byte{0x0a, 0}, entries)
	files := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), bytes.Repeat([]byte{0x12, 0}, entries))
	for name, large := range map[string][]byte{
		"fragments": with(bytes.Repeat([]byte{0x12, 0}, entries)),
		"fields":    with(bytes.Repeat([]byte{0x0a, 0}, entries)),
		"files":     with(files),
		"indices":   encode(t, indexed),
	} {
		t.Run(name, func(t *testing.T) {
			store := memstore.New()
			if _, err := store.Put(t.Context(), Key("t", 1, V2), large, objectstore.Condition{}); err != nil {
				t.Fatal(err)
			}
			share := memory.NewBudget(64<<20, 64<<20).Open()
			defer share.Close()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := Read(memory.WithShare(t.Context(), share), store, Key("t", 1, V2), 0); !memory.TooMuch(err) {
				t.Errorf("got %v, want a refusal", err)
			}
			runtime.ReadMemStats(&after)
			if made := after.TotalAlloc - before.TotalAlloc; made > 32<<20 {
				t.Errorf("%d MiB were allocated", made>>20)
			}
		})
	}
}
