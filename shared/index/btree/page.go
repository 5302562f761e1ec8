package btree

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/index"
	"tiltyard/shared/lance"
)

// A page is rows of the index that were read together.
type page struct {
	values arrow.Array // NULLs first
	nulls  int
	ids    []uint64
}

// page returns a page, cached or read from storage.
func (r *Reader) page(ctx context.Context, number int, order index.Order) (*page, error) {
	kept, err := r.files.Keep(pageName(number), func() (any, int64, error) {
		from := int64(number) * r.lookup.pageRows
		read, err := r.pages.Read(ctx, from, from+r.rowsOf(number))
		if err != nil {
			return nil, 0, err
		}
		p, err := newPage(read[0], read[1], order)
		if err == nil {
			err = r.lookup.agrees(number, p)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("%s: page %d: %w", dataFile, number, err)
		}
		return p, int64(read[0].Data().SizeInBytes()) + idBytes*int64(len(p.ids)), nil
	})
	if err != nil {
		return nil, err
	}
	return kept.(*page), nil
}

func pageName(number int) string { return dataFile + " page " + strconv.Itoa(number) }

// isKept reports whether a page can be used without a request, because the page or the whole file is
// cached.
func (r *Reader) isKept(number int) (bool, error) {
	if r.data.IsHeld() {
		return true, nil
	}
	p, err := kept[*page](r.files, pageName(number))
	return p != nil, err
}

// errNotKept reports that a value is not cached.
var errNotKept = errors.New("not kept")

// kept returns a value that is kept from an earlier search, or the zero value.
func kept[T any](files index.Files, name string) (value T, err error) {
	found, err := files.Keep(name, func() (any, int64, error) { return nil, 0, errNotKept })
	if errors.Is(err, errNotKept) {
		return value, nil
	}
	if err != nil {
		return value, err
	}
	return found.(T), nil
}

// newPage returns a page of its columns, after a check that the values are in order.
func newPage(values, rows arrow.Array, order index.Order) (*page, error) {
	ids, ok := rows.(*array.Uint64)
	if !ok || ids.NullN() > 0 {
		return nil, fmt.Errorf("%w: values without a row", lance.ErrCorrupt)
	}
	p := &page{values: values, nulls: values.NullN(), ids: ids.Uint64Values()}
	for i := range values.Len() {
		if values.IsNull(i) != (i < p.nulls) {
			return nil, fmt.Errorf("%w: NULLs after values", lance.ErrCorrupt)
		}
		if i > p.nulls && order(values, i-1, values, i) > 0 {
			return nil, fmt.Errorf("%w: values out of their order", lance.ErrCorrupt)
		}
	}
	return p, nil
}

// agrees checks a page against its lookup row, because other searches rely on the lookup row alone.
func (l *lookup) agrees(number int, p *page) error {
	last := p.values.Len() - 1
	switch {
	case last < 0, p.nulls != int(l.nulls[number]), (p.nulls > last) != l.max.IsNull(number):
	case p.nulls == 0 && l.order(p.values, 0, l.min, number) != 0:
	case p.nulls <= last && l.order(p.values, last, l.max, number) != 0:
	default:
		return nil
	}
	return fmt.Errorf("%w: its values differ from the entry in %s", lance.ErrCorrupt, lookupFile)
}
