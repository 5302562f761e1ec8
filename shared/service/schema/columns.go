package schema

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/engine"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/evolution"
	"tiltyard/shared/lance/dataset/alter"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/backfill"
)

// Add adds columns. SQL expressions compute their values once or in jobs, functions compute them in
// jobs, or they are null in every row.
func (s *Service) Add(ctx context.Context, req *schemaapi.AddColumnsRequest) (*schemaapi.AddColumnsResponse, error) {
	add, err := s.adding(ctx, req)
	if err != nil {
		return nil, err
	}
	done, err := s.tables.Open(req.ID, req.Branch).Commit(ctx, func(t tables.Table) (engine.Written, error) { return add(t.Table) })
	if err != nil {
		return nil, err
	}
	return &schemaapi.AddColumnsResponse{TransactionID: done.TransactionID, Version: done.Version}, nil
}

// adding returns the function that adds the columns of a request to a table.
func (s *Service) adding(ctx context.Context, req *schemaapi.AddColumnsRequest) (func(*engine.Table) (engine.Written, error), error) {
	// A body in Arrow format contains only a schema: of columns of nulls.
	if req.Body != nil {
		reader, err := arrowipc.NewReader(ctx, req.Body, s.limits)
		if err != nil {
			return nil, protocol.Errorf(protocol.InvalidInput, "the body is not an Arrow stream with a schema: %w", err)
		}
		return addNulls(ctx, reader.Schema()), nil
	}
	if len(req.NewColumns) == 0 {
		return addNulls(ctx, arrow.NewSchema(nil, nil)), nil
	}
	// All columns of a request are of one kind, which decoding has checked.
	switch first := req.NewColumns[0]; {
	case first.VirtualColumn != nil:
		return addVirtual(ctx, req.NewColumns)
	case first.AllNull:
		return s.addFunction(ctx, req)
	}
	if first := req.NewColumns[0]; first.Computed != "" {
		return s.addComputed(ctx, req)
	}
	columns := make([]engine.Assignment, len(req.NewColumns))
	for i, c := range req.NewColumns {
		columns[i] = engine.Assignment{Column: c.Name, SQL: c.Expression}
	}
	return func(t *engine.Table) (engine.Written, error) { return evolution.AddColumns(ctx, t, columns) }, nil
}

// addComputed adds columns whose values jobs compute from expressions.
func (s *Service) addComputed(ctx context.Context, req *schemaapi.AddColumnsRequest) (func(*engine.Table) (engine.Written, error), error) {
	columns := make([]engine.Assignment, len(req.NewColumns))
	for i, c := range req.NewColumns {
		columns[i] = engine.Assignment{Column: c.Name, SQL: c.Computed}
	}
	if err := s.allowFill(ctx, req, nil); err != nil {
		return nil, err
	}
	return func(t *engine.Table) (engine.Written, error) {
		return evolution.AddComputedColumns(ctx, t, columns, scheduleOf(req))
	}, nil
}

// scheduleOf returns the schedule of automatic backfills of the new columns.
func scheduleOf(req *schemaapi.AddColumnsRequest) computed.Schedule {
	schedule := computed.Schedule{Given: req.AutoRefresh != nil || req.AutoInterval != nil, Enabled: req.IsAutoRefreshed()}
	if req.AutoInterval != nil {
		schedule.Interval = *req.AutoInterval
	}
	return schedule
}

// allowFill permits jobs to fill the new columns automatically. use is their function, or nil for
// expressions. It runs before the columns exist: after a crash, the unused permission does no harm.
func (s *Service) allowFill(ctx context.Context, req *schemaapi.AddColumnsRequest, use *schemaapi.FunctionBinding) error {
	if !req.IsAutoRefreshed() {
		return nil
	}
	what, err := backfill.Allowance(use)
	if err != nil {
		return err
	}
	found, err := s.tables.Names.Table(ctx, req.ID)
	if err != nil {
		return err
	}
	return s.tables.Names.AllowFill(ctx, found, what)
}

// allowUse records the sender as the principal for whom the new columns call their function. Like
// allowFill, it runs before the columns exist.
func (s *Service) allowUse(ctx context.Context, req *schemaapi.AddColumnsRequest, use *schemaapi.FunctionBinding) error {
	what, err := backfill.Allowance(use)
	if err != nil {
		return err
	}
	found, err := s.tables.Names.Table(ctx, req.ID)
	if err != nil {
		return err
	}
	if err := s.tables.Names.AllowUse(ctx, found, what, auth.FromContext(ctx)); err != nil {
		return err
	}
	return s.allowFill(ctx, req, use)
}

