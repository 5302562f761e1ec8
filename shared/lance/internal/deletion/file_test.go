package deletion

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
	account "tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// nativeFiles returns the deletion files that native Lance wrote for the tests of
// package manifest.
func nativeFiles(t testing.TB) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("../../manifest/testdata/*/_deletions/*")
	if err != nil || len(names) < 15 {
		t.Fatalf("%d deletion files, %v", len(names), err)
	}
	files := map[string][]byte{}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = raw
	}
	return files
}

func fragment(fileType int32, physical, deleted uint64) *pb.Fragment {
	return &pb.Fragment{PhysicalRows: physical, DeletionFile: &pb.DeletionFile{FileType: fileType, DeletedRows: deleted}}
}

func typeOf(name string) int32 {
	if filepath.Ext(name) == ".bin" {
		return pb.DeletionBitmap
	}
	return pb.DeletionArrow
}

func TestNativeFilesAreRead(t *testing.T) {
	read := map[int32]int{}
	for name, raw := range nativeFiles(t) {
		kind := typeOf(name)
		v, err := Parse(raw, fragment(kind, 20_000, 0))
		if err != nil || v.Len() == 0 {
			t.Errorf("%s: got %v, %v", name, v, err)
			continue
		}
		read[kind]++
		if kind == pb.DeletionArrow {
			if diff := cmp.Diff(arrowOffsets(t, raw), v.Offsets()); diff != "" {
				t.Errorf("%s (-arrow +got):\n%s", name, diff)
			}
		}
	}
	if read[pb.DeletionArrow] < 10 || read[pb.DeletionBitmap] < 2 {
		t.Errorf("files of each type: %v", read)
	}
}

// arrowOffsets reads the offsets with the Arrow library, ascending.
func arrowOffsets(t *testing.T, raw []byte) []uint32 {
	t.Helper()
	r, err := ipc.NewFileReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	batch, err := r.RecordBatchAt(0)
	if err != nil {
		t.Fatal(err)
	}
	return New(batch.Column(0).(*array.Uint32).Uint32Values()...).Offsets()
}

// The rows deleted by deletions() in the tests of package manifest.
func TestNativeBitmapsHoldTheDeletedRows(t *testing.T) {
	for name, raw := range nativeFiles(t) {
		if typeOf(name) != pb.DeletionBitmap {
			continue
		}
		v, err := Parse(raw, fragment(pb.DeletionBitmap, 20_000, 0))
		if err != nil {
			t.Fatal(err)
		}
		second := v.Contains(3)
		for at := range uint32(20_000) {
			want := at >= 2000 && at < 9000 || second && at%3 == 0
			if v.Contains(at) != want {
				t.Fatalf("%s: row %d: got %v, want %v", name, at, !want, want)
			}
		}
	}
}

func TestVectorsRoundTripInTheFormOfTheirSize(t *testing.T) {
	for _, n := range []uint32{0, 1, 2, 1023, 5000, 5001, 70_000} {
		for _, step := range []uint32{1, 3} {
			var offsets []uint32
			for i := range n {
				offsets = append(offsets, i*step)
			}
			v := New(offsets...)
			data, kind, err := Encode(v)
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int32{false: pb.DeletionArrow, true: pb.DeletionBitmap}[n > 5000]; kind != want {
				t.Errorf("%d rows: got type %d, want %d", n, kind, want)
			}
			got, err := Parse(data, fragment(kind, uint64(n*step+1), uint64(n)))
			if err != nil || !got.Equal(v) {
				t.Errorf("%d rows: got %v, %v", n, got, err)
			}
			if kind == pb.DeletionArrow && n > 0 {
				if diff := cmp.Diff(offsets, arrowOffsets(t, data)); diff != "" {
					t.Errorf("%d rows as the Arrow library reads them (-want +got):\n%s", n, diff)
				}
			}
		}
	}
}

func TestPlainArrowFilesAreRead(t *testing.T) {
	b := array.NewUint32Builder(memory.DefaultAllocator)
	b.AppendValues([]uint32{4, 2}, nil)
	schema := arrow.NewSchema([]arrow.Field{{Name: "row_id", Type: arrow.PrimitiveTypes.Uint32}}, nil)
	var out bytes.Buffer
	w, err := ipc.NewFileWriter(&out, ipc.WithSchema(schema))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, 2)), w.Close()); err != nil {
		t.Fatal(err)
	}
	v, err := Parse(out.Bytes(), fragment(pb.DeletionArrow, 5, 2))
	if err != nil || !v.Equal(New(2, 4)) {
		t.Errorf("got %v, %v", v.Offsets(), err)
	}
}

func TestFilesThatDisagreeWithTheFragmentAreCorrupt(t *testing.T) {
	for _, v := range []*Vector{New(1, 2, 9), New(bitsUpTo(6000)...)} {
		data, kind, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		n, rows := uint64(v.Len()), uint64(v.bits.Maximum())+1
		cases := map[string]*pb.Fragment{
			"fewer rows":    fragment(kind, rows-1, n),
			"other number":  fragment(kind, rows, n-1),
			"the other one": fragment(1-kind, rows, n),
		}
		for name, f := range cases {
			if _, err := Parse(data, f); !errors.Is(err, lance.ErrCorrupt) {
				t.Errorf("%s: got error %v, want ErrCorrupt", name, err)
			}
		}
	}
	if _, err := Parse(nil, fragment(2, 1, 1)); !errors.Is(err, lance.ErrUnsupported) {
		t.Errorf("type 2: got error %v, want ErrUnsupported", err)
	}
}

