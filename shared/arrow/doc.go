// Package arrow documents the wing of tools over Arrow arrays which the Arrow library does not have.
//
// Package arrowipc verifies streams of strangers before the library reads them, and accounts for their
// memory. Package take copies rows by position, sortkey encodes values as bytes that sort like them,
// rowchunks works on a batch in parts when memory is short, and rowjson writes rows as JSON.
//
// Begin with take/take.go.
package arrow
