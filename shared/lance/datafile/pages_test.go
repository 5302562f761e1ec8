package datafile

import (
	"context"
	"encoding/binary"
	"os"
	"runtime"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"tiltyard/shared/lance/schema"
	account "tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
)

// withPages returns a file whose first column is described to have as many more pages, each of two bytes and of no rows.
func withPages(data []byte, pages int) []byte {
	foot := data[len(data)-footerBytes:]
	from, table, globals := binary.LittleEndian.Uint64(foot), binary.LittleEndian.Uint64(foot[8:]), binary.LittleEndian.Uint64(foot[16:])
	size := binary.LittleEndian.Uint64(data[table+8:])
	at := binary.LittleEndian.Uint64(data[table:])
	more := slices.Repeat([]byte{0x12, 0}, pages)
	out := slices.Insert(slices.Clone(data), int(at+size), more...)
	added := uint64(len(more))
	table, globals = table+added, globals+added
	binary.LittleEndian.PutUint64(out[table+8:], size+added)
	for i := range binary.LittleEndian.Uint32(foot[28:]) {
		if other := out[table+16*uint64(i):]; i > 0 && binary.LittleEndian.Uint64(other) > at {
			binary.LittleEndian.PutUint64(other, binary.LittleEndian.Uint64(other)+added)
		}
	}
	foot = out[len(out)-footerBytes:]
	binary.LittleEndian.PutUint64(foot, from)
	binary.LittleEndian.PutUint64(foot[8:], table)
	binary.LittleEndian.PutUint64(foot[16:], globals)
	return out
}

// Two stored bytes can describe a page that takes hundreds of bytes in memory. Reads reserve that
// memory first, and estimates skip columns beyond a file's bound.
func TestPagesTakeMemoryOfTheShare(t *testing.T) {
	data, err := os.ReadFile("testdata/native/vectors_v22.lance")
	if err != nil {
		t.Fatal(err)
	}
	data = withPages(data, 1<<20)
	for name, use := range map[string]func(context.Context, *File, *schema.Field) error{
		"read": func(ctx context.Context, f *File, field *schema.Field) error {
			_, err := f.ReadRange(ctx, []*schema.Field{field}, 0, 1)
			return err
		},
		"sizes": func(ctx context.Context, f *File, field *schema.Field) error {
			_, err := f.StoredBytes(ctx, field)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := openBytes(data)
			if err != nil {
				t.Fatal(err)
			}
			s, err := f.Schema(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			share := account.NewBudget(64<<20, 64<<20).Open()
			defer share.Close()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := use(account.WithShare(t.Context(), share), f, s.Fields[0]); !account.TooMuch(err) {
				t.Errorf("got %v, want a refusal", err)
			}
			if bytes := f.BytesPerRow(s.Fields[:1]); bytes != 0 {
				t.Errorf("the estimate is %f bytes", bytes)
			}
			runtime.ReadMemStats(&after)
			if made := after.TotalAlloc - before.TotalAlloc; made > 32<<20 {
				t.Errorf("%d MiB were allocated", made>>20)
			}
			if held := share.Held(); held != 0 {
				t.Errorf("%d bytes are held at the end", held)
			}
			roomy := account.NewBudget(1<<30, 1<<30).Open()
			defer roomy.Close()
			if err := use(account.WithShare(t.Context(), roomy), f, s.Fields[0]); err != nil {
				t.Errorf("with a larger share: %v", err)
			}
		})
	}
}

// Metadata before the tail of a file is read with memory for it.
func TestLongMetadataTakesMemoryOfTheShare(t *testing.T) {
	data, err := os.ReadFile("testdata/native/vectors_v22.lance")
	if err != nil {
		t.Fatal(err)
	}
	data = withPages(data, 1<<20)
	f, err := openBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	for limit, refused := range map[int64]bool{1 << 20: true, 8 << 20: false} {
		share := account.NewBudget(limit, limit).Open()
		_, err := Open(account.WithShare(t.Context(), share), f.store, f.key, f.size, f.fields)
		if account.TooMuch(err) != refused || !refused && err != nil {
			t.Errorf("with a share of %d bytes: %v", limit, err)
		}
		if held := share.Held(); held != 0 {
			t.Errorf("%d bytes are held at the end", held)
		}
		share.Close()
	}
}

// A descriptor that lies before the metadata is read with memory for it, and so are the fields that it describes, which
// take far more than their bytes.
func TestDescriptorTakesMemoryOfTheShare(t *testing.T) {
	data, err := os.ReadFile("testdata/native/vectors_v22.lance")
	if err != nil {
		t.Fatal(err)
	}
	foot := data[len(data)-footerBytes:]
	globals := binary.LittleEndian.Uint64(foot[16:])
	at, size := binary.LittleEndian.Uint64(data[globals:]), binary.LittleEndian.Uint64(data[globals+8:])
	const fields = 1 << 20
	schema := protowire.AppendTag(nil, 1, protowire.BytesType)
	schema = protowire.AppendBytes(schema, slices.Repeat([]byte{0x0a, 0}, fields))
	long := slices.Concat(schema, data[at:at+size])
	// The descriptor comes first, and a gap behind it keeps it apart from the metadata.
	before := slices.Concat(long, make([]byte, tailBytes+1))
	moved := slices.Concat(before, data)
	foot = moved[len(moved)-footerBytes:]
	for i := range 3 {
		binary.LittleEndian.PutUint64(foot[8*i:], binary.LittleEndian.Uint64(foot[8*i:])+uint64(len(before)))
	}
	table := moved[binary.LittleEndian.Uint64(foot[8:]):]
	for i := range binary.LittleEndian.Uint32(foot[28:]) {
		binary.LittleEndian.PutUint64(table[16*i:], binary.LittleEndian.Uint64(table[16*i:])+uint64(len(before)))
	}
	binary.LittleEndian.PutUint64(moved[globals+uint64(len(before)):], 0)
	binary.LittleEndian.PutUint64(moved[globals+uint64(len(before))+8:], uint64(len(long)))
	f, err := openBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.store.Put(t.Context(), f.key, moved, objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	for limit, refused := range map[int64]bool{1 << 20: true, 8 << 20: false} {
		share := account.NewBudget(limit, limit).Open()
		ctx := account.WithShare(t.Context(), share)
		opened, err := Open(ctx, f.store, f.key, int64(len(moved)), f.fields)
		if account.TooMuch(err) != refused || !refused && err != nil {
			t.Errorf("with a share of %d bytes: %v", limit, err)
		}
		if err == nil {
			if _, err := opened.Schema(ctx); !account.TooMuch(err) {
				t.Errorf("the schema of %d fields with a share of %d bytes: %v", fields, limit, err)
			}
		}
		if held := share.Held(); held != 0 {
			t.Errorf("%d bytes are held at the end", held)
		}
		share.Close()
	}
}
