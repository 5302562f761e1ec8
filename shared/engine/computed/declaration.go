// Package computed handles columns whose values are computed by an expression over the row. The
// metadata of the field declares the expression, declarations restrict other changes to the table,
// and a [Column] computes values, fragment by fragment. Package staleness finds out-of-date values.
//
// A registered function can also compute a column, together with others: see bindings.go. A virtual
// column of the Lance Namespace protocol contains its function: see virtual.go.
//
// Source of the keys and the rules: lancedb 0.40, table/computed_columns.rs.
package computed

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/engine/internal/condition"
	"tiltyard/shared/engine/internal/staleness"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// Keys of a field's metadata.
const (
	markKey       = "computed_column" // "true"
	kindKey       = "computed_column.kind"
	expressionKey = "computed_column.expression"
	inputsKey     = "computed_column.inputs"
	bindingKey    = "computed_column.function.binding_id"
	ordinalKey    = "computed_column.function.output_ordinal"
)

// These are the kinds of columns that can be computed here: by an SQL expression over the row, by a
// registered function, and by a function in the declaration (see virtual.go).
const (
	kindSQL      = "sql"
	kindFunction = "function"
	kindVirtual  = "virtual"
)

// A Declaration is the definition of a computed column.
type Declaration struct {
	Column     string
	Kind       string   // "sql", or another kind, such as "function"
	Expression string   // of kind "sql"
	Inputs     []string // paths of the columns that the expression reads
}

// Of returns the declaration in the metadata of a column, or nil if there is none.
func Of(f *schema.Field) *Declaration {
	if f.Metadata[markKey] != "true" || f.Metadata[kindKey] == "" {
		return nil
	}
	d := &Declaration{Column: f.Name, Kind: f.Metadata[kindKey], Expression: f.Metadata[expressionKey]}
	if json.Unmarshal([]byte(f.Metadata[inputsKey]), &d.Inputs) != nil {
		d.Inputs = nil // native readers ignore invalid inputs, too
	}
	return d
}

// find returns the declaration of a column that can be computed here. The error is
// TableColumnNotFound, InvalidInput for a column that is not computed, or Unsupported for an
// unknown kind.
func find(d *dataset.Dataset, column string) (*Declaration, *schema.Field, error) {
	f := d.Schema().Field(column)
	if f == nil {
		if path, err := d.Schema().Resolve(column); err == nil {
			return nil, nil, protocol.Errorf(protocol.InvalidInput, "column %q is a part of %q; only whole columns are computed", column, path[0].Name)
		}
		return nil, nil, apierror.NoColumn(d.NoColumn(column))
	}
	declared := Of(f)
	switch {
	case isVirtual(f) && !f.HoldsBlobs():
		return &Declaration{Column: column, Kind: kindVirtual}, f, nil
	case declared == nil && !isVirtual(f):
		return nil, nil, protocol.Errorf(protocol.InvalidInput, "column %q is not a computed column", column)
	case f.HoldsBlobs():
		return nil, nil, protocol.Errorf(protocol.Unsupported, "column %q holds blobs, which cannot be computed", column)
	case declared.Kind != kindSQL && declared.Kind != kindFunction:
		return nil, nil, protocol.Errorf(protocol.Unsupported, "column %q is computed by %.80q, which cannot be run here", column, declared.Kind)
	}
	return declared, f, nil
}

// Declare returns the field of a new column that an expression over columns computes. The
// expression must not be volatile.
func Declare(ctx context.Context, d *dataset.Dataset, columns *arrow.Schema, name, expression string) (arrow.Field, error) {
	var inputs []string
	value, err := condition.Bind(ctx, "column "+name, expression, d, columns, func(ctx context.Context, e syntax.Expr, _ *arrow.Schema, now time.Time) (*plan.Bound, error) {
		for _, path := range inputsOf(e) {
			inputs = append(inputs, strings.Join(path, "."))
		}
		return plan.Bind(ctx, e, columns, now)
	})
	if err != nil {
		return arrow.Field{}, err
	}
	if f := value.Volatile(); f != "" {
		return arrow.Field{}, protocol.Errorf(protocol.InvalidInput, "column %s: %s gives another value each time, so the column cannot be computed by it", name, f)
	}
	slices.Sort(inputs)
	names, err := json.Marshal(inputs)
	return arrow.Field{Name: name, Type: value.Type(), Nullable: true, Metadata: arrow.MetadataFrom(map[string]string{
		markKey: "true", kindKey: kindSQL, expressionKey: expression, inputsKey: string(names),
		staleness.SignatureKey: "{}",
	})}, err
}

