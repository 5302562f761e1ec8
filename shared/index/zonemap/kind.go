package zonemap

import (
	"cmp"
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/index"
	"tiltyard/shared/index/internal/zonefile"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/sql/pruning"
)

// Kind is the kind ZONEMAP. Its parameters are the number of rows of a zone.
var Kind = &index.Kind{
	Kind: indexmeta.ZoneMap, Fits: index.FitsSortable, Fitting: index.SortableTypes,
	Plan: func(b index.Build) (index.Plan, error) {
		size, _ := b.Params.(int)
		size = cmp.Or(size, RowsPerZone)
		details := pb.ZoneMapIndexDetails{RowsPerZone: uint64(size), HasNullBitmap: true}
		var e pb.Encoder
		details.Marshal(&e)
		return index.Plan{Details: e.B, Parts: zonefile.Parts{Build: b, File: lookupFile, Summarize: func(ctx context.Context, rows iter.Seq2[arrow.RecordBatch, error], out index.Output) error {
			return Build(ctx, b.Field.Type, size, rows, out)
		}}}, nil
	},
	Like: func(ctx context.Context, s index.Segment) (any, error) {
		if s.Empty {
			return nil, nil
		}
		return SizeOf(ctx, s)
	},
	// The index finds zones that may contain a value. It cannot find zones that contain a different value,
	// so it does not answer negations.
	Filters: &index.Filters{
		Answers: index.AnswersExactly(func(p pruning.Probe) bool {
			return p.Test == pruning.Null || !p.Not && (index.IsValueTest(p) || p.Test == pruning.Prefix)
		}),
		Members: true, Tests: index.TestsValues, Question: index.ValueQuestion, Open: index.Opener(Open), Coarse: true,
	},
}
