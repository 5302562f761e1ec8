// Package vector answers the two questions of a flat vector search: how far is each row
// from the query, and which rows are nearest.
//
// A [Query] is a vector prepared for one [Metric]. It is shown blocks of rows and writes
// one float32 distance for each. [DistancesMany] shows the same rows to several queries.
// A [TopK] then keeps the k nearest (distance, row id) pairs of all that it is shown;
// parallel workers fill one each and merge them at the end.
//
// Vectors are plain slices, rows lying one after another without padding, as they do in
// the child array of a fixed-size list. The package knows neither Arrow nor tables, and
// nulls, deletions and filters only in one form: a row whose distance is NaN is never kept.
// The caller writes NaN over the distances of rows that must not be found.
//
// The distances are those of native Lance within float32 rounding: elements are summed in
// float32 (float16 is widened first) or in float64 for float64, and overflow to infinity,
// underflow to zero and NaN happen where they happen there. Native Lance drops NaN
// distances and keeps infinite ones, so under Cosine a zero vector is never found.
//
// The inner loops are assembly for amd64 with AVX-512, or with AVX2, FMA and F16C, and for
// arm64, and Go elsewhere. The portable Go loops in portable.go say what the assembly computes.
package vector
