package schemaapi

import "tiltyard/shared/protocol"

// A VirtualColumn is columns that a function of the user's computes from others, some day and
// elsewhere: they are added as columns of nulls that remember how.
type VirtualColumn struct {
	InputColumns     []string              `json:"input_columns"`
	Outputs          []VirtualColumnOutput `json:"outputs"`
	Image            string                `json:"image"`
	UDF              string                `json:"udf"`
	UDFName          string                `json:"udf_name"`
	UDFVersion       string                `json:"udf_version"`
	UDFBackend       string                `json:"udf_backend"`
	AutoBackfill     bool                  `json:"auto_backfill"`
	Manifest         string                `json:"manifest"`
	ManifestChecksum string                `json:"manifest_checksum"`
	FieldMetadata    map[string]string     `json:"field_metadata"`
}

// A VirtualColumnOutput is one of the columns that the function computes, a member of the
// struct that it returns.
type VirtualColumnOutput struct {
	Column      string            `json:"column"`
	StructField string            `json:"struct_field"`
	DataType    protocol.TypeName `json:"data_type"`
	Nullable    *bool             `json:"nullable"`
	Metadata    map[string]string `json:"metadata"`
}

// validate requires a function and columns that can be null until it has run.
func (v *VirtualColumn) validate(at int) error {
	switch {
	case v.UDF == "" || v.UDFName == "":
		return protocol.Errorf(protocol.InvalidInput, "new_columns[%d].virtual_column needs udf and udf_name", at)
	case len(v.Outputs) == 0:
		return protocol.Errorf(protocol.InvalidInput, "new_columns[%d].virtual_column has no outputs", at)
	}
	for i, out := range v.Outputs {
		switch {
		case out.Column == "":
			return protocol.Errorf(protocol.InvalidInput, "new_columns[%d].virtual_column.outputs[%d] has no column", at, i)
		case out.DataType.Type == nil:
			return protocol.Errorf(protocol.InvalidInput, "new_columns[%d].virtual_column.outputs[%d] has no data_type", at, i)
		case out.Nullable != nil && !*out.Nullable:
			return protocol.Errorf(protocol.InvalidInput, "new_columns[%d].virtual_column.outputs[%d] must be nullable: it has no values yet", at, i)
		}
	}
	return nil
}
