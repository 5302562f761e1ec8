package protocol

import (
	"encoding/json"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
)

// schemaOperations are the rows of the operations on columns and metadata.
var schemaOperations = []Operation{
	{
		Name: "AlterTableAddColumns", Methods: post, Path: "/v1/table/{id}/add_columns", Group: GroupSchema, Access: Write, Origin: Spec,
		Request: new(AlterTableAddColumnsRequest), Response: new(AlterTableAddColumnsResponse), Summary: "Add columns",
		LeastBody: `{"new_columns":[{"name":"a","expression":"1"}]}`,
	},
	{
		Name: "AlterTableAlterColumns", Methods: post, Path: "/v1/table/{id}/alter_columns", Group: GroupSchema, Access: Write, Origin: Spec,
		Request: new(AlterTableAlterColumnsRequest), Response: new(AlterTableAlterColumnsResponse), Summary: "Rename columns, or change their types",
		LeastBody: `{"alterations":[{"path":"a","rename":"b"}]}`,
	},
	{
		Name: "AlterTableDropColumns", Methods: post, Path: "/v1/table/{id}/drop_columns", Group: GroupSchema, Access: Write, Origin: Spec,
		Request: new(AlterTableDropColumnsRequest), Response: new(AlterTableDropColumnsResponse), Summary: "Drop columns",
		LeastBody: `{"columns":["a"]}`,
	},
	{
		Name: "AlterTableBackfillColumns", Methods: post, Path: "/v1/table/{id}/backfill_column", Group: GroupSchema, Access: Write, Origin: Spec,
		Request: new(AlterTableBackfillColumnsRequest), Response: new(AlterTableBackfillColumnsResponse), Summary: "Compute the values of a computed column by a job",
		LeastBody: `{"column":"x"}`,
	},
	{
		Name: "UpdateFieldMetadata", Methods: post, Path: "/v1/table/{id}/update_field_metadata", Group: GroupSchema, Access: Write, Origin: Spec,
		Request: new(UpdateFieldMetadataRequest), Response: new(UpdateFieldMetadataResponse), Summary: "Change the metadata of fields",
		LeastBody: `{"updates":[{"path":"a","metadata":{}}]}`,
	},
	{
		Name: "UpdateTableSchemaMetadata", Methods: post, Path: "/v1/table/{id}/schema_metadata/update", Group: GroupSchema, Access: Write, Origin: Spec,
		Request: new(UpdateTableSchemaMetadataRequest), Response: new(Properties), Summary: "Set keys of the metadata of the schema",
		Note: "The answer has all of it.",
	},
}

// AlterTableAddColumnsRequest asks for new columns: as JSON, or as an Arrow stream that
// is a schema and no rows, whose fields are columns of nulls.
type AlterTableAddColumnsRequest struct {
	Common
	Upload
	NewColumns []NewColumn `json:"new_columns"`
	// Function computes the columns, all of which are null until it has run.
	Function *FunctionDeclaration `json:"function"`
	// AutoRefresh has jobs compute the columns when their inputs change, AutoInterval seconds after the last
	// time at the earliest. LanceDB clients send them from 0.41 on.
	AutoRefresh  *bool   `json:"auto_refresh_enabled"`
	AutoInterval *uint64 `json:"auto_refresh_interval_seconds"`
	Branch       string  `json:"branch" query:"branch"`
}

// maxAutoInterval is the most that LanceDB's clients send, in seconds.
const maxAutoInterval = math.MaxUint64 / 1000

// IsAutoRefreshed reports whether jobs are to compute the columns without further requests.
func (r *AlterTableAddColumnsRequest) IsAutoRefreshed() bool {
	return r.AutoRefresh != nil && *r.AutoRefresh || r.AutoRefresh == nil && r.AutoInterval != nil
}

// validateAutoRefresh checks how the columns are computed without requests.
func (r *AlterTableAddColumnsRequest) validateAutoRefresh() error {
	if r.AutoRefresh == nil && r.AutoInterval == nil {
		return nil
	}
	if r.NewColumns[0].kind() != "computed" && r.Function == nil {
		return Errorf(InvalidInput, "auto_refresh_enabled and auto_refresh_interval_seconds are for columns with computed or of a function; leave them out")
	}
	if r.AutoInterval != nil && (*r.AutoInterval == 0 || *r.AutoInterval > maxAutoInterval) {
		return Errorf(InvalidInput, "auto_refresh_interval_seconds is %d; it is from 1 to %d", *r.AutoInterval, uint64(maxAutoInterval))
	}
	return nil
}

