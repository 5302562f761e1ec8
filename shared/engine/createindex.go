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

	"tiltyard/shared/index"
	"tiltyard/shared/index/btree"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// A NewIndex is an index to build.
type NewIndex struct {
	Name    string
	Column  string // path of the column
	Kind    index.Kind
	Replace bool // replaces an index of the same name
}

// A builder builds indices of one kind.
type builder struct {
	// fits reports whether a column of the type can have such an index.
	fits func(arrow.DataType) bool
	// fitting names the types that fit, for people.
	fitting string
	// build writes the files of a segment. Each batch of rows holds the values of the column, and what
	// the kind stores of each row.
	build func(ctx context.Context, t arrow.DataType, rows iter.Seq2[arrow.RecordBatch, error], out index.Output) error
	// stores is the row column whose values the kind stores.
	stores string
	// version returns the version of the format, by whether the table gives its rows stable ids.
	version func(stable bool) int32
}

// builders has a row for each kind that can be built.
var builders = map[index.Kind]builder{
	index.BTree: {
		fits: btree.Fits, fitting: "numbers, booleans, texts, binaries, decimals, dates and times",
		build: btree.Build, stores: dataset.RowAddr,
		version: func(stable bool) int32 {
			if stable {
				return btree.AddressVersion
			}
			return 0
		},
	},
}

// CheckIndex returns an error if the newest version cannot have a new index: its column does not
// exist or has a type that does not fit, its kind cannot be built, or its name is taken.
func (t *Table) CheckIndex(ctx context.Context, n NewIndex) error {
	_, err := Read(ctx, t, nil, func(_ context.Context, d *dataset.Dataset) (struct{}, error) {
		_, _, err := n.resolve(d)
		if err == nil && !n.Replace {
			if _, found := d.Index(n.Name); !errors.Is(found, dataset.ErrNoIndex) {
				err = fmt.Errorf("%w: %q", dataset.ErrIndexExists, n.Name)
			}
		}
		return struct{}{}, err
	})
	return err
}

// resolve returns how the index is built, and its column.
func (n NewIndex) resolve(d *dataset.Dataset) (builder, arrow.Field, error) {
	b, ok := builders[n.Kind]
	if !ok {
		return b, arrow.Field{}, CanBuild(n.Kind)
	}
	field, err := d.Column(n.Column)
	if err != nil {
		return b, field, err
	}
	if !b.fits(field.Type) {
		return b, field, &protocol.Error{
			Code: protocol.InvalidInput, Message: fmt.Sprintf("column %q of type %s cannot have an index of type %s", n.Column, field.Type, n.Kind),
			Detail: n.Kind.String() + " fits " + b.fitting,
		}
	}
	return b, field, nil
}

// CanBuild returns an error if the server cannot build indices of a kind.
func CanBuild(kind index.Kind) error {
	if _, ok := builders[kind]; ok {
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
		names = append(names, k.String())
	}
	return names
}

// CreateIndex builds an index over the newest version and commits it. confirm is as for Insert.
func (t *Table) CreateIndex(ctx context.Context, n NewIndex, confirm func() error) (Written, error) {
	return t.alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		b, field, err := n.resolve(d)
		if err != nil {
			return nil, err
		}
		return d.CreateIndex(ctx, dataset.NewIndex{
			Name: n.Name, Column: n.Column, Kind: n.Kind, Replace: n.Replace,
			Version: b.version(d.Manifest().StableRowIDs()),
			Build: func(ctx context.Context, out index.Output) error {
				_, rows, err := d.Scan(ctx, dataset.ScanOptions{Columns: []string{n.Column, b.stores}})
				if err != nil {
					return err
				}
				return b.build(ctx, field.Type, rows, out)
			},
		}, confirm)
	})
}
