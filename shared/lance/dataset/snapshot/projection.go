package snapshot

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/schema"
)

// Names of the row columns, which a scan computes for each row.
const (
	RowID     = schema.RowID     // the row id: its address, unless the table has stable row ids
	RowAddr   = schema.RowAddr   // fragment id << 32 | physical row
	RowOffset = schema.RowOffset // position of the row among the live rows of the version, from 0

	// Versions of the table that created and last changed the row. Only tables with stable row ids
	// record them; elsewhere they are 1.
	RowCreatedAt = schema.RowCreatedAt
	RowUpdatedAt = schema.RowUpdatedAt
)

// RowColumns returns the fields of the row columns.
func RowColumns() []arrow.Field {
	names := schema.RowColumns()
	fields := make([]arrow.Field, len(names))
	for i, name := range names {
		fields[i] = arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Uint64, Nullable: true}
	}
	return fields
}

// ErrNoColumn reports an unknown column name.
type ErrNoColumn struct {
	Name string
	Have []string // the existing columns
	List string   // the list that contains a field of the name; empty if no such field exists
}

func (e *ErrNoColumn) Error() string { return fmt.Sprintf("no column %q", e.Name) }

// Unwrap returns lance.ErrUnsupported for a field inside a list. Native Lance can index such a
// field.
func (e *ErrNoColumn) Unwrap() error {
	if e.List != "" {
		return lance.ErrUnsupported
	}
	return nil
}

// A Projection is the ordered column list of a scan.
type Projection struct {
	schema  *arrow.Schema
	columns []projected
}

// projected is a column, a struct member, or a row column.
type projected struct {
	name  string
	field *schema.Field // the field to read, with only the needed members; nil: a row column
	path  []int         // child positions from field down to the member; nil: the whole column
}

// ProjectionOf returns the projection of exactly these fields, as stored.
func ProjectionOf(fields []*schema.Field) *Projection {
	p := &Projection{}
	columns := make([]arrow.Field, len(fields))
	for i, f := range fields {
		p.columns = append(p.columns, projected{name: f.Name, field: f})
		columns[i] = f.Arrow()
	}
	p.schema = arrow.NewSchema(columns, nil)
	return p
}

// Project resolves names as in ScanOptions.Columns. An unknown name is *ErrNoColumn.
func (s *Snapshot) Project(names []string) (*Projection, error) {
	p, fields, err := s.resolveAll(names)
	if err != nil {
		return nil, err
	}
	metadata := s.arrow.Metadata()
	p.schema = arrow.NewSchema(fields, &metadata)
	return p, nil
}

// resolveAll returns a projection without its schema, and the fields of the schema.
func (s *Snapshot) resolveAll(names []string) (*Projection, []arrow.Field, error) {
	if names == nil {
		for _, f := range s.manifest.Schema.Fields {
			names = append(names, f.Name)
		}
	}
	p := &Projection{columns: make([]projected, 0, len(names))}
	fields := make([]arrow.Field, len(names))
	for i, name := range names {
		c, field, err := s.resolve(name)
		if err != nil {
			return nil, nil, err
		}
		p.columns = append(p.columns, c)
		fields[i] = field
	}
	return p, fields, nil
}

// Column returns the Arrow field of a name in ScanOptions.Columns, or *ErrNoColumn.
func (s *Snapshot) Column(name string) (arrow.Field, error) {
	_, field, err := s.resolve(name)
	return field, err
}

// resolve resolves one name: a column, a row column, or a path to a struct member.
func (s *Snapshot) resolve(name string) (projected, arrow.Field, error) {
	if field := s.manifest.Schema.Field(name); field != nil {
		field = field.Described()
		return projected{name: name, field: field}, field.Arrow(), nil
	}
	if field := rowColumn(name); field != nil {
		return projected{name: name}, *field, nil
	}
	around, err := s.manifest.Schema.Project([]string{name})
	if err != nil {
		return projected{}, arrow.Field{}, s.NoColumn(name)
	}
	names, err := schema.ParsePath(name)
	if err != nil {
		return projected{}, arrow.Field{}, err
	}
	c := projected{name: name, field: around.Fields[0].Described(), path: []int{}}
	field := c.field
	for _, member := range names[1:] {
		// A value inside a list is not one value per row.
		if field.Type.ID() != arrow.STRUCT {
			return projected{}, arrow.Field{}, s.NoColumn(name)
		}
		at := slices.Index(field.Children, field.Child(member))
		c.path = append(c.path, at)
		field = field.Children[at]
	}
	out := field.Arrow()
	out.Name, out.Nullable = name, true
	return c, out, nil
}

// of extracts the projected member from the column that was read.
func (c *projected) of(column arrow.Array) arrow.Array {
	for _, at := range c.path {
		column = take.Member(column.(*array.Struct), at)
	}
	return column
}

func rowColumn(name string) *arrow.Field {
	for _, f := range RowColumns() {
		if f.Name == name {
			return &f
		}
	}
	return nil
}

// NoColumn returns the error for an unknown column name, with the closest list if the name lies
// inside one.
func (s *Snapshot) NoColumn(name string) *ErrNoColumn {
	err := &ErrNoColumn{Name: name}
	for _, f := range s.manifest.Schema.Fields {
		err.Have = append(err.Have, f.Name)
	}
	if names, wrong := schema.ParsePath(name); wrong == nil {
		err.List = listAround(s.manifest.Schema.Fields, names)
	}
	return err
}

// listAround returns the path of the list that contains the field of these names, or "". Like
// native Lance, it accepts names without the list items' own.
func listAround(fields []*schema.Field, names []string) string {
	list := ""
	for n, name := range names {
		at := slices.IndexFunc(fields, func(f *schema.Field) bool { return f.Name == name })
		if at < 0 && n > 0 && len(fields) == 1 && list != "" { // skip the list item's name
			fields = fields[0].Children
			at = slices.IndexFunc(fields, func(f *schema.Field) bool { return f.Name == name })
		}
		if at < 0 {
			return ""
		}
		field := fields[at]
		if id := field.Arrow().Type.ID(); list == "" && n+1 < len(names) && (id == arrow.LIST || id == arrow.LARGE_LIST || id == arrow.FIXED_SIZE_LIST) {
			list = schema.FormatPath(names[:n+1]...)
		}
		fields = field.Children
	}
	return list
}

// fields returns the stored fields of the projection, without row columns.
func (p *Projection) fields() []*schema.Field {
	var fields []*schema.Field
	for _, c := range p.columns {
		if c.field != nil {
			fields = append(fields, c.field)
		}
	}
	return fields
}
