package schemaapi

import (
	"encoding/json"
	"math"

	"tiltyard/shared/protocol"
)

// Operations are the rows of the operations on columns and metadata.
var Operations = []protocol.Operation{
	{
		Name: "AlterTableAddColumns", Methods: protocol.ByPost, Path: "/v1/table/{id}/add_columns", Group: protocol.GroupSchema, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(AddColumnsRequest), Response: new(AddColumnsResponse), Summary: "Add columns",
		LeastBody: `{"new_columns":[{"name":"a","expression":"1"}]}`,
	},
	{
		Name: "AlterTableAlterColumns", Methods: protocol.ByPost, Path: "/v1/table/{id}/alter_columns", Group: protocol.GroupSchema, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(AlterColumnsRequest), Response: new(AlterColumnsResponse), Summary: "Rename columns, or change their types",
		LeastBody: `{"alterations":[{"path":"a","rename":"b"}]}`,
	},
	{
		Name: "AlterTableDropColumns", Methods: protocol.ByPost, Path: "/v1/table/{id}/drop_columns", Group: protocol.GroupSchema, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(DropColumnsRequest), Response: new(DropColumnsResponse), Summary: "Drop columns",
		LeastBody: `{"columns":["a"]}`,
	},
	{
		Name: "AlterTableBackfillColumns", Methods: protocol.ByPost, Path: "/v1/table/{id}/backfill_column", Group: protocol.GroupSchema, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(BackfillColumnsRequest), Response: new(BackfillColumnsResponse), Summary: "Compute the values of a computed column by a job",
		LeastBody: `{"column":"x"}`,
	},
	{
		Name: "UpdateFieldMetadata", Methods: protocol.ByPost, Path: "/v1/table/{id}/update_field_metadata", Group: protocol.GroupSchema, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(UpdateFieldMetadataRequest), Response: new(UpdateFieldMetadataResponse), Summary: "Change the metadata of fields",
		LeastBody: `{"updates":[{"path":"a","metadata":{}}]}`,
	},
	{
		Name: "UpdateTableSchemaMetadata", Methods: protocol.ByPost, Path: "/v1/table/{id}/schema_metadata/update", Group: protocol.GroupSchema, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(UpdateMetadataRequest), Response: new(protocol.Properties), Summary: "Set keys of the metadata of the schema",
		Note: "The answer has all of it.",
	},
}

