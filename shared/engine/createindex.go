package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/fulltext"
	"tiltyard/shared/index"
	"tiltyard/shared/index/bitmap"
	"tiltyard/shared/index/bloomfilter"
	"tiltyard/shared/index/btree"
	"tiltyard/shared/index/ivf"
	"tiltyard/shared/index/labellist"
	"tiltyard/shared/index/ngram"
	"tiltyard/shared/index/zonemap"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/protocol"
)

// A NewIndex is an index to build.
type NewIndex struct {
	Name    string
	Column  string // path of the column
	Kind    index.Kind
	Replace bool            // replaces an index of the same name
	Text    fulltext.Params // of an index of texts
	Vectors ivf.Recipe      // of an index of vectors
}

// A builder builds indices of one kind.
type builder struct {
	// fits reports whether a column can have such an index.
	fits func(arrow.Field) bool
	// fitting names the types that fit, for people.
	fitting string
	// plan prepares the build of an index on a column that fits. An error means that the parameters do
	// not fit.
	plan func(d *dataset.Dataset, n NewIndex, column arrow.Field) (build, error)
}

// A build is how one index is built.
type build struct {
	version int32  // of the format
	details []byte // the parameters, as the kind's message encodes them
	write   func(ctx context.Context, out index.Output) error
}

const sortableTypes = "numbers, booleans, texts, binaries, decimals, dates and times"

// builders has a row for each kind that can be built.
var builders = map[index.Kind]builder{
	index.BTree: {
		fits: isSortable, fitting: sortableTypes,
		plan: func(d *dataset.Dataset, n NewIndex, column arrow.Field) (build, error) {
			b := build{write: ofValues(d, n.Column, dataset.RowAddr, column.Type, btree.Build)}
			if d.Manifest().StableRowIDs() {
				b.version = btree.AddressVersion
			}
			return b, nil
		},
	},
	index.Bitmap: {
		fits: isSortable, fitting: sortableTypes,
		plan: func(d *dataset.Dataset, n NewIndex, column arrow.Field) (build, error) {
			return build{write: ofValues(d, n.Column, dataset.RowID, column.Type, bitmap.Build)}, nil
		},
	},
	index.LabelList: {
		fits: func(column arrow.Field) bool { return labellist.Fits(column.Type) }, fitting: "lists of " + sortableTypes,
		plan: func(d *dataset.Dataset, n NewIndex, column arrow.Field) (build, error) {
			return build{version: labellist.Version, write: ofValues(d, n.Column, dataset.RowID, column.Type, labellist.Build)}, nil
		},
	},
	index.Ngram: {
		fits: func(column arrow.Field) bool { return ngram.IsText(column.Type) }, fitting: "texts",
		plan: func(d *dataset.Dataset, n NewIndex, column arrow.Field) (build, error) {
			return build{write: ofValues(d, n.Column, dataset.RowID, column.Type, ngram.Build)}, nil
		},
	},
	index.ZoneMap: {
		fits: isSortable, fitting: sortableTypes,
		plan: func(d *dataset.Dataset, n NewIndex, column arrow.Field) (build, error) {
			details := pb.ZoneMapIndexDetails{RowsPerZone: zonemap.RowsPerZone, HasNullBitmap: true}
			var e pb.Encoder
			details.Marshal(&e)
			return build{details: e.B, write: ofValues(d, n.Column, dataset.RowAddr, column.Type, zonemap.Build)}, nil
		},
	},
	index.BloomFilter: {
		fits: func(column arrow.Field) bool { return bloomfilter.IsHashed(column.Type) }, fitting: "numbers, texts, binaries, dates and times",
		plan: func(d *dataset.Dataset, n NewIndex, column arrow.Field) (build, error) {
			return build{write: ofValues(d, n.Column, dataset.RowAddr, column.Type, bloomfilter.Build)}, nil
		},
	},
	index.Text:   {fits: isDocument, fitting: "texts, lists of texts, and JSON", plan: planText},
	index.Vector: {fits: isVector, fitting: "fixed-size lists of float16, float32 or float64", plan: planVectors},
}

func isSortable(column arrow.Field) bool { return index.Sortable(column.Type) }

// ofValues returns a function that builds an index of the values of a column. rows is the row column
// whose values the index stores.
func ofValues(
	d *dataset.Dataset, column, rows string, t arrow.DataType,
	build func(ctx context.Context, t arrow.DataType, rows iter.Seq2[arrow.RecordBatch, error], out index.Output) error,
) func(context.Context, index.Output) error {
	return func(ctx context.Context, out index.Output) error {
		_, batches, err := d.Scan(ctx, dataset.ScanOptions{Columns: []string{column, rows}})
		if err != nil {
			return err
		}
		return build(ctx, t, batches, out)
	}
}

// CheckIndex returns an error if the newest version cannot have a new index: its column does not
// exist or has a type that does not fit, its kind cannot be built, or its name is taken.
func (t *Table) CheckIndex(ctx context.Context, n NewIndex) error {
	_, err := Read(ctx, t, nil, func(_ context.Context, d *dataset.Dataset) (struct{}, error) {
		_, err := n.resolve(d)
		if err == nil && !n.Replace {
			if _, found := d.Index(n.Name); !errors.Is(found, dataset.ErrNoIndex) {
				err = fmt.Errorf("%w: %q", dataset.ErrIndexExists, n.Name)
			}
		}
		return struct{}{}, err
	})
	return err
}

// resolve returns how the index is built.
func (n NewIndex) resolve(d *dataset.Dataset) (build, error) {
	if err := n.CanBuild(); err != nil {
		return build{}, err
	}
	b := builders[n.Kind]
	column, err := d.Column(n.Column)
	if err != nil {
		return build{}, err
	}
	if !b.fits(column) {
		return build{}, &protocol.Error{
			Code: protocol.InvalidInput, Message: fmt.Sprintf("column %q of type %s cannot have an index of type %s", n.Column, column.Type, n.Kind),
			Detail: n.Kind.String() + " fits " + b.fitting,
		}
	}
	return b.plan(d, n, column)
}

// CanBuild returns an error if the server cannot build indices of the kind.
func (n NewIndex) CanBuild() error {
	if _, ok := builders[n.Kind]; ok && (n.Kind != index.Vector || slices.Contains(ivf.Kinds(), n.Vectors.Kind)) {
		return nil
	}
	return &protocol.Error{
		Code: protocol.Unsupported, Message: "the server cannot build indices of this type yet",
		Detail: "it builds " + strings.Join(kindsBuilt(), ", ") + "; it lists and keeps the others, which native Lance builds",
	}
}

func kindsBuilt() []string {
	var names []string
	for _, k := range slices.Sorted(maps.Keys(builders)) {
		if k == index.Vector {
			names = append(names, ivf.Kinds()...)
		} else {
			names = append(names, k.String())
		}
	}
	return names
}

// CreateIndex builds an index over the newest version and commits it. confirm is as for Insert.
func (t *Table) CreateIndex(ctx context.Context, n NewIndex, confirm func() error) (Written, error) {
	return t.alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		b, err := n.resolve(d)
		if err != nil {
			return nil, err
		}
		return d.CreateIndex(ctx, dataset.NewIndex{
			Name: n.Name, Column: n.Column, Kind: n.Kind, Replace: n.Replace,
			Version: b.version, Details: b.details, Build: b.write,
		}, confirm)
	})
}
