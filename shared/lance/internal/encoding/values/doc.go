// Package values holds values in memory between Arrow arrays and the buffers of a page: a writer
// takes them out of arrays, a reader decodes them from buffers. [Values] have the layout of Arrow
// but not its types, only a [Shape], such as 64 bits each. A [Bitmap] marks nulls, and a [Room]
// grants memory before much of it is allocated.
//
// For example, the Arrow strings "a", null, "bc" become Values of shape Variable with N = 3,
// Offsets 0 1 1 3 and Data "abc", and a Bitmap with the bits 1 0 1.
//
// Files: from_arrow.go and to_arrow.go convert from and to arrays, values.go and append.go collect
// values, look.go and take.go access them, items.go joins pages.
package values
