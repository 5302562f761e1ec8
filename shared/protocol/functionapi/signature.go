package functionapi

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/protocol"
)

// Field returns the field as Arrow has it. The error is InvalidInput.
func (f Field) Field() (arrow.Field, error) {
	field := arrow.Field{Name: f.Name, Nullable: f.Nullable}
	if f.ArrowType == protocol.BlobWord {
		field.Type = protocol.BlobType
		field.Metadata = arrow.MetadataFrom(map[string]string{"ARROW:extension:name": "lance.blob.v2"})
		return field, nil
	}
	var err error
	field.Type, err = protocol.ParseFunctionType(f.ArrowType)
	return field, err
}

// IsBlob reports whether the field contains blobs.
func (f Field) IsBlob() bool { return f.ArrowType == protocol.BlobWord }

// validate checks the fields of a signature.
func (s *Signature) validate() error {
	if err := checkFields("signature.inputs", s.Inputs); err != nil {
		return err
	}
	if err := checkFields("signature.initialization", s.Initialization); err != nil {
		return err
	}
	for _, f := range s.Initialization {
		for _, in := range s.Inputs {
			if f.Name == in.Name {
				return protocol.Errorf(protocol.InvalidInput, "signature.inputs and signature.initialization both have %s", protocol.QuoteShort(f.Name))
			}
		}
	}
	switch out := s.Output; out.Kind {
	case ScalarOutput:
		if len(out.Fields) > 0 || out.Nullable == nil || *out.Nullable {
			return protocol.Errorf(protocol.InvalidInput, "signature.output of kind scalar has no fields and nullable false: a row without a value is one that is not computed")
		}
		return checkFields("signature.output", []Field{{Name: "output", ArrowType: out.ArrowType}})
	case NamedStructOutput:
		if out.ArrowType != "" || len(out.Fields) == 0 {
			return protocol.Errorf(protocol.InvalidInput, "signature.output of kind named_struct has fields, and no arrow_type")
		}
		return checkFields("signature.output.fields", out.Fields)
	default:
		return protocol.Errorf(protocol.InvalidInput, "signature.output.kind is %s; scalar and named_struct are possible", protocol.QuoteShort(out.Kind))
	}
}

// checkFields checks the names and types of parameters or results. where is their place in the
// request.
func checkFields(where string, fields []Field) error {
	if len(fields) > MaxFields {
		return protocol.Errorf(protocol.InvalidInput, "%s has %d entries; at most %d are possible", where, len(fields), MaxFields)
	}
	seen := map[string]bool{}
	for _, f := range fields {
		if f.Name == "" || len(f.Name) > MaxNameBytes || seen[f.Name] {
			return protocol.Errorf(protocol.InvalidInput, "%s has the name %s, which is empty, too long or given twice", where, protocol.QuoteShort(f.Name))
		}
		seen[f.Name] = true
		if _, err := f.Field(); err != nil {
			return protocol.Errorf(protocol.InvalidInput, "%s, %s: %w", where, protocol.QuoteShort(f.Name), err)
		}
	}
	return nil
}

// Results returns the columns that the function computes: one, or the fields of a struct.
func (s *Signature) Results() []Field {
	if s.Output.Kind == ScalarOutput {
		return []Field{{Name: "output", ArrowType: s.Output.ArrowType}}
	}
	return s.Output.Fields
}
