package schema

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/catalog/functions"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/engine"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/evolution"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/functionapi"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/work/udfcall"
)

// addFunction returns the function that adds the output columns of a registered function to a
// table.
func (s *Service) addFunction(ctx context.Context, req *schemaapi.AddColumnsRequest) (func(*engine.Table) (engine.Written, error), error) {
	d := req.Function
	ref := d.Application.Function
	found, err := s.useFunction(ctx, ref)
	if err != nil {
		return nil, err
	}
	signature := found.Fit(ref, d.Inputs)
	// The client planned with this output, and the function may have changed since.
	if !reflect.DeepEqual(d.Application.Output, signature.Output) {
		return nil, protocol.Errorf(protocol.InvalidInput, "function.application.output is not what function %s returns; open the function again", strings.Join(ref.ID(), protocol.DefaultDelimiter))
	}
	use := computed.Use{Signature: signature, Schedule: scheduleOf(req), Binding: schemaapi.FunctionBinding{
		ID: "fb_" + objects.NewUID(), Function: ref, Inputs: d.Inputs, Outputs: d.Outputs, InputSchema: d.InputSchema, OutputSchema: d.OutputSchema,
	}}
	if use.Binding.Initialization, err = initialize(signature.Initialization, d.Application.Initialization); err != nil {
		return nil, err
	}
	if err := found.CheckUse(ctx, &use.Binding); err != nil {
		return nil, err
	}
	// Record the permission first: the columns must not exist without it.
	if err := s.allowUse(ctx, req, &use.Binding); err != nil {
		return nil, err
	}
	return func(t *engine.Table) (engine.Written, error) { return evolution.AddFunctionColumns(ctx, t, use) }, nil
}

