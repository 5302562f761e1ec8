package datafile

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/schema"
)

// repeatedTexts returns rows of count texts of the given size, distinct of them different. Another
// seed gives other texts.
func repeatedTexts(seed uint64, count, distinct, size int) []string {
	random := rand.New(rand.NewPCG(seed, 7))
	items := make([]string, distinct)
	for i := range items {
		item := make([]byte, size)
		for k := range item {
			item[k] = "0123456789abcdef"[random.IntN(16)]
		}
		items[i] = string(item)
	}
	texts := make([]string, count)
	for i := range texts {
		texts[i] = items[random.IntN(distinct)]
	}
	return texts
}

func textArray(texts []string, nullEvery int) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	for i, text := range texts {
		if nullEvery > 0 && i%nullEvery == 0 {
			b.AppendNull()
		} else {
			b.Append(text)
		}
	}
	return b.NewArray()
}

func textLists(texts []string, longest int) arrow.Array {
	b := array.NewListBuilder(memory.DefaultAllocator, arrow.BinaryTypes.String)
	for i, n := 0, 0; i < len(texts); n = (n + 1) % (longest + 1) {
		b.Append(n != 2)
		for k := 0; k < n && n != 2 && i < len(texts); k++ {
			b.ValueBuilder().(*array.StringBuilder).Append(texts[i])
			i++
		}
	}
	return b.NewArray()
}

// TestTextsThatRepeatAreStoredOnce writes much more than an ordinary page of texts, of
// which the distinct ones would be a large part of each such page.
func TestTextsThatRepeatAreStoredOnce(t *testing.T) {
	long := repeatedTexts(1, 24_000, 2000, 1000)
	turning := append(repeatedTexts(1, 12_000, 1000, 1000), repeatedTexts(2, 3000, 2900, 1000)...)
	turning = append(turning, repeatedTexts(3, 12_000, 1000, 1000)...)
	cases := []struct {
		name   string
		column arrow.Array
		most   int // bytes of the file
	}{
		{"long", textArray(long, 0), 2_200_000},
		{"some null", textArray(long, 10), 2_200_000},
		{"in lists", textLists(long, 5), 2_300_000},
		{"of many empty lists", textLists(long, 1), 2_400_000},
		{"huge", textArray(repeatedTexts(4, 300, 40, 80_000), 0), 3_300_000},
		{"one", textArray(repeatedTexts(5, 100, 1, 250_000), 0), 300_000},
		{"one or null", textArray(repeatedTexts(5, 100, 1, 250_000), 3), 300_000},
		{"others in between", textArray(turning, 0), 5_400_000},
	}
	for _, c := range cases {
		for _, v := range []lance.Version{lance.V2_1, lance.V2_2} {
			t.Run(c.name+" in "+v.String(), func(t *testing.T) {
				as := arrow.NewSchema([]arrow.Field{{Name: "c", Type: c.column.DataType(), Nullable: true}}, nil)
				rows := array.NewRecordBatch(as, []arrow.Array{c.column}, int64(c.column.Len()))
				data := writeInParts(t, rows, v, 7)
				if len(data) > c.most {
					t.Errorf("got a file of %d bytes, want at most %d", len(data), c.most)
				}
				f, err := openBytes(data)
				if err != nil {
					t.Fatal(err)
				}
				sch, err := schema.FromArrow(as)
				if err != nil {
					t.Fatal(err)
				}
				got, err := f.ReadRange(context.Background(), sch.Fields, 0, rows.NumRows())
				checkColumns(t, "rows", got, err, rows)
			})
		}
	}
}

// writeInParts writes the rows in parts and checks the memory of the writer.
func writeInParts(t *testing.T, rows arrow.RecordBatch, v lance.Version, parts int64) []byte {
	t.Helper()
	sch, err := schema.FromArrow(rows.Schema())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, sch, v)
	if err != nil {
		t.Fatal(err)
	}
	for i := range parts {
		part := rows.NewSlice(rows.NumRows()*i/parts, rows.NumRows()*(i+1)/parts)
		if err := w.Write(part); err != nil {
			t.Fatal(err)
		}
		if got := w.Buffered(); got > 34<<20 {
			t.Errorf("got %d bytes buffered, want no more than four pages and a bit", got)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
