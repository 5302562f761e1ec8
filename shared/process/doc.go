// Package process documents the wing of a running process: packages that any other may import, and
// that import none of ours.
//
// Package memory is the account from which every request takes memory before it uses it. Package
// tracing records spans, requestid carries the ids which AWS gave to a request, backoff waits between
// attempts, release has the version of the program, and float16 converts half-precision numbers.
//
// Begin with memory/memory.go.
package process
