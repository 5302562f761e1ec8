// Package values holds values in memory between Arrow arrays and the buffers of a page: a writer
// takes them out of arrays, and a reader decodes them from buffers. [Values] are laid out as Arrow
// lays them out. They know only their [Shape], such as 64 bits each, and not their type. A [Bitmap]
// marks the null ones, and a [Room] is asked for memory before much of it is allocated.
//
// Files: from_arrow.go and to_arrow.go convert from and to arrays, values.go and append.go collect
// values, look.go and take.go access them, items.go joins pages.
package values
