// Package build decides how an index is built on a column: which kinds fit which types, what their
// parameters mean, and which rows the builders of package index get. It is apart from package engine
// because most functions build no indices, and start faster without the code.
package build

import (
	"cmp"
	"context"
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
	"tiltyard/shared/index/fm"
	"tiltyard/shared/index/ivf"
	"tiltyard/shared/index/labellist"
	"tiltyard/shared/index/ngram"
	"tiltyard/shared/index/zonemap"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/protocol"
)

// An Index is an index to build.
type Index struct {
	Name    string
	Default bool   // Name was not asked for; see [dataset.NewIndex]
	Column  string // path of the column; that of texts does not name the items of lists
	Kind    indexmeta.Kind
	Replace bool            // replaces an index of the same name
	Text    fulltext.Params // of an index of texts
	Vectors ivf.Recipe      // of an index of vectors
	// ZoneRows is how many rows a zone of an index ZONEMAP has, and Filters are those of an index BLOOMFILTER;
	// zero is what is usual.
	ZoneRows int
	Filters  bloomfilter.Recipe
	Watch    func(rows int64) // is called with how many more rows were read; may be nil
}

// A builder builds indices of one kind.
type builder struct {
	// fits reports whether a column can have such an index.
	fits func(arrow.Field) bool
	// fitting names the types that fit, for people.
	fitting string
	// plan prepares the build of an index on a column that fits. An error means that the parameters do
	// not fit.
	plan func(d *dataset.Dataset, n Index, column arrow.Field) (plan, error)
}

// A plan is how one index is built.
type plan struct {
	version int32  // of the format
	details []byte // the parameters, as the kind's message encodes them
	write   func(ctx context.Context, out index.Output) error
	parts   Parts
}

const sortableTypes = "numbers, booleans, texts, binaries, decimals, dates and times"

// builders has a row for each kind that can be built.
var builders = map[indexmeta.Kind]builder{
	indexmeta.BTree: {
		fits: isSortable, fitting: sortableTypes,
		plan: func(d *dataset.Dataset, n Index, column arrow.Field) (plan, error) {
			b := planSorting(d, n, snapshot.RowAddr, column.Type, sorting{sort: index.SortRows, combine: btree.Write})
			if d.Manifest().StableRowIDs() {
				b.version = btree.AddressVersion
			}
			return b, nil
		},
	},
	indexmeta.Bitmap: {
		fits: isSortable, fitting: sortableTypes,
		plan: func(d *dataset.Dataset, n Index, column arrow.Field) (plan, error) {
			return planSorting(d, n, snapshot.RowID, column.Type, sorting{sort: index.SortRows, combine: bitmap.Write}), nil
		},
	},
	indexmeta.LabelList: {
		fits: func(column arrow.Field) bool { return labellist.Fits(column.Type) }, fitting: "lists of " + sortableTypes,
		plan: func(d *dataset.Dataset, n Index, column arrow.Field) (plan, error) {
			b := planSorting(d, n, snapshot.RowID, column.Type, sorting{sort: labellist.Sort, combine: labellist.Write})
			b.version = labellist.Version
			return b, nil
		},
	},
	indexmeta.Ngram: {
		fits: func(column arrow.Field) bool { return ngram.IsText(column.Type) }, fitting: "texts",
		plan: func(d *dataset.Dataset, n Index, column arrow.Field) (plan, error) {
			return planSorting(d, n, snapshot.RowID, column.Type, sorting{keysOf: 1, sort: ngram.Sort, combine: ngram.Write}), nil
		},
	},
	indexmeta.ZoneMap: {
		fits: isSortable, fitting: sortableTypes,
		plan: func(d *dataset.Dataset, n Index, column arrow.Field) (plan, error) {
			size := cmp.Or(n.ZoneRows, zonemap.RowsPerZone)
			details := pb.ZoneMapIndexDetails{RowsPerZone: uint64(size), HasNullBitmap: true}
			var e pb.Encoder
			details.Marshal(&e)
			b := planZones(d, n, column.Type, zones{join: zonemap.Join, build: func(ctx context.Context, rows iter.Seq2[arrow.RecordBatch, error], out index.Output) error {
				return zonemap.Build(ctx, column.Type, size, rows, out)
			}})
			b.details = e.B
			return b, nil
		},
	},
	indexmeta.BloomFilter: {
		fits: func(column arrow.Field) bool { return bloomfilter.IsHashed(column.Type) }, fitting: "numbers, texts, binaries, dates and times",
		plan: func(d *dataset.Dataset, n Index, column arrow.Field) (plan, error) {
			recipe := cmp.Or(n.Filters, bloomfilter.Usual)
			return planZones(d, n, column.Type, zones{join: bloomfilter.Join, build: func(ctx context.Context, rows iter.Seq2[arrow.RecordBatch, error], out index.Output) error {
				return bloomfilter.Build(ctx, column.Type, recipe, rows, out)
			}}), nil
		},
	},
	indexmeta.FM: {
		fits: func(column arrow.Field) bool { return fm.Fits(column.Type) }, fitting: "texts and binaries", plan: planPieces,
	},
	indexmeta.Text:   {}, // see planText
	indexmeta.Vector: {fits: isVector, fitting: "fixed-size lists of float16, float32, float64 or uint8, and lists of fixed-size lists of floats", plan: planVectors},
}