// A NewColumn is computed once by an SQL expression; or is null in every row, and remembers
// an expression, or a function, that is to compute it.
type NewColumn struct {
	Name          string         `json:"name"`
	Expression    string         `json:"expression"`
	Computed      string         `json:"computed"`
	VirtualColumn *VirtualColumn `json:"virtual_column"`
	AllNull       bool           `json:"all_null"`
}

// kind says how a column comes by its values; empty if that is not said, or not once.
func (c NewColumn) kind() string {
	kind, given := "", 0
	for name, is := range map[string]bool{
		"expression": c.Expression != "", "computed": c.Computed != "",
		"virtual_column": c.VirtualColumn != nil, "all_null": c.AllNull,
	} {
		if is {
			kind = name
			given++
		}
	}
	if given != 1 {
		return ""
	}
	return kind
}

// Validate requires a list of columns, each with a name and one way to come by its values. An empty list
// makes a version with the same columns, as native Lance does; so do those of the other changes of columns.
func (r *AlterTableAddColumnsRequest) Validate() error {
	if r.Body != nil {
		return nil
	}
	if r.NewColumns == nil {
		return Errorf(InvalidInput, "new_columns is required: columns with a name and an expression")
	}
	for i, c := range r.NewColumns {
		if c.Name == "" {
			return Errorf(InvalidInput, "new_columns[%d] has no name", i)
		}
		switch kind := c.kind(); {
		case kind == "":
			return Errorf(InvalidInput, "new_columns[%d], %s, needs exactly one of expression, computed and virtual_column", i, quoteShort(c.Name))
		case kind != r.NewColumns[0].kind():
			return Errorf(InvalidInput, "new_columns are of several kinds: give those with expression, computed and virtual_column in requests of their own")
		case kind == "virtual_column":
			if err := c.VirtualColumn.validate(i); err != nil {
				return err
			}
		case kind == "all_null" && r.Function == nil:
			return Errorf(InvalidInput, "new_columns[%d], %s, is all_null without a function that computes it; add columns of nulls by an expression such as CAST(NULL AS int)", i, quoteShort(c.Name))
		}
	}
	if err := r.validateAutoRefresh(); err != nil || r.Function == nil {
		return err
	}
	return r.Function.validate(r.NewColumns)
}

// isSet reports whether a field holds anything but null.
func isSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// AlterTableAddColumnsResponse has the version with the columns.
type AlterTableAddColumnsResponse struct {
	TransactionID string `json:"transaction_id,omitempty"`
	Version       int64  `json:"version"`
}

// AlterTableAlterColumnsRequest asks to rename columns, to change their types, and whether
// they may be null.
type AlterTableAlterColumnsRequest struct {
	Common
	Alterations []Alteration `json:"alterations"`
	Branch      string       `json:"branch"`
}

// An Alteration changes one column, or a member of a struct.
type Alteration struct {
	Path          string          `json:"path"`
	Rename        string          `json:"rename"`
	Nullable      *bool           `json:"nullable"`
	DataType      TypeName        `json:"data_type"`
	VirtualColumn json.RawMessage `json:"virtual_column"`
}

// Validate requires alterations that alter something. Of several that name one column the last one counts.
func (r *AlterTableAlterColumnsRequest) Validate() error {
	if r.Alterations == nil {
		return Errorf(InvalidInput, "alterations is required: what to change of which column")
	}
	for i, a := range r.Alterations {
		switch {
		case a.Path == "":
			return Errorf(InvalidInput, "alterations[%d] has no path", i)
		case isSet(a.VirtualColumn):
			return Errorf(Unsupported, "alterations[%d]: altering virtual columns is not supported yet", i)
		case a.Rename == "" && a.Nullable == nil && a.DataType.Type == nil:
			return Errorf(InvalidInput, "alterations[%d] changes nothing: give rename, nullable or data_type", i)
		}
	}
	return nil
}

// AlterTableAlterColumnsResponse has the version with the columns.
type AlterTableAlterColumnsResponse struct {
	TransactionID string `json:"transaction_id,omitempty"`
	Version       int64  `json:"version"`
}