// AddColumnsRequest asks for new columns: as JSON, or as an Arrow stream that
// is a schema and no rows, whose fields are columns of nulls.
type AddColumnsRequest struct {
	protocol.Common
	protocol.Upload
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
func (r *AddColumnsRequest) IsAutoRefreshed() bool {
	return r.AutoRefresh != nil && *r.AutoRefresh || r.AutoRefresh == nil && r.AutoInterval != nil
}

// validateAutoRefresh checks how the columns are computed without requests.
func (r *AddColumnsRequest) validateAutoRefresh() error {
	if r.AutoRefresh == nil && r.AutoInterval == nil {
		return nil
	}
	if r.NewColumns[0].kind() != "computed" && r.Function == nil {
		return protocol.Errorf(protocol.InvalidInput, "auto_refresh_enabled and auto_refresh_interval_seconds are for columns with computed or of a function; leave them out")
	}
	if r.AutoInterval != nil && (*r.AutoInterval == 0 || *r.AutoInterval > maxAutoInterval) {
		return protocol.Errorf(protocol.InvalidInput, "auto_refresh_interval_seconds is %d; it is from 1 to %d", *r.AutoInterval, uint64(maxAutoInterval))
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

// kind returns the name of the field that defines the column's values, or "" if there is not
// exactly one.
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

// Validate requires a list of columns, each with a name and exactly one definition of its values.
// An empty list makes a version with the same columns, as in native Lance; this also holds for the
// other changes of columns.
func (r *AddColumnsRequest) Validate() error {
	if r.Body != nil {
		return nil
	}
	if r.NewColumns == nil {
		return protocol.Errorf(protocol.InvalidInput, "new_columns is required: columns with a name and an expression")
	}
	for i, c := range r.NewColumns {
		if c.Name == "" {
			return protocol.Errorf(protocol.InvalidInput, "new_columns[%d] has no name", i)
		}
		switch kind := c.kind(); {
		case kind == "":
			return protocol.Errorf(protocol.InvalidInput, "new_columns[%d], %s, needs exactly one of expression, computed and virtual_column", i, protocol.QuoteShort(c.Name))
		case kind != r.NewColumns[0].kind():
			return protocol.Errorf(protocol.InvalidInput, "new_columns are of several kinds: give those with expression, computed and virtual_column in requests of their own")
		case kind == "virtual_column":
			if err := c.VirtualColumn.validate(i); err != nil {
				return err
			}
		case kind == "all_null" && r.Function == nil:
			return protocol.Errorf(protocol.InvalidInput, "new_columns[%d], %s, is all_null without a function that computes it; add columns of nulls by an expression such as CAST(NULL AS int)", i, protocol.QuoteShort(c.Name))
		}
	}
	if err := r.validateAutoRefresh(); err != nil || r.Function == nil {
		return err
	}
	return r.Function.validate(r.NewColumns)
}

// isSet reports whether a field is present and not null.
func isSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// AddColumnsResponse has the version with the columns.
type AddColumnsResponse struct {
	TransactionID string `json:"transaction_id,omitempty"`
	Version       int64  `json:"version"`
}

// AlterColumnsRequest asks to rename columns, to change their types, and whether
// they may be null.
type AlterColumnsRequest struct {
	protocol.Common
	Alterations []Alteration `json:"alterations"`
	Branch      string       `json:"branch"`
}

// An Alteration changes one column, or a member of a struct.
type Alteration struct {
	Path          string            `json:"path"`
	Rename        string            `json:"rename"`
	Nullable      *bool             `json:"nullable"`
	DataType      protocol.TypeName `json:"data_type"`
	VirtualColumn json.RawMessage   `json:"virtual_column"`
}

// Validate requires alterations that alter something. Of several that name one column the last one counts.
func (r *AlterColumnsRequest) Validate() error {
	if r.Alterations == nil {
		return protocol.Errorf(protocol.InvalidInput, "alterations is required: what to change of which column")
	}
	for i, a := range r.Alterations {
		switch {
		case a.Path == "":
			return protocol.Errorf(protocol.InvalidInput, "alterations[%d] has no path", i)
		case isSet(a.VirtualColumn):
			return protocol.Errorf(protocol.Unsupported, "alterations[%d]: altering virtual columns is not supported yet", i)
		case a.Rename == "" && a.Nullable == nil && a.DataType.Type == nil:
			return protocol.Errorf(protocol.InvalidInput, "alterations[%d] changes nothing: give rename, nullable or data_type", i)
		}
	}
	return nil
}

// AlterColumnsResponse has the version with the columns.
type AlterColumnsResponse struct {
	TransactionID string `json:"transaction_id,omitempty"`
	Version       int64  `json:"version"`
}

// DropColumnsRequest asks to remove columns, or members of structs.
type DropColumnsRequest struct {
	protocol.Common
	Columns []string `json:"columns"`
	Branch  string   `json:"branch"`
}

// Validate requires columns.
func (r *DropColumnsRequest) Validate() error {
	if r.Columns == nil {
		return protocol.Errorf(protocol.InvalidInput, "columns is required: name those to drop")
	}
	for i, name := range r.Columns {
		if name == "" {
			return protocol.Errorf(protocol.InvalidInput, "columns[%d] is empty", i)
		}
	}
	return nil
}

// DropColumnsResponse has the version without the columns.
type DropColumnsResponse struct {
	TransactionID string `json:"transaction_id,omitempty"`
	Version       int64  `json:"version"`
}

// UpdateFieldMetadataRequest asks to change the metadata of fields.
type UpdateFieldMetadataRequest struct {
	protocol.Common
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
		return protocol.Errorf(protocol.InvalidInput, "updates is required: fields and their metadata")
	}
	for i, u := range r.Updates {
		if u.Path == "" {
			return protocol.Errorf(protocol.InvalidInput, "updates[%d] has no path", i)
		}
	}
	return nil
}

// UpdateFieldMetadataResponse has the version, and the metadata by path.
type UpdateFieldMetadataResponse struct {
	TransactionID string                         `json:"transaction_id,omitempty"`
	Version       int64                          `json:"version"`
	Fields        map[string]protocol.Properties `json:"fields"`
}

// UpdateMetadataRequest asks to set keys of the schema's metadata. Its body is
// nothing but them.
type UpdateMetadataRequest struct {
	protocol.Common
	Metadata map[string]string `json:"-"`
	Branch   string            `json:"-" query:"branch"`
}

// MarshalJSON writes the body.
func (r UpdateMetadataRequest) MarshalJSON() ([]byte, error) {
	return json.Marshal(protocol.Properties(r.Metadata))
}

// UnmarshalJSON reads the body as metadata: every key is a metadata key, including the names of
// common fields.
func (r *UpdateMetadataRequest) UnmarshalJSON(body []byte) error {
	return json.Unmarshal(body, &r.Metadata)
}

// Validate bounds the metadata as properties are bounded.
func (r *UpdateMetadataRequest) Validate() error { return protocol.CheckProperties(r.Metadata) }
