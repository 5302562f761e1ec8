package part_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset/part"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// of returns a part of one fragment whose file has the given path.
func of(path string, rows uint64) *part.Part {
	return &part.Part{Columns: "2.2 c", Sum: arrowipc.Sum{1, 2}, Operation: &pb.Append{Fragments: []*pb.Fragment{
		{PhysicalRows: rows, Files: []pb.DataFile{{Path: path, Fields: []int32{0}, ColumnIndices: []int32{0}, MajorVersion: 2, MinorVersion: 2}}},
	}}}
}

func TestReceiptsReadAsTheyWereWritten(t *testing.T) {
	overwrite := of("a.lance", 7)
	overwrite.Operation = &pb.Overwrite{
		Fragments: overwrite.Fragments(), Schema: []*pb.Field{{Name: "id", LogicalType: "int64"}}, SchemaMetadata: map[string]string{"k": "v"},
	}
	for _, want := range []*part.Part{of("a.lance", 7), overwrite, {Operation: &pb.Append{}}} {
		got, err := part.Decode(want.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Encode(), got.Encode()); diff != "" || got.Rows() != want.Rows() || got.Overwrites() != want.Overwrites() || got.Sum != want.Sum {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func TestReceiptsThatNoPartWroteAreRefused(t *testing.T) {
	changed := func(change func(*pb.Fragment)) []byte {
		p := of("a.lance", 7)
		change(p.Fragments()[0])
		return p.Encode()
	}
	base := uint32(1)
	other := of("a.lance", 1)
	other.Operation = &pb.Restore{}
	for name, receipt := range map[string][]byte{
		"nothing":               nil,
		"no message":            []byte("\xff\xff"),
		"another operation":     other.Encode(),
		"a file above":          of("../../other.lance/data/a.lance", 1).Encode(),
		"a file in a folder":    of("x/a.lance", 1).Encode(),
		"a file without a name": of("", 1).Encode(),
		"no rows":               of("a.lance", 0).Encode(),
		"too many rows":         of("a.lance", 1<<40).Encode(),
		"a file elsewhere":      changed(func(f *pb.Fragment) { f.Files[0].BaseID = &base }),
		"a fragment with an id": changed(func(f *pb.Fragment) { f.ID = 3 }),
		"deleted rows":          changed(func(f *pb.Fragment) { f.DeletionFile = &pb.DeletionFile{} }),
		"no files":              changed(func(f *pb.Fragment) { f.Files = nil }),
		"row ids":               changed(func(f *pb.Fragment) { f.RowIDs = []byte{1} }),
	} {
		if p, err := part.Decode(receipt); !errors.Is(err, lance.ErrCorrupt) {
			t.Errorf("%s: got %+v, error %v; want ErrCorrupt", name, p, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(of("a.lance", 7).Encode())
	f.Add((&part.Part{Operation: &pb.Overwrite{Schema: []*pb.Field{{Name: "id"}}}}).Encode())
	f.Fuzz(func(t *testing.T, receipt []byte) {
		p, err := part.Decode(receipt)
		if err != nil {
			return
		}
		again, err := part.Decode(p.Encode())
		if err != nil || again.Rows() != p.Rows() || again.Sum != p.Sum {
			t.Errorf("got %+v, error %v; want %+v", again, err, p)
		}
	})
}

func TestKeepCountsTheFirstReceiptOfAPart(t *testing.T) {
	place := part.Place{Store: memstore.New(), Prefix: "t"}
	ctx := t.Context()
	if found, err := place.Find(ctx, "u", "p"); found != nil || err != nil {
		t.Fatalf("got %v, error %v; want none", found, err)
	}
	for _, file := range []string{"first.lance", "second.lance"} {
		kept, err := place.Keep(ctx, "u", "p", of(file, 1))
		if err != nil || kept.Fragments()[0].Files[0].Path != "first.lance" {
			t.Errorf("keep %s: got %v, error %v; want the first", file, kept, err)
		}
	}
	all, err := place.All(ctx, "u")
	if err != nil || len(all) != 1 {
		t.Errorf("got %d parts, error %v; want one", len(all), err)
	}
}

// The storage loses the answer to the put of a receipt.
func TestKeepReadsALostAnswerBack(t *testing.T) {
	for _, fault := range []faultstore.Fault{{Lost: true}, {Err: objectstore.ErrUnknownOutcome}} {
		broken := faultstore.New(memstore.New(), func(call faultstore.Call) faultstore.Fault {
			if call.Kind == faultstore.PutIfAbsent {
				return fault
			}
			return faultstore.Fault{}
		})
		place := part.Place{Store: broken, Prefix: "t"}
		_, err := place.Keep(t.Context(), "u", "p", of("a.lance", 1))
		there, found := place.Find(t.Context(), "u", "p")
		if found != nil || (err == nil) != (there != nil) {
			t.Errorf("lost %v: keep gave error %v, and the receipt is %v, error %v", fault.Lost, err, there, found)
		}
	}
}

func TestAllAndSinceReadTheirOwnParts(t *testing.T) {
	store := memstore.New()
	place := part.Place{Store: store, Prefix: "t"}
	for i := range 20 {
		if _, err := place.Keep(t.Context(), fmt.Sprint("u", i%2), fmt.Sprint("p", i), of(fmt.Sprint(i, ".lance"), 1)); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := place.All(t.Context(), "u1"); err != nil || len(all) != 10 {
		t.Errorf("got %d parts of one upload, error %v; want 10", len(all), err)
	}
	recent, err := place.Since(t.Context(), time.Now().Add(-time.Hour))
	if err != nil || len(recent) != 20 || recent["_uploads/u0/p0.txn"] == nil {
		t.Errorf("got %d parts, error %v; want 20 by their paths", len(recent), err)
	}
	if old, err := place.Since(t.Context(), time.Now().Add(time.Hour)); err != nil || len(old) != 0 {
		t.Errorf("got %d parts of the future, error %v; want none", len(old), err)
	}
	if _, err := store.Put(context.Background(), "t/_uploads/u1/bad.txn", []byte("\xff\xff"), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	if _, err := place.All(t.Context(), "u1"); !errors.Is(err, lance.ErrCorrupt) {
		t.Errorf("got error %v, want ErrCorrupt", err)
	}
}
