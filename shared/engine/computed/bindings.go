package computed

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/engine/internal/staleness"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/functionapi"
	"tiltyard/shared/protocol/schemaapi"
)

// The use of a function by columns is a binding. All bindings of a table are in the metadata of its schema
// (schemaapi.FunctionBindingsKey). The metadata of each column names its binding and its position among the outputs. One
// call of the function computes all columns of a binding, which are written together and dropped together. If all parts of
// a result may be null, an additional column of assignments marks the rows that have a result.

// assignmentOrdinal is the position in the metadata of the column of assignments.
const assignmentOrdinal = math.MaxUint32

// A Use is a declaration of columns that a function computes.
type Use struct {
	Binding   schemaapi.FunctionBinding // its field ids are not set
	Signature functionapi.Signature
	Schedule  Schedule
}

// bindingOf returns the binding of a column. The error is InvalidTableState if the metadata of the
// table lacks it.
func bindingOf(s *schema.Schema, f *schema.Field) (*schemaapi.FunctionBinding, error) {
	all, err := schemaapi.DecodeFunctionBindings(s.Metadata)
	if err != nil {
		return nil, err
	}
	for i := range all {
		b := &all[i]
		if b.ID != f.Metadata[bindingKey] || len(b.Outputs) == 0 {
			continue
		}
		// Any writer of the table may have changed the metadata, so the column must match the binding.
		ordinal, err := strconv.ParseUint(f.Metadata[ordinalKey], 10, 32)
		switch {
		case err == nil && ordinal == assignmentOrdinal && b.Assignment != nil && b.Assignment.OutputName == f.Name,
			err == nil && ordinal < uint64(len(b.Outputs)) && b.Outputs[ordinal].OutputName == f.Name:
			return b, nil
		}
	}
	return nil, &protocol.Error{
		Code: protocol.InvalidTableState, Damaged: true, Message: fmt.Sprintf("column %q is computed by a function that the metadata of the table does not have", f.Name),
		Detail: "drop the column and declare it again",
	}
}

// FunctionColumns returns the new columns of a use, and a function that returns the metadata of the
// schema with the binding, once the columns have ids.
func FunctionColumns(d *dataset.Dataset, use Use) (*arrow.Schema, func(added *schema.Schema) (map[string]string, error), error) {
	b := use.Binding
	b.Inputs, b.Outputs = slices.Clone(b.Inputs), slices.Clone(b.Outputs)
	if err := checkInputs(d, &b, use.Signature.Inputs); err != nil {
		return nil, nil, err
	}
	fields, err := outputFields(&b, use.Signature)
	if err != nil {
		return nil, nil, err
	}
	inputs := make([]string, len(b.Inputs))
	for i, in := range b.Inputs {
		inputs[i] = in.FieldPath
	}
	names, err := json.Marshal(inputs)
	if err != nil {
		return nil, nil, err
	}
	for i := range fields {
		ordinal := uint64(i)
		if i == len(b.Outputs) {
			ordinal = assignmentOrdinal
		}
		metadata := map[string]string{
			markKey: "true", kindKey: kindFunction, bindingKey: b.ID, ordinalKey: strconv.FormatUint(ordinal, 10), inputsKey: string(names),
			staleness.SignatureKey: "{}",
		}
		// The column of assignments is filled together with the outputs, and needs no schedule.
		if ordinal != assignmentOrdinal {
			use.Schedule.apply(metadata)
		}
		fields[i].Metadata = arrow.MetadataFrom(metadata)
	}
	return arrow.NewSchema(fields, nil), func(added *schema.Schema) (map[string]string, error) { return withBinding(d, b, added) }, nil
}

// withBinding returns the metadata of the schema including a binding. added is the schema with the
// columns.
func withBinding(d *dataset.Dataset, b schemaapi.FunctionBinding, added *schema.Schema) (map[string]string, error) {
	for i := range b.Outputs {
		b.Outputs[i].FieldID = added.Field(b.Outputs[i].OutputName).ID
	}
	if b.Assignment != nil {
		b.Assignment = &schemaapi.AssignmentMapping{OutputName: b.Assignment.OutputName, FieldID: added.Field(b.Assignment.OutputName).ID}
	}
	all, err := schemaapi.DecodeFunctionBindings(d.Schema().Metadata)
	if err != nil {
		return nil, err
	}
	text, err := schemaapi.EncodeFunctionBindings(append(all, b))
	if err != nil {
		return nil, err
	}
	metadata := map[string]string{schemaapi.FunctionBindingsKey: text}
	for key, value := range d.Schema().Metadata {
		if key != schemaapi.FunctionBindingsKey {
			metadata[key] = value
		}
	}
	return metadata, nil
}

