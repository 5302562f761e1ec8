package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrName means that no column of a table can have a name.
var ErrName = errors.New("a name that no column can have")

// Names of the row columns, which a scan computes for each row.
const (
	RowID        = "_rowid"
	RowAddr      = "_rowaddr"
	RowOffset    = "_rowoffset"
	RowCreatedAt = "_row_created_at_version"
	RowUpdatedAt = "_row_last_updated_at_version"
)

// RowColumns returns the names of the row columns.
func RowColumns() []string { return []string{RowID, RowAddr, RowOffset, RowCreatedAt, RowUpdatedAt} }

// CheckName returns [ErrName] for an invalid name of a top-level column: it must not be empty,
// contain a dot or a backtick, or name a row column. Native Lance accepts some of these names,
// mostly in renames, and then cannot read the table. Members of structs may have any name.
//
// Source: Schema::validate and is_system_column of crate lance-core; experiments with pylance
// 14.0.2.
func CheckName(name string) error {
	if slices.Contains(RowColumns(), name) {
		return fmt.Errorf("%w: %q is reserved; choose another name", ErrName, name)
	}
	return checkPath(name)
}

// checkPath returns ErrName for a name that a path would have to quote.
func checkPath(name string) error {
	if name == "" || strings.ContainsAny(name, ".`") {
		return fmt.Errorf("%w: %q: it cannot be empty or contain a dot or a backtick", ErrName, name)
	}
	return nil
}

// CheckNewNames applies CheckName to the columns that an older schema does not have.
func (s *Schema) CheckNewNames(older *Schema) error {
	for _, f := range s.Fields {
		if older.Field(f.Name) == nil {
			if err := CheckName(f.Name); err != nil {
				return err
			}
		}
	}
	return nil
}
