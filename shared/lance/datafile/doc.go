// Package datafile reads and writes single data files of the Lance format, versions 2.0,
// 2.1 and 2.2: columns of pages, then what describes them, then a footer. What is inside
// of pages is the business of package encoding.
//
// A [Writer] streams a file out. A [File] is one opened for reading, by ranges of rows or
// by single rows, from an object store: it plans which bytes are needed and gets them in
// as few rounds of requests as possible, and keeps what later reads need again.
package datafile
