// Package vector measures the distances of rows from a query vector, and selects the nearest rows.
//
// A [Query] is a vector prepared for one [Metric]. Given a block of rows, it writes one float32 distance
// for each. [DistancesMany] passes the same rows to several queries. A [TopK] keeps the k nearest pairs of
// distance and row id; parallel workers fill one each and merge them at the end.
//
// Vectors are plain slices, in which rows follow each other without padding, as in the child array of a
// fixed-size list. The package depends on neither Arrow nor tables. It handles nulls, deletions and filters
// in one form: a row whose distance is NaN is never kept, so the caller writes NaN over the distances of
// rows that must not be found.
//
// The distances are those of native Lance except for float32 rounding: elements are summed in float32
// (float16 is widened first), or in float64 for float64, and infinity, zero and NaN occur for the same
// vectors. Native Lance drops NaN distances and keeps infinite ones, so under Cosine a zero vector is never
// found.
//
// The inner loops are assembly for amd64 with AVX-512, or with AVX2, FMA and F16C, and for arm64, and Go
// elsewhere. The portable Go loops in portable.go define what the assembly computes.
//
// An emulator tests the kernels of arm64 on other machines:
//
//	GOARCH=arm64 CGO_ENABLED=0 go test -exec qemu-aarch64 ./shared/index/vector
package vector
