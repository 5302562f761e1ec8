package sortkey

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/process/memory"
)

// Ranks numbers the distinct dictionary values in their order. The rank of a value takes four bytes in a
// key, while the value itself may be long and occur in every row.
//
// All arrays of a column are passed to Add. Then Sort gives each value its rank, and Of makes keys.
type Ranks struct {
	make maker
	held memory.Hold // of the keys

	mu   sync.Mutex
	rank map[string]uint32 // by the key of a value
}

// NewRanks returns Ranks without values.
func NewRanks(nullsFirst bool) *Ranks {
	return &Ranks{make: maker{nullsFirst: nullsFirst}, rank: map[string]uint32{}}
}

// rankBytes is about the memory of a value in Ranks beside its key.
const rankBytes = 80

// Add adds the used dictionary values of an array. New values are accounted to the context's share. It is
// safe for concurrent use.
func (r *Ranks) Add(ctx context.Context, a arrow.Array) error {
	switch a := a.(type) {
	case *array.Dictionary:
		return r.add(ctx, a)
	case *array.Struct:
		for i := range a.NumField() {
			if err := r.Add(ctx, a.Field(i)); err != nil {
				return err
			}
		}
	case array.ListLike:
		return r.Add(ctx, items(a))
	case array.ExtensionArray:
		return r.Add(ctx, a.Storage())
	}
	return nil
}

// add adds the keys of the dictionary items that d uses.
func (r *Ranks) add(ctx context.Context, d *array.Dictionary) error {
	values := d.Dictionary()
	value := r.make.of(d.DataType().(*arrow.DictionaryType).ValueType)
	used := map[int]struct{}{}
	for i := range d.Len() {
		if d.IsValid(i) {
			used[d.GetValueIndex(i)] = struct{}{}
		}
	}
	for at := range used {
		size := Bytes(array.NewSlice(values, int64(at), int64(at+1)))
		hold, err := memory.Take(ctx, size)
		if err != nil {
			return err
		}
		err = r.keep(ctx, value(make([]byte, 0, size), values, at))
		hold.Release()
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// keep adds the key of a value.
func (r *Ranks) keep(ctx context.Context, key []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.rank[string(key)]; ok {
		return nil
	}
	if err := r.held.Resize(ctx, r.held.Bytes()+int64(len(key))+rankBytes); err != nil {
		return err
	}
	r.rank[string(key)] = 0
	return nil
}

// Sort gives each value its rank.
func (r *Ranks) Sort() {
	sorted := make([]string, 0, len(r.rank))
	for key := range r.rank {
		sorted = append(sorted, key)
	}
	slices.Sort(sorted)
	for i, key := range sorted {
		r.rank[key] = uint32(i)
	}
}

// Close drops the values.
func (r *Ranks) Close() {
	r.rank = nil
	r.held.Release()
}

// Of returns the key function of a type, like the function [Of], with ranks in place of dictionary values.
// It belongs to one goroutine.
func (r *Ranks) Of(t arrow.DataType) Append {
	return maker{nullsFirst: r.make.nullsFirst, ranks: r}.of(t)
}

// key returns the key function of a dictionary, where value makes the keys of its values. It looks up the
// rank of each value of a dictionary once.
func (r *Ranks) key(value Append, null byte) Append {
	var last arrow.Array
	ranks := map[int]uint32{}
	return func(key []byte, a arrow.Array, i int) []byte {
		if a.IsNull(i) {
			return append(key, null)
		}
		d := a.(*array.Dictionary)
		values, at := d.Dictionary(), d.GetValueIndex(i)
		if values != last {
			last = values
			clear(ranks)
		}
		if values.IsNull(at) {
			return append(key, null)
		}
		rank, ok := ranks[at]
		if !ok {
			rank = r.rank[string(value(nil, values, at))]
			ranks[at] = rank
		}
		return binary.BigEndian.AppendUint32(append(key, keyValue), rank)
	}
}
