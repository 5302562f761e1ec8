package index

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/fulltext/textcolumn"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/sql/pruning"
)

// A Kind is all that differs between kinds of indices. Its value stands in the package of the kind, and package kinds
// lists all of them.
type Kind struct {
	indexmeta.Kind // names and versions of the format

	// Types are the names under which clients ask for indices of the kind; nil: only its own.
	Types []string
	// Documents means that the column of an index may be texts in the structs of lists.
	Documents bool
	// Fits reports whether a column can have such an index. Fitting names the types that fit, for people.
	Fits    func(Build) bool
	Fitting string
	// Plan returns how an index is built on a column that fits. Parameters that do not fit are a [Refusal].
	Plan func(Build) (Plan, error)

	// Like returns the parameters of a segment, for further segments of its index; nil: the kind has none.
	Like func(context.Context, Segment) (params any, err error)
	// Extends reports whether further segments of an index can be built; nil: of all.
	Extends func(indexmeta.Description) bool
	// Extend returns how a segment is built that shares what was learnt for another one, whose details it gets. Nil: further
	// segments are built by Plan.
	Extend func(context.Context, Segment, Build) (Plan, error)

	// Describe returns the details of an index with the parameters that only its files have. metadata reads the metadata
	// of a file. Nil: the details are complete.
	Describe func(details string, metadata func(file string) (map[string]string, error)) (string, error)

	// Filters is how filters use the kind; nil: not at all.
	Filters *Filters
}

// Builds reports whether indices of a type can be built, which is one of the kind's.
func (k *Kind) Builds(name string) bool {
	return k != nil && (k.Types == nil || slices.Contains(k.Types, name))
}

// A Build is an index to build, or a segment of one.
type Build struct {
	Column string            // its path, as the request has it
	Field  arrow.Field       // as scans read it
	Texts  textcolumn.Column // of kinds of documents
	Rows   Source
	Params any // of the type that the kind takes, [Typed] if it has several types; nil: the usual ones
	// Watch is called with how many more rows were read, or keys written; may be nil.
	Watch func(rows int64)
}

// A Plan is how an index is built.
type Plan struct {
	Version int32  // of the format
	Details []byte // the parameters, as the kind's message encodes them
	Parts
}

// Typed are the parameters of a kind with several types.
type Typed interface {
	IndexType() string // as clients name it
}

// A Segment is one whose parameters further segments get.
type Segment struct {
	Files
	Index   indexmeta.Description
	Details []byte // the parameters, as the kind's message encodes them
	Empty   bool   // it was made without any rows, and has no files
}

// A Refusal is the error of parameters that do not fit a column, or each other.
type Refusal struct {
	Message string
	WayOut  string // for people; may be empty
	Unbuilt bool   // native Lance builds such indices
}

func (r *Refusal) Error() string { return r.Message }

// Filters is how filters use indices of a kind. The first three are choices of native Lance, which a fast search has to
// follow.
type Filters struct {
	// Answers returns what native Lance leaves to an index: which tests of its column it does, and whether exactly.
	Answers func(pruning.Probe) pruning.Answer
	// Members reports whether native Lance uses indices on members of structs.
	Members bool
	// Usable reports by the details of an index whether native Lance uses it; nil: always.
	Usable func(details string) bool

	// Tests reports whether an index of a column of type t can test what a probe tests.
	Tests func(p pruning.Probe, t arrow.DataType) bool
	// Question returns what the index is asked, to find the rows that pass all of several probes.
	Question func(ctx context.Context, probes []pruning.Probe, t arrow.DataType) (Question, error)
	// Open opens a segment of an index of a column of type t.
	Open func(ctx context.Context, files Files, t arrow.DataType) (Reader, error)
	// Coarse is true if an index also finds rows that do not match, so that others are asked first.
	Coarse bool
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
