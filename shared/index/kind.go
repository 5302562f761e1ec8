package index

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index/fulltext/textcolumn"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/sql/pruning"
)

// A Kind collects everything specific to one kind of index. Each kind's package exports its value, and
// package kinds lists them.
type Kind struct {
	indexmeta.Kind // names and versions of the format

	// Types are the type names in requests that select the kind; nil: only its own name.
	Types []string
	// Documents means that the column of an index may be texts in the structs of lists.
	Documents bool
	// Fits reports whether a column can have such an index. Fitting names the types that fit, for people.
	Fits    func(Build) bool
	Fitting string
	// Plan returns how an index is built on a column that fits. Parameters that do not fit are a [Refusal].
	Plan func(Build) (Plan, error)

	// Like returns the parameters of an existing segment for further segments of its index; nil: the kind
	// has none.
	Like func(context.Context, Segment) (params any, err error)
	// Extends reports whether an index can get further segments; nil: always.
	Extends func(indexmeta.Description) bool
	// Extend plans a segment that reuses the trained model of an existing segment. Nil: Plan builds further
	// segments.
	Extend func(context.Context, Segment, Build) (Plan, error)

	// Describe returns the details of an index with the parameters that only its files have. metadata reads the metadata
	// of a file. Nil: the details are complete.
	Describe func(details string, metadata func(file string) (map[string]string, error)) (string, error)

	// Filters describes how filters use the kind; nil: not at all.
	Filters *Filters
}

// Builds reports whether the kind builds indices of a type name, which is one of the kind's.
func (k *Kind) Builds(name string) bool {
	return k != nil && (k.Types == nil || slices.Contains(k.Types, name))
}

// A Build describes an index or a segment to build.
type Build struct {
	Column string            // its path, as in the request
	Field  arrow.Field       // as scans read it
	Texts  textcolumn.Column // of kinds of documents
	Rows   Source
	Params any // parameters, of the type that the kind takes, or [Typed] if it has several types; nil: the defaults
	// Watch is called with the number of newly read rows or written keys; may be nil.
	Watch func(rows int64)
}

// A Plan describes how an index is built.
type Plan struct {
	Version int32  // of the format
	Details []byte // the parameters, encoded as the kind's protobuf message
	Parts
}

// Measured are parts that can measure how well searches find rows by a new index.
type Measured interface {
	// Measure searches the built segments, and returns the details with the result. If the result is unknown, the details
	// are unchanged.
	Measure(ctx context.Context, details []byte, segments []Files) ([]byte, error)
}

// Typed are the parameters of a kind with several types.
type Typed interface {
	IndexType() string // as clients name it
}

// A Segment is an existing segment, whose parameters further segments reuse.
type Segment struct {
	Files
	Index   indexmeta.Description
	Details []byte // the parameters, encoded as the kind's protobuf message
	Empty   bool   // it was built without rows, and has no files
}

// A Refusal is the error for parameters that contradict each other or do not fit a column.
type Refusal struct {
	Message string
	WayOut  string // for people; may be empty
	Unbuilt bool   // native Lance builds such indices
}

func (r *Refusal) Error() string { return r.Message }

// Filters describes how filters use indices of a kind. The first three fields follow native Lance, since a
// fast search must return its results.
type Filters struct {
	// Answers returns whether native Lance uses the index for a probe, and whether the result is exact.
	Answers func(pruning.Probe) pruning.Answer
	// Members reports whether native Lance uses indices on members of structs.
	Members bool
	// Usable reports by the details of an index whether native Lance uses it; nil: always.
	Usable func(details string) bool

	// Tests reports whether an index on a column of type t can answer a probe.
	Tests func(p pruning.Probe, t arrow.DataType) bool
	// Question combines several probes into the question for the rows that pass all of them.
	Question func(ctx context.Context, probes []pruning.Probe, t arrow.DataType) (Question, error)
	// Open opens a segment of an index on a column of type t.
	Open func(ctx context.Context, files Files, t arrow.DataType) (Reader, error)
	// Coarse is true if an index may return rows that do not match, so that other indices are preferred.
	Coarse bool
	// Whole is true if a search reads all files of a segment, and these have more bytes than the column. It only pays if
	// they stay in the cache.
	Whole bool
}

// Opener adapts the function that opens segments of a kind.
func Opener[R Reader](open func(context.Context, Files, arrow.DataType) (R, error)) func(context.Context, Files, arrow.DataType) (Reader, error) {
	return func(ctx context.Context, files Files, t arrow.DataType) (Reader, error) { return open(ctx, files, t) }
}

// AnswersExactly returns the Answers of a kind that does some tests, and finds just the rows that pass.
func AnswersExactly(tests func(pruning.Probe) bool) func(pruning.Probe) pruning.Answer {
	return func(p pruning.Probe) pruning.Answer {
		if tests(p) {
			return pruning.Answers
		}
		return pruning.Open
	}
}