// useFunction returns a function after checking that a runtime can run it and that the caller may use it with its secrets.
func (s *Service) useFunction(ctx context.Context, ref schemaapi.FunctionReference) (*udfcall.Found, error) {
	found, err := udfcall.Find(ctx, s.tables.Names, ref)
	if functions.IsNotFound(err) { // clients would understand a 404 as a missing table
		return nil, protocol.Errorf(protocol.InvalidInput, "%w; create it, or drop the columns that it computes", err)
	}
	if err != nil {
		return nil, err
	}
	if s.tables.Runs != nil {
		if err := s.tables.Runs(found.Definition.Runtime); err != nil {
			return nil, err
		}
	}
	for _, b := range found.Definition.SecretBindings {
		if err := s.checkSecret(ctx, b); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// checkSecret checks that a secret exists and that the caller may use it.
func (s *Service) checkSecret(ctx context.Context, b functionapi.SecretBinding) error {
	id := b.Secret.ID()
	if _, err := s.tables.Names.Secrets.Get(ctx, id); err != nil {
		if protocol.HasCode(err, protocol.TableNotFound) {
			return protocol.Errorf(protocol.InvalidInput, "the function needs the secret %s for the variable %s, and it does not exist; create it", strings.Join(id, protocol.DefaultDelimiter), b.Variable)
		}
		return err
	}
	return auth.CheckSecret(ctx, id)
}

// initialize encodes the constants of a use in base64, as an Arrow stream of one row. It returns ""
// if the function declares none.
func initialize(declared []functionapi.Field, values map[string]json.RawMessage) (string, error) {
	row := map[string]json.RawMessage{}
	fields := make([]arrow.Field, len(declared))
	for i, f := range declared {
		field, err := f.Field()
		if err != nil {
			return "", err
		}
		value, given := values[f.Name]
		null := !given || string(value) == "null"
		if null && !f.Nullable {
			return "", protocol.Errorf(protocol.InvalidInput, "function.application.initialization has no value for %q", f.Name)
		}
		if !null {
			if err := checkConstant(field.Type, value); err != nil {
				return "", protocol.Errorf(protocol.InvalidInput, "function.application.initialization, %q: %w", f.Name, err)
			}
			row[f.Name] = value
		}
		fields[i] = field
	}
	for name := range values {
		if !containsField(declared, name) {
			return "", protocol.Errorf(protocol.InvalidInput, "function.application.initialization has %.80q, which the function does not take", name)
		}
	}
	if len(fields) == 0 {
		return "", nil
	}
	return encodeRow(arrow.NewSchema(fields, nil), row)
}

func containsField(fields []functionapi.Field, name string) bool {
	for _, f := range fields {
		if f.Name == name {
			return true
		}
	}
	return false
}

// checkConstant checks a JSON value against the type of a constant: a boolean, number or text, or a
// list or struct of them.
func checkConstant(typ arrow.DataType, value json.RawMessage) error {
	bad := func() error {
		return protocol.Errorf(protocol.InvalidInput, "%.80s is not a value of type %s", value, protocol.TypeText(typ))
	}
	switch typ := typ.(type) {
	case *arrow.BooleanType, *arrow.StringType, *arrow.LargeStringType, *arrow.Float32Type, *arrow.Float64Type,
		*arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type, *arrow.Uint8Type, *arrow.Uint16Type, *arrow.Uint32Type, *arrow.Uint64Type:
		into := reflect.New(goTypes[typ.ID()])
		if json.Unmarshal(value, into.Interface()) != nil {
			return bad()
		}
		return nil
	case *arrow.ListType, *arrow.LargeListType:
		var items []json.RawMessage
		if json.Unmarshal(value, &items) != nil || items == nil {
			return bad()
		}
		child := typ.(arrow.ListLikeType).ElemField() //nolint:forcetypeassert // of these types
		for _, item := range items {
			if err := checkMember(child, item); err != nil {
				return err
			}
		}
		return nil
	case *arrow.StructType:
		var members map[string]json.RawMessage
		if json.Unmarshal(value, &members) != nil || members == nil {
			return bad()
		}
		for _, f := range typ.Fields() {
			if err := checkMember(f, members[f.Name]); err != nil {
				return err
			}
			delete(members, f.Name)
		}
		if len(members) > 0 {
			return bad()
		}
		return nil
	}
	return protocol.Errorf(protocol.Unsupported, "constants of type %s are not supported", protocol.TypeText(typ))
}

// checkMember checks an element or a member, which may be null if the field is nullable.
func checkMember(f arrow.Field, value json.RawMessage) error {
	if len(value) > 0 && string(value) != "null" {
		return checkConstant(f.Type, value)
	}
	if !f.Nullable {
		return protocol.Errorf(protocol.InvalidInput, "%q must not be null", f.Name)
	}
	return nil
}

// goTypes maps the types of constants to Go types that decode them.
var goTypes = map[arrow.Type]reflect.Type{
	arrow.BOOL: reflect.TypeFor[bool](), arrow.STRING: reflect.TypeFor[string](), arrow.LARGE_STRING: reflect.TypeFor[string](),
	arrow.FLOAT32: reflect.TypeFor[float32](), arrow.FLOAT64: reflect.TypeFor[float64](),
	arrow.INT8: reflect.TypeFor[int8](), arrow.INT16: reflect.TypeFor[int16](), arrow.INT32: reflect.TypeFor[int32](), arrow.INT64: reflect.TypeFor[int64](),
	arrow.UINT8: reflect.TypeFor[uint8](), arrow.UINT16: reflect.TypeFor[uint16](), arrow.UINT32: reflect.TypeFor[uint32](), arrow.UINT64: reflect.TypeFor[uint64](),
}

// encodeRow encodes checked values in base64, as an Arrow stream with one row.
func encodeRow(s *arrow.Schema, row map[string]json.RawMessage) (string, error) {
	text, err := json.Marshal(row)
	if err != nil {
		return "", err
	}
	if len(text) > functionapi.MaxDefinition {
		return "", protocol.Errorf(protocol.InvalidInput, "function.application.initialization has %d bytes; at most %d are possible", len(text), functionapi.MaxDefinition)
	}
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, bytes.NewReader(append(append([]byte("["), text...), ']')))
	if err != nil {
		return "", protocol.Errorf(protocol.InvalidInput, "function.application.initialization: %w", err)
	}
	defer batch.Release()
	var stream bytes.Buffer
	w := ipc.NewWriter(&stream, ipc.WithSchema(s))
	if err := w.Write(batch); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(stream.Bytes()), nil
}