// isDeclarationKey reports whether a metadata key belongs to a declaration, or to the records of
// backfills.
func isDeclarationKey(key string) bool {
	return key == markKey || strings.HasPrefix(key, "computed_column.") || strings.HasPrefix(key, "computed_refresh.")
}

// CheckMetadata returns an error for an edit of a field's metadata that would change a declaration.
// set contains the keys to set or delete; replace deletes all others.
func CheckMetadata(s *schema.Schema, path string, set map[string]*string, replace bool) error {
	for key := range set {
		if isDeclarationKey(key) {
			return protocol.Errorf(protocol.InvalidInput, "metadata key %q of %q belongs to the declaration of a computed column; drop the column and declare it again", key, path)
		}
	}
	if f := s.Field(root(s, path)); replace && f != nil && Of(f) != nil {
		return protocol.Errorf(protocol.InvalidInput, "replacing all metadata of computed column %q would erase its declaration; drop the column and declare it again", f.Name)
	}
	return nil
}

// CheckWritten returns an error if a column is computed, because clients must not write its values.
func CheckWritten(s *schema.Schema, column string) error {
	if f := s.Field(column); f != nil && Of(f) != nil {
		return protocol.Errorf(protocol.InvalidInput, "column %q is computed; its values come from a backfill and cannot be written", column)
	}
	return nil
}

// CheckUndeclared returns an error if the schema of rows declares computed columns.
func CheckUndeclared(rows *arrow.Schema) error {
	for _, f := range rows.Fields() {
		for _, key := range f.Metadata.Keys() {
			if isDeclarationKey(key) {
				return protocol.Errorf(protocol.InvalidInput, "the metadata of column %q declares a computed column; leave key %q out, and declare the column with add_columns", f.Name, key)
			}
		}
	}
	return nil
}

// CheckInputs returns an error if a computed column reads one of the columns in paths, or if a path
// is a member of a computed column. It ignores computed columns that the same change drops.
func CheckInputs(s *schema.Schema, paths, dropped []string) error {
	for _, f := range s.Fields {
		d := Of(f)
		if d == nil || slices.Contains(dropped, f.Name) {
			continue
		}
		for _, path := range paths {
			column := root(s, path)
			switch {
			case path == f.Name && d.Kind == kindFunction:
				return protocol.Errorf(protocol.InvalidInput, "column %q is computed by a function, which knows it by its name and type; drop the columns of the function and declare them again", path)
			case path == f.Name:
			case column == f.Name:
				return protocol.Errorf(protocol.InvalidInput, "%q is a part of computed column %q; drop that column and declare it again", path, f.Name)
			case slices.ContainsFunc(d.Inputs, func(input string) bool { return root(s, input) == column }):
				return protocol.Errorf(protocol.InvalidInput, "column %q is read by computed column %q; drop that column first", path, f.Name)
			}
		}
	}
	return nil
}

// CheckRetyped returns an error if a change of types includes a computed column.
func CheckRetyped(s *schema.Schema, paths []string) error {
	for _, path := range paths {
		if f := s.Field(root(s, path)); f != nil && Of(f) != nil {
			return protocol.Errorf(protocol.InvalidInput, "column %q is computed; to change its type, drop it and declare it again", f.Name)
		}
	}
	return nil
}

// root returns the first name of a path.
func root(s *schema.Schema, path string) string {
	if chain, err := s.Resolve(path); err == nil {
		return chain[0].Name
	}
	column, _, _ := strings.Cut(path, ".")
	return column
}