// checkInputs checks that the input columns have the types of the parameters, and sets their field
// ids.
func checkInputs(d *dataset.Dataset, b *schemaapi.FunctionBinding, params []functionapi.Field) error {
	if len(b.Inputs) != len(params) {
		return protocol.Errorf(protocol.InvalidInput, "function %s has %d parameters; %d columns are given", nameOf(b), len(params), len(b.Inputs))
	}
	given := make([]arrow.Field, len(params)) // the input columns, as arguments
	for i, param := range params {
		in := &b.Inputs[i]
		if in.Parameter != param.Name {
			return protocol.Errorf(protocol.InvalidInput, "parameter %d of function %s is %q; %q is given", i+1, nameOf(b), param.Name, in.Parameter)
		}
		chain, err := d.Schema().Resolve(in.FieldPath)
		if err != nil {
			return apierror.NoColumn(d.NoColumn(in.FieldPath))
		}
		declared, err := param.Field()
		if err != nil {
			return err
		}
		leaf, nullable := chain[len(chain)-1], false
		for _, f := range chain {
			nullable = nullable || f.Nullable
		}
		switch {
		case Of(chain[0]) != nil:
			return protocol.Errorf(protocol.InvalidInput, "column %q is computed; functions read columns that are not", in.FieldPath)
		case param.IsBlob() != leaf.IsBlob():
			return protocol.Errorf(protocol.InvalidInput, "parameter %q of function %s is of type %s, and column %q of type %s; only parameters of type blob_v2 get blobs", param.Name, nameOf(b), param.ArrowType, in.FieldPath, protocol.TypeText(leaf.Arrow().Type))
		case !leaf.IsBlob() && chain[0].HoldsBlobs():
			return protocol.Errorf(protocol.Unsupported, "parameter %q of function %s gets what lies beside blobs in column %q, which is not supported", param.Name, nameOf(b), in.FieldPath)
		case !leaf.IsBlob() && !protocol.SameFunctionType(declared.Type, leaf.Arrow().Type):
			return protocol.Errorf(protocol.InvalidInput, "parameter %q of function %s is of type %s, and column %q of type %s", param.Name, nameOf(b), param.ArrowType, in.FieldPath, protocol.TypeText(leaf.Arrow().Type))
		case nullable && !param.Nullable:
			return protocol.Errorf(protocol.InvalidInput, "parameter %q of function %s must not be null, and column %q may be", param.Name, nameOf(b), in.FieldPath)
		case in.Nullable != leaf.Nullable:
			return protocol.Errorf(protocol.InvalidInput, "function.input_bindings[%d].nullable is %v; column %q says %v", i, in.Nullable, in.FieldPath, leaf.Nullable)
		}
		typ := leaf.Arrow().Type
		if leaf.IsBlob() {
			typ = protocol.BlobType
		}
		if err := in.CheckInputType(typ); err != nil {
			return err
		}
		in.FieldID = leaf.ID
		given[i] = arrow.Field{Name: in.Parameter, Type: typ, Nullable: leaf.Nullable}
	}
	return schemaapi.CheckFunctionSchema("input_schema", b.InputSchema, given)
}

// outputFields returns the columns of a binding by the signature of the function, and completes the
// outputs. The column of assignments is last.
func outputFields(b *schemaapi.FunctionBinding, s functionapi.Signature) ([]arrow.Field, error) {
	results := s.Results()
	if len(b.Outputs) == 1 && b.Outputs[0].ResultField == schemaapi.WholeResult {
		whole, err := wholeResult(s)
		if err != nil {
			return nil, err
		}
		results = []functionapi.Field{whole}
	}
	if len(b.Outputs) != len(results) {
		return nil, protocol.Errorf(protocol.InvalidInput, "function %s has %d outputs; %d columns are given", nameOf(b), len(results), len(b.Outputs))
	}
	fields := make([]arrow.Field, len(results), len(results)+1)
	assigned := true // all outputs may be null
	for i, result := range results {
		out := &b.Outputs[i]
		if out.ResultField != result.Name {
			return nil, protocol.Errorf(protocol.InvalidInput, "output %d of function %s is %q; %q is given", i+1, nameOf(b), result.Name, out.ResultField)
		}
		if result.IsBlob() {
			return nil, protocol.Errorf(protocol.Unsupported, "function %s returns blobs, which cannot be computed here", nameOf(b))
		}
		field, err := result.Field()
		if err != nil {
			return nil, err
		}
		field.Name, field.Nullable = out.OutputName, true
		out.ArrowType, out.Nullable = result.ArrowType, result.Nullable
		fields[i], assigned = field, assigned && result.Nullable
	}
	if err := schemaapi.CheckFunctionSchema("output_schema", b.OutputSchema, fields); err != nil {
		return nil, err
	}
	if !assigned {
		return fields, nil
	}
	b.Assignment = &schemaapi.AssignmentMapping{OutputName: "__" + b.ID + "_assigned"}
	var err error
	b.OutputSchema, err = withAssignment(b.OutputSchema, b.Assignment.OutputName)
	return append(fields, arrow.Field{Name: b.Assignment.OutputName, Type: arrow.FixedWidthTypes.Boolean, Nullable: true}), err
}

