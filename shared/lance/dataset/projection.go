package dataset

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance/schema"
)

// Names of the row columns: what a scan can say of a row beside its values.
const (
	RowID     = "_rowid"     // the row's id: its address, unless the table has stable row ids
	RowAddr   = "_rowaddr"   // fragment id << 32 | physical row
	RowOffset = "_rowoffset" // number of the row in the version, from 0
)

// RowColumns are the fields of the row columns.
func RowColumns() []arrow.Field {
	return []arrow.Field{
		{Name: RowID, Type: arrow.PrimitiveTypes.Uint64, Nullable: true},
		{Name: RowAddr, Type: arrow.PrimitiveTypes.Uint64, Nullable: true},
		{Name: RowOffset, Type: arrow.PrimitiveTypes.Uint64, Nullable: true},
	}
}

// ErrNoColumn says that a table has no column of a name.
type ErrNoColumn struct {
	Name string
	Have []string // the columns that there are
}

func (e *ErrNoColumn) Error() string { return fmt.Sprintf("no column %q", e.Name) }

// A projection is the columns of a scan.
type projection struct {
	schema  *arrow.Schema
	columns []projected
}

// projected is a column of the table, or a row column.
type projected struct {
	name  string
	field *schema.Field // nil: a row column
}

// projection resolves names; nil is all columns of the table.
func (d *Dataset) projection(names []string) (*projection, error) {
	if names == nil {
		for _, f := range d.manifest.Schema.Fields {
			names = append(names, f.Name)
		}
	}
	p := &projection{}
	fields := make([]arrow.Field, len(names))
	for i, name := range names {
		field := d.manifest.Schema.Field(name)
		switch {
		case field != nil:
			fields[i] = field.Arrow()
		case rowColumn(name) != nil:
			fields[i] = *rowColumn(name)
		default:
			return nil, d.NoColumn(name)
		}
		p.columns = append(p.columns, projected{name: name, field: field})
	}
	metadata := d.arrow.Metadata()
	p.schema = arrow.NewSchema(fields, &metadata)
	return p, nil
}

func rowColumn(name string) *arrow.Field {
	for _, f := range RowColumns() {
		if f.Name == name {
			return &f
		}
	}
	return nil
}

// NoColumn returns the error of asking for a column that the table does not have.
func (d *Dataset) NoColumn(name string) *ErrNoColumn {
	err := &ErrNoColumn{Name: name}
	for _, f := range d.manifest.Schema.Fields {
		err.Have = append(err.Have, f.Name)
	}
	return err
}

// fields returns the table's columns among the projected ones.
func (p *projection) fields() []*schema.Field {
	var fields []*schema.Field
	for _, c := range p.columns {
		if c.field != nil {
			fields = append(fields, c.field)
		}
	}
	return fields
}