// planSorting plans the build of an index whose kind writes sorted keys. rows is the row column whose
// values the index stores.
func planSorting(d *dataset.Dataset, n Index, rows string, t arrow.DataType, s sorting) plan {
	s.source = source{dataset: d, column: n.Column, stores: rows, kind: t, watch: n.Watch}
	return plan{write: s.write, parts: s}
}

func isSortable(column arrow.Field) bool { return index.Sortable(column.Type) }

// Resolve returns how the index is built on a version. The error says what the version does not have,
// or what does not fit.
func (n Index) Resolve(d *dataset.Dataset) (dataset.NewIndex, error) {
	p, err := n.plan(d)
	return dataset.NewIndex{
		Name: n.Name, Default: n.Default, Column: n.Column, Kind: n.Kind, Replace: n.Replace, Version: p.version, Details: p.details,
		Build: func(ctx context.Context, out *dataset.SegmentFiles) error { return p.write(ctx, segment{out}) },
	}, err
}

func (n Index) plan(d *dataset.Dataset) (plan, error) {
	if err := n.CanBuild(); err != nil {
		return plan{}, err
	}
	if indexmeta.IsSystem(n.Name) {
		return plan{}, protocol.Errorf(protocol.InvalidInput, "the name %.80q of the index is one that Lance keeps for itself; take one that does not begin with __lance_", n.Name)
	}
	if n.Kind == indexmeta.Text {
		return planText(d, n)
	}
	b := builders[n.Kind]
	column, err := d.Column(n.Column)
	if err != nil {
		return plan{}, err
	}
	if !b.fits(column) {
		return plan{}, n.misfit(column.Type, b.fitting)
	}
	return b.plan(d, n, column)
}

// misfit returns the error of a column of a type that does not fit.
func (n Index) misfit(t arrow.DataType, fitting string) error {
	return &protocol.Error{
		Code: protocol.InvalidInput, Message: fmt.Sprintf("column %q of type %s cannot have an index of type %s", n.Column, t, n.kind()),
		Detail: n.kind() + " fits " + fitting,
	}
}

// A segment takes the files of the index that is built.
type segment struct{ files *dataset.SegmentFiles }

// Create implements index.Output.
func (s segment) Create(ctx context.Context, name string, columns *arrow.Schema) (index.FileWriter, error) {
	file, err := s.files.Create(ctx, name, columns)
	if err != nil {
		return nil, err
	}
	return file, nil
}

// kind returns the name of the kind, as requests have it.
func (n Index) kind() string {
	if n.Kind == indexmeta.Vector {
		return n.Vectors.Kind
	}
	return n.Kind.String()
}

// CanBuild returns an error if the server cannot build indices of the kind.
func (n Index) CanBuild() error {
	if _, ok := builders[n.Kind]; ok && (n.Kind != indexmeta.Vector || slices.Contains(ivf.Kinds(), n.Vectors.Kind)) {
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
		if k == indexmeta.Vector {
			names = append(names, ivf.Kinds()...)
		} else {
			names = append(names, k.String())
		}
	}
	return names
}