func bitsUpTo(n uint32) (offsets []uint32) {
	for i := range n {
		offsets = append(offsets, i)
	}
	return offsets
}

func TestWriteAndReadAgree(t *testing.T) {
	ctx, store := context.Background(), memstore.New()
	v := New(3, 5)
	file, err := Write(ctx, store, "t", 7, 12, math.MaxUint64, v)
	if err != nil {
		t.Fatal(err)
	}
	if want := "_deletions/7-12-18446744073709551615.arrow"; Path(7, file) != want {
		t.Errorf("path: got %s, want %s", Path(7, file), want)
	}
	f := &pb.Fragment{ID: 7, PhysicalRows: 6, DeletionFile: file}
	got, err := Read(ctx, store, "t/"+Path(7, file), f)
	if err != nil || !got.Equal(v) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := store.Put(ctx, "t/"+Path(7, file), make([]byte, 1<<20), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(ctx, store, "t/"+Path(7, file), f); !errors.Is(err, lance.ErrCorrupt) {
		t.Errorf("a file that is too long: got error %v, want ErrCorrupt", err)
	}
}

func TestParseSurvivesPrefixesAndChangedBytes(t *testing.T) {
	for name, raw := range nativeFiles(t) {
		if typeOf(name) == pb.DeletionBitmap {
			raw = raw[:min(len(raw), 400)]
		}
		f := fragment(typeOf(name), 20_000, 0)
		for n := range raw {
			if _, err := Parse(raw[:n], f); err == nil {
				t.Errorf("%s: the first %d of %d bytes parse", name, n, len(raw))
			}
			changed := bytes.Clone(raw)
			for _, x := range []byte{0x00, 0x7F, 0xFF, raw[n] ^ 0x80} {
				changed[n] = x
				_, _ = Parse(changed, f)
			}
		}
	}
}

func TestArbitraryBitmapsOfTheLibraryAreRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := roaring.New()
		for range rapid.IntRange(0, 5).Draw(t, "runs") {
			start := rapid.Uint64Range(0, 1<<20).Draw(t, "start")
			bits.AddRange(start, start+rapid.Uint64Range(1, 1<<17).Draw(t, "length"))
		}
		if rapid.Bool().Draw(t, "optimize") {
			bits.RunOptimize()
		}
		raw, err := bits.ToBytes()
		if err != nil {
			t.Fatal(err)
		}
		v, err := Parse(raw, fragment(pb.DeletionBitmap, 1<<21, bits.GetCardinality()))
		if err != nil || !bits.Equals(v.bits) {
			t.Fatalf("got %v, %v", v, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	for name, raw := range nativeFiles(f) {
		f.Add(raw, typeOf(name) == pb.DeletionBitmap)
	}
	for _, n := range []uint32{0, 10, 6000} {
		if data, kind, err := Encode(New(bitsUpTo(n)...)); err == nil {
			f.Add(data, kind == pb.DeletionBitmap)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, bitmap bool) {
		kind := pb.DeletionArrow
		if bitmap {
			kind = pb.DeletionBitmap
		}
		v, err := Parse(b, fragment(kind, 1<<20, 0))
		if err != nil {
			if !errors.Is(err, lance.ErrCorrupt) && !errors.Is(err, lance.ErrUnsupported) {
				t.Fatalf("error %v is of no kind", err)
			}
			return
		}
		offsets := v.Offsets()
		if len(offsets) != v.Len() {
			t.Fatalf("%d offsets, want %d", len(offsets), v.Len())
		}
		data, kind, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(data, fragment(kind, 1<<20, uint64(v.Len())))
		if err != nil || !cmp.Equal(again.Offsets(), offsets) {
			t.Fatal(fmt.Errorf("the second reading differs: %w", err))
		}
	})
}

func BenchmarkParseArrow(b *testing.B) {
	data, kind, err := Encode(New(bitsUpTo(5000)...))
	if err != nil {
		b.Fatal(err)
	}
	f := fragment(kind, 5000, 5000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(data, f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLive(b *testing.B) {
	var offsets []uint32
	for i := range uint32(1 << 20) {
		if i%10 == 0 {
			offsets = append(offsets, i)
		}
	}
	v, rows := New(offsets...), int64(0)
	for b.Loop() {
		for start, end := range v.Live(0, 1<<20) {
			rows += end - start
		}
	}
}

// A deletion file takes memory of its share while it is read, of either form.
func TestDeletionFilesAreCounted(t *testing.T) {
	store := memstore.New()
	for _, n := range []int{maxArrow, 40 * maxArrow} {
		v := New()
		for row := range n {
			v.bits.Add(uint32(3 * row))
		}
		file, err := Write(t.Context(), store, "t", 7, 12, 1, v)
		if err != nil {
			t.Fatal(err)
		}
		f := &pb.Fragment{ID: 7, PhysicalRows: uint64(3 * n), DeletionFile: file}
		for limit, fits := range map[int64]bool{1 << 20: true, 4 << 10: false} {
			share := account.NewBudget(limit, limit).Open()
			_, err := Read(account.WithShare(t.Context(), share), store, "t/"+Path(7, file), f)
			refused := new(account.Error)
			if fits && (err != nil || share.Peak() < int64(n/8)) || !fits && !errors.As(err, &refused) || share.Held() != 0 {
				t.Errorf("%d rows in a share of %d: %v; %d were held, and %d are", n, limit, err, share.Peak(), share.Held())
			}
		}
	}
}
