// Package expression runs functions that are SQL expressions over their parameters. A function with one
// output is an expression of its type; a function with several outputs is a JSON object with an expression
// for each.
package expression

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/take"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// ArtifactKind is the kind of the artifacts.
const ArtifactKind = "sql_expression"

// A Runtime opens functions in SQL. Its zero value is ready.
type Runtime struct{}

// Open parses the expression and binds it to the parameters. An expression that is volatile or does not
// have the type of the output is InvalidInput.
func (Runtime) Open(ctx context.Context, s udf.Spec) (udf.Caller, error) {
	if s.Kind != ArtifactKind {
		return nil, protocol.Errorf(protocol.InvalidInput, "function %s has an artifact of kind %q; the runtime sql runs %s", s.Name, s.Kind, ArtifactKind)
	}
	texts, err := split(s)
	if err != nil {
		return nil, err
	}
	c := &caller{spec: s, values: make([]*plan.Bound, len(texts))}
	columns := arrow.NewSchema(s.Inputs, nil)
	for i, text := range texts {
		if c.values[i], err = bind(ctx, text, columns, s.Outputs[i].Type); err != nil {
			return nil, refuse(s, i, err)
		}
	}
	return c, nil
}

// split returns the text of the expression of each output.
func split(s udf.Spec) ([]string, error) {
	if !utf8.Valid(s.Artifact) {
		return nil, protocol.Errorf(protocol.InvalidInput, "the expression of function %s is not text in UTF-8", s.Name)
	}
	if s.Entrypoint != "" {
		return nil, protocol.Errorf(protocol.InvalidInput, "function %s has the entrypoint %.80q; expressions have none", s.Name, s.Entrypoint)
	}
	// A single output needs no JSON around its expression.
	if text := strings.TrimSpace(string(s.Artifact)); !strings.HasPrefix(text, "{") {
		if len(s.Outputs) != 1 {
			return nil, protocol.Errorf(protocol.InvalidInput, "function %s returns %d values, so its artifact must be a JSON object with an expression for each", s.Name, len(s.Outputs))
		}
		return []string{text}, nil
	}
	var named map[string]string
	if err := json.Unmarshal(s.Artifact, &named); err != nil {
		return nil, protocol.Errorf(protocol.InvalidInput, "the artifact of function %s is not a JSON object with an expression for each output: %w", s.Name, err)
	}
	texts := make([]string, len(s.Outputs))
	for i, f := range s.Outputs {
		text, ok := named[f.Name]
		if !ok {
			return nil, protocol.Errorf(protocol.InvalidInput, "the artifact of function %s has no expression for output %.80q", s.Name, f.Name)
		}
		texts[i] = text
	}
	if len(named) != len(s.Outputs) {
		return nil, protocol.Errorf(protocol.InvalidInput, "the artifact of function %s has expressions for %d outputs; %d are declared", s.Name, len(named), len(s.Outputs))
	}
	return texts, nil
}

// bind compiles an expression and checks its type. Volatile functions are refused, because the values of a
// computed column must be reproducible.
func bind(ctx context.Context, text string, columns *arrow.Schema, typ arrow.DataType) (*plan.Bound, error) {
	e, err := syntax.Parse(text)
	if err != nil {
		return nil, err
	}
	value, err := plan.Bind(ctx, e, columns, time.Unix(0, 0)) // no allowed expression depends on the time
	if err != nil {
		return nil, err
	}
	if name := value.Volatile(); name != "" {
		return nil, protocol.Errorf(protocol.InvalidInput, "%s gives another value each time; functions must not", name)
	}
	if got := value.Type(); !protocol.SameFunctionType(typ, got) {
		return nil, protocol.Errorf(protocol.InvalidInput, "the expression is of type %s, and the output of type %s; cast it", protocol.TypeText(got), protocol.TypeText(typ))
	}
	return value, nil
}

// refuse returns the error of the expression of an output.
func refuse(s udf.Spec, output int, err error) error {
	what := ""
	if len(s.Outputs) > 1 {
		what = " for " + s.Outputs[output].Name
	}
	var known *protocol.Error
	var bad *sql.Error
	switch {
	case errors.As(err, &known), errors.As(err, &bad):
		return protocol.Errorf(protocol.InvalidInput, "function %s%s: %w", s.Name, what, err)
	}
	return err
}

// A caller is an open function.
type caller struct {
	spec   udf.Spec
	values []*plan.Bound
}

// Close does nothing: an expression has no resources.
func (c *caller) Close() error { return nil }

// Call evaluates the expressions. If an expression fails for a row, that row fails.
func (c *caller) Call(ctx context.Context, in arrow.RecordBatch) (udf.Result, error) {
	outputs, failed, err := c.call(ctx, in, 0)
	if err != nil {
		return udf.Result{}, err
	}
	return udf.Result{Outputs: outputs, Failed: failed}, nil
}

// call computes the rows of a batch that begins at row first. It halves a failing batch until single rows
// fail.
func (c *caller) call(ctx context.Context, in arrow.RecordBatch, first int) (arrow.RecordBatch, []udf.Failure, error) {
	out, err := c.evaluate(ctx, in)
	if err == nil || !isOfRow(err) || ctx.Err() != nil {
		return out, nil, err
	}
	n := int(in.NumRows())
	if n == 1 {
		return c.nulls(), []udf.Failure{{Row: first, Type: "SQLError", Message: message(err)}}, nil
	}
	// Divide the rows, to find those for which the expression fails.
	head, failed, err := c.call(ctx, in.NewSlice(0, int64(n/2)), first)
	if err != nil {
		return nil, nil, err
	}
	tail, more, err := c.call(ctx, in.NewSlice(int64(n/2), int64(n)), first+n/2)
	if err != nil {
		return nil, nil, err
	}
	hold, err := memory.Take(ctx, take.BatchBytes(head)+take.BatchBytes(tail))
	if err != nil {
		return nil, nil, err
	}
	defer hold.Release()
	joined, err := take.Concat(c.schema(), []arrow.RecordBatch{head, tail})
	return joined, append(failed, more...), err
}

// isOfRow reports whether an error may be caused by a single row.
func isOfRow(err error) bool {
	var bad *sql.Error
	return errors.As(err, &bad)
}

// message returns the text of an error, cut to the maximal length of a failure's message.
func message(err error) string {
	const most = 4 << 10
	text := err.Error()
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return text
}

// evaluate computes all expressions for all rows. An error may come from a single row.
func (c *caller) evaluate(ctx context.Context, in arrow.RecordBatch) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, len(c.values))
	for i, value := range c.values {
		var err error
		if columns[i], err = value.Eval(ctx, in); err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(c.schema(), columns, in.NumRows()), nil
}

// nulls returns the outputs of a row that failed.
func (c *caller) nulls() arrow.RecordBatch {
	columns := make([]arrow.Array, len(c.values))
	for i, value := range c.values {
		columns[i] = take.Nulls(value.Type(), 1)
	}
	return array.NewRecordBatch(c.schema(), columns, 1)
}

// schema returns the schema of the outputs. Each may be null, in a row that failed.
func (c *caller) schema() *arrow.Schema {
	fields := make([]arrow.Field, len(c.values))
	for i, value := range c.values {
		fields[i] = arrow.Field{Name: c.spec.Outputs[i].Name, Type: value.Type(), Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}