// wholeResult returns the result of a function as one field, a struct if there are several outputs.
func wholeResult(s functionapi.Signature) (functionapi.Field, error) {
	whole := functionapi.Field{Name: schemaapi.WholeResult, ArrowType: s.Output.ArrowType}
	if s.Output.Kind == functionapi.ScalarOutput {
		return whole, nil
	}
	var members []arrow.Field
	for _, f := range s.Output.Fields {
		member, err := f.Field()
		if err != nil {
			return whole, err
		}
		members = append(members, member)
	}
	var err error
	whole.ArrowType, err = protocol.FunctionTypeText(arrow.StructOf(members...))
	return whole, err
}

// withAssignment adds the column of assignments to a schema in JSON.
func withAssignment(schema json.RawMessage, name string) (json.RawMessage, error) {
	var parts map[string]json.RawMessage
	var fields []json.RawMessage
	if err := json.Unmarshal(schema, &parts); err != nil {
		return nil, protocol.Errorf(protocol.InvalidInput, "function.output_schema: %w", err)
	}
	if err := json.Unmarshal(parts["fields"], &fields); err != nil {
		return nil, protocol.Errorf(protocol.InvalidInput, "function.output_schema.fields: %w", err)
	}
	added, err := json.Marshal(protocol.JSONField{Name: name, Type: protocol.JSONType{Type: "bool"}, Nullable: true})
	if err != nil {
		return nil, err
	}
	if parts["fields"], err = json.Marshal(append(fields, added)); err != nil {
		return nil, err
	}
	return json.Marshal(parts)
}

// CheckBound returns an error if a path is in a column that a function reads or computes. It guards
// changes of nullability; [CheckInputs] guards changes of names and types.
func CheckBound(s *schema.Schema, paths []string) error {
	for _, f := range s.Fields {
		d := Of(f)
		if d == nil || d.Kind != kindFunction {
			continue
		}
		for _, path := range paths {
			column := root(s, path)
			if column == f.Name || slices.ContainsFunc(d.Inputs, func(input string) bool { return root(s, input) == column }) {
				return protocol.Errorf(protocol.InvalidInput, "column %q is read or computed by the function of column %q; drop that column first", path, f.Name)
			}
		}
	}
	return nil
}

// An Unbinding is the effect of dropping columns on the bindings of a table.
type Unbinding struct {
	Bindings *string  // the remaining ones; nil: none
	Columns  []string // columns that lose their declarations
	Added    []string // columns of assignments to drop as well
}

// Unbind returns the change of bindings before columns are dropped, or nil if no function computes
// any of them. The error is InvalidInput if only some columns of a binding are dropped.
func Unbind(s *schema.Schema, dropped []string) (*Unbinding, error) {
	all, err := schemaapi.DecodeFunctionBindings(s.Metadata)
	if err != nil {
		return nil, err
	}
	u := &Unbinding{}
	var kept []schemaapi.FunctionBinding
	for _, b := range all {
		var named, missing []string
		for _, out := range b.Outputs {
			if slices.Contains(dropped, out.OutputName) {
				named = append(named, out.OutputName)
			} else {
				missing = append(missing, out.OutputName)
			}
		}
		assigned := b.Assignment != nil && slices.Contains(dropped, b.Assignment.OutputName)
		switch {
		case len(named) == 0 && !assigned:
			kept = append(kept, b)
			continue
		case len(missing) > 0:
			return nil, protocol.Errorf(protocol.InvalidInput, "the columns of a function are dropped together; name %q, too", missing)
		}
		u.Columns = append(u.Columns, named...)
		if b.Assignment != nil {
			u.Columns = append(u.Columns, b.Assignment.OutputName)
			if !assigned {
				u.Added = append(u.Added, b.Assignment.OutputName)
			}
		}
	}
	if len(u.Columns) == 0 {
		return nil, nil
	}
	if len(kept) > 0 {
		text, err := schemaapi.EncodeFunctionBindings(kept)
		if err != nil {
			return nil, err
		}
		u.Bindings = &text
	}
	return u, nil
}

// DeclarationKeys returns the metadata keys that form the declaration of a field.
func DeclarationKeys(f *schema.Field) []string {
	var keys []string
	for key := range f.Metadata {
		if isDeclarationKey(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
