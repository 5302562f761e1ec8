package arrowipc

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// A view is 16 bytes, little-endian:
//
//	 0  i32  length of the value
//	 4  [12] the value, padded with zeros, if it fits; else
//	 4  [4]  its first bytes
//	 8  i32  index of its data buffer
//	12  i32  its offset in that buffer
//
// Source: docs/source/format/Columnar.rst, "Variable-size Binary View Layout".
const inlineView = 12

// views decodes an array of string or binary views to strings or binaries with offsets, the form in which
// tables store them.
func (d *decoder) views(a *arrayParts) error {
	size, err := product(a.node, a.length, viewWidth)
	if err != nil {
		return err
	}
	views, err := d.buffer(a.node, size)
	if err != nil {
		return err
	}
	data, err := d.viewData(a)
	if err != nil {
		return err
	}
	total, err := d.checkViews(a, views[:size], data)
	if err != nil {
		return err
	}
	return d.flatten(a, views, data, total)
}

// flatten copies the values of checked views, total bytes, one after another.
func (d *decoder) flatten(a *arrayParts, views []byte, data [][]byte, total int64) error {
	if total > math.MaxInt32 {
		return tooLarge(a.node, "more than %d bytes of values in one batch, send smaller batches", math.MaxInt32)
	}
	if err := d.charge(a.node, 4*(a.length+1)); err != nil {
		return err
	}
	if err := d.reader.take(4*(a.length+1) + total); err != nil {
		return err
	}
	offsets := make([]int32, a.length+1)
	values := make([]byte, 0, total)
	for i := range int(a.length) {
		if !a.isNull(i) {
			value, _ := follow(views[viewWidth*i:][:viewWidth], data)
			values = append(values, value...)
		}
		offsets[i+1] = int32(len(values))
	}
	a.add(arrow.Int32Traits.CastToBytes(offsets))
	a.add(values)
	return nil
}

// viewData consumes the data buffers; the message gives their number.
func (d *decoder) viewData(a *arrayParts) ([][]byte, error) {
	if d.absent {
		return nil, nil
	}
	if len(d.variadic) < 8 {
		return nil, invalid(a.node, "the message does not count its data buffers")
	}
	n := binary.LittleEndian.Uint64(d.variadic)
	d.variadic = d.variadic[8:]
	if n > uint64(len(d.buffers)/16) {
		return nil, invalid(a.node, "%d data buffers where the message has %d left", n, len(d.buffers)/16)
	}
	data := make([][]byte, n)
	for i := range data {
		var err error
		if data[i], err = d.buffer(a.node, 0); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// checkViews returns the total size of the values after a check that all views of non-null slots are valid.
func (d *decoder) checkViews(a *arrayParts, views []byte, data [][]byte) (total int64, err error) {
	for i := range int(a.length) {
		if a.isNull(i) {
			continue
		}
		value, problem := follow(views[viewWidth*i:][:viewWidth], data)
		if problem == "" && a.text && !utf8.Valid(value) {
			problem = "is not valid UTF-8"
		}
		if problem != "" {
			return 0, invalid(a.node, "the value in row %d %s", i, problem)
		}
		// Several views may refer to the same bytes; each becomes a copy here.
		if err := d.charge(a.node, int64(len(value))); err != nil {
			return 0, err
		}
		total += int64(len(value))
	}
	return total, nil
}

// follow returns the value of a view, or the problem with the view.
func follow(view []byte, data [][]byte) (value []byte, problem string) {
	length := int64(int32(binary.LittleEndian.Uint32(view)))
	if length < 0 {
		return nil, "has a negative length"
	}
	if length <= inlineView {
		for _, c := range view[4+length:] {
			if c != 0 { // views of equal values are compared as bytes
				return nil, "is followed by bytes that are not zero"
			}
		}
		return view[4 : 4+length], ""
	}
	index := binary.LittleEndian.Uint32(view[8:])
	start := int64(int32(binary.LittleEndian.Uint32(view[12:])))
	if uint64(index) >= uint64(len(data)) {
		return nil, "is in a data buffer that does not exist"
	}
	buf := data[index]
	if start < 0 || start+length > int64(len(buf)) {
		return nil, "lies outside its data buffer"
	}
	value = buf[start : start+length]
	if !bytes.Equal(value[:4], view[4:8]) {
		return nil, "does not begin as its view says"
	}
	return value, ""
}