// addVirtual adds the outputs of functions as columns of nulls. The metadata of each field contains
// the function from the request, so that a backfill, or a client that runs it itself, can fill the
// rows.
func addVirtual(ctx context.Context, columns []schemaapi.NewColumn) (func(*engine.Table) (engine.Written, error), error) {
	var fields []arrow.Field
	var inputs []string
	envelopes := map[string]string{}
	for _, c := range columns {
		v := *c.VirtualColumn
		inputs = append(inputs, v.InputColumns...)
		// Large functions are stored once, in a file named by their hash.
		if len(v.UDF) > maxInline {
			sum := sha256.Sum256([]byte(v.UDF))
			key := computed.EnvelopeFolder + hex.EncodeToString(sum[:])
			envelopes[key], v.UDF = v.UDF, key
		}
		for _, out := range v.Outputs {
			metadata, err := virtualMetadata(&v, out)
			if err != nil {
				return nil, err
			}
			fields = append(fields, arrow.Field{Name: out.Column, Type: out.DataType.Type, Nullable: true, Metadata: metadata})
		}
	}
	added := arrow.NewSchema(fields, nil)
	if err := computed.CheckUndeclared(added); err != nil {
		return nil, err
	}
	return func(t *engine.Table) (engine.Written, error) {
		return evolution.AddVirtualColumns(ctx, t, added, inputs, envelopes)
	}, nil
}

// maxInline bounds the bytes of a function in the metadata of the schema, which is read whenever
// the table is opened. Larger functions are stored in files.
const maxInline = 64 << 10

// virtualMetadata returns the metadata of an output's field. The client's own keys are copied
// first, so that they cannot replace the keys of the function.
func virtualMetadata(v *schemaapi.VirtualColumn, out schemaapi.VirtualColumnOutput) (arrow.Metadata, error) {
	inputs, err := json.Marshal(v.InputColumns)
	if err != nil {
		return arrow.Metadata{}, err
	}
	kept := map[string]string{}
	maps.Copy(kept, v.FieldMetadata)
	maps.Copy(kept, out.Metadata)
	for key, value := range map[string]string{
		"": "true", ".udf_inputs": string(inputs), ".struct_field": out.StructField,
		".image": v.Image, ".udf": v.UDF, ".udf_name": v.UDFName, ".udf_version": v.UDFVersion, ".udf_backend": v.UDFBackend,
		".auto_backfill": strconv.FormatBool(v.AutoBackfill), ".manifest": v.Manifest, ".manifest_checksum": v.ManifestChecksum,
	} {
		if value != "" {
			kept["virtual_column"+key] = value
		}
	}
	return arrow.MetadataFrom(kept), nil
}

// addNulls returns the function that adds columns of nulls.
func addNulls(ctx context.Context, columns *arrow.Schema) func(*engine.Table) (engine.Written, error) {
	return func(t *engine.Table) (engine.Written, error) { return evolution.AddNullColumns(ctx, t, columns) }
}

// Alter changes the names, the types and the nullability of columns.
func (s *Service) Alter(ctx context.Context, req *schemaapi.AlterColumnsRequest) (*schemaapi.AlterColumnsResponse, error) {
	alterations := make([]alter.Alteration, len(req.Alterations))
	for i, a := range req.Alterations {
		alterations[i] = alter.Alteration{Path: a.Path, Rename: a.Rename, Nullable: a.Nullable, Type: a.DataType.Type}
	}
	done, err := s.tables.Open(req.ID, req.Branch).Commit(ctx, func(t tables.Table) (engine.Written, error) {
		return evolution.AlterColumns(ctx, t.Table, alterations)
	})
	if err != nil {
		return nil, err
	}
	return &schemaapi.AlterColumnsResponse{TransactionID: done.TransactionID, Version: done.Version}, nil
}

// Drop removes columns.
func (s *Service) Drop(ctx context.Context, req *schemaapi.DropColumnsRequest) (*schemaapi.DropColumnsResponse, error) {
	done, err := s.tables.Open(req.ID, req.Branch).Commit(ctx, func(t tables.Table) (engine.Written, error) {
		return evolution.DropColumns(ctx, t.Table, req.Columns)
	})
	if err != nil {
		return nil, err
	}
	return &schemaapi.DropColumnsResponse{TransactionID: done.TransactionID, Version: done.Version}, nil
}