// AlterTableDropColumnsRequest asks to remove columns, or members of structs.
type AlterTableDropColumnsRequest struct {
	Common
	Columns []string `json:"columns"`
	Branch  string   `json:"branch"`
}

// Validate requires columns.
func (r *AlterTableDropColumnsRequest) Validate() error {
	if r.Columns == nil {
		return Errorf(InvalidInput, "columns is required: name those to drop")
	}
	for i, name := range r.Columns {
		if name == "" {
			return Errorf(InvalidInput, "columns[%d] is empty", i)
		}
	}
	return nil
}

// AlterTableDropColumnsResponse has the version without the columns.
type AlterTableDropColumnsResponse struct {
	TransactionID string `json:"transaction_id,omitempty"`
	Version       int64  `json:"version"`
}

// UpdateFieldMetadataRequest asks to change the metadata of fields.
type UpdateFieldMetadataRequest struct {
	Common
	Updates []FieldMetadataUpdate `json:"updates"`
	Branch  string                `json:"branch"`
}

// A FieldMetadataUpdate sets keys of a field, deletes those whose value is null, and if
// Replace is set all others too.
type FieldMetadataUpdate struct {
	Path     string             `json:"path"`
	Metadata map[string]*string `json:"metadata"`
	Replace  bool               `json:"replace"`
}

// Validate requires updates of named fields.
func (r *UpdateFieldMetadataRequest) Validate() error {
	if len(r.Updates) == 0 {
		return Errorf(InvalidInput, "updates is required: fields and their metadata")
	}
	for i, u := range r.Updates {
		if u.Path == "" {
			return Errorf(InvalidInput, "updates[%d] has no path", i)
		}
	}
	return nil
}

// UpdateFieldMetadataResponse has the version, and the metadata by path.
type UpdateFieldMetadataResponse struct {
	TransactionID string                `json:"transaction_id,omitempty"`
	Version       int64                 `json:"version"`
	Fields        map[string]Properties `json:"fields"`
}

// UpdateTableSchemaMetadataRequest asks to set keys of the schema's metadata. Its body is
// nothing but them.
type UpdateTableSchemaMetadataRequest struct {
	Common
	Metadata map[string]string `json:"-"`
	Branch   string            `json:"-" query:"branch"`
}

// MarshalJSON writes the body.
func (r UpdateTableSchemaMetadataRequest) MarshalJSON() ([]byte, error) {
	return json.Marshal(Properties(r.Metadata))
}

// UnmarshalJSON reads the body: every key is one of the metadata, whatever its name.
func (r *UpdateTableSchemaMetadataRequest) UnmarshalJSON(body []byte) error {
	return json.Unmarshal(body, &r.Metadata)
}

// Validate bounds the metadata as properties are bounded.
func (r *UpdateTableSchemaMetadataRequest) Validate() error { return CheckProperties(r.Metadata) }

// A TypeName is a data type as clients write it: a JSON object or a string, in either
// vocabulary. Type is nil when there is none.
type TypeName struct{ Type arrow.DataType }

// MarshalJSON writes the word of the public specification, or that of LanceDB clients where the
// former leaves a unit or a time zone out.
func (n TypeName) MarshalJSON() ([]byte, error) {
	if n.Type == nil {
		return []byte("null"), nil
	}
	for _, dialect := range []Dialect{DialectNamespace, DialectLanceDB} {
		written, err := encodeType(dialect, "", n.Type, 0)
		if err != nil {
			continue
		}
		if read, err := decodeType(written, 0); err == nil && arrow.TypeEqual(read, n.Type) {
			return json.Marshal(written)
		}
	}
	return nil, Errorf(Unsupported, "data type %s has no JSON form", n.Type)
}

// UnmarshalJSON reads the type.
func (n *TypeName) UnmarshalJSON(body []byte) error {
	if string(body) == "null" {
		return nil
	}
	var written JSONType
	if len(body) > 0 && body[0] == '"' {
		if err := json.Unmarshal(body, &written.Type); err != nil {
			return err
		}
	} else if err := json.Unmarshal(body, &written); err != nil {
		return err
	}
	var err error
	n.Type, err = decodeType(written, 0)
	return err
}
