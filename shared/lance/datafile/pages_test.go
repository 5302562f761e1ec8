package datafile

import (
	"context"
	"encoding/binary"
	"os"
	"runtime"
	"slices"
	"testing"

	"tiltyard/shared/lance/schema"
	account "tiltyard/shared/memory"
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

// A page is described by two bytes and takes hundreds. Reads ask for them before they make any, and estimates leave out
// columns that have more than a file keeps.
func TestManyPagesTakeMemoryOfTheShare(t *testing.T) {
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
