package executortest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/engine/udf/executor"
)

// A Reply is the response of a peer to a call. At most one field other than Stream is set.
type Reply struct {
	Stream     []byte
	Fault      *executor.Fault
	Overloaded bool // in the words of the carrier: to be called again later
	Cut        bool // breaks off in the middle of Stream
	Drip       bool // sends Stream so slowly that it never ends
}

// Secret is the value of a variable of the function, which must not appear in errors.
const Secret = "canary-4f1d"

// poison is the value that some peers fail for.
const poison = 13

// Answer implements the named peer. Programs that stand in for executors call it.
func Answer(peer string, call *executor.Call, stream []byte) Reply {
	values, err := read(stream)
	if err != nil {
		return Reply{Fault: &executor.Fault{Type: "BadCall", Message: err.Error()}}
	}
	if err := check(call); err != nil {
		return Reply{Fault: &executor.Fault{Type: "BadCall", Message: err.Error()}}
	}
	good := write(fields(), values, nil)
	isPoisoned := slices.Contains(values, poison)
	switch peer {
	case "honest":
		return Reply{Stream: good}
	case "marking":
		return Reply{Stream: write(append(fields(), arrow.Field{Name: "__error", Type: arrow.BinaryTypes.String, Nullable: true}), values, func(v int64) string {
			if v%10 == 3 {
				return "ValueError: no " + fmt.Sprint(v)
			}
			return ""
		})}
	case "poisoned":
		if isPoisoned {
			return Reply{Fault: &executor.Fault{Type: "Poisoned", Message: "unlucky"}}
		}
		return Reply{Stream: good}
	case "talkative":
		if isPoisoned {
			return Reply{Fault: &executor.Fault{Type: "Key " + Secret, Message: "the key " + Secret + " is " + strings.Repeat("wrong", 4000)}}
		}
		return Reply{Stream: good}
	case "third time", "never":
		if peer == "never" || call.Attempt < 3 {
			return Reply{Overloaded: true}
		}
		return Reply{Stream: good}
	case "retryable":
		if isPoisoned || call.Attempt < 2 {
			return Reply{Fault: &executor.Fault{Type: "Later", Message: "not now", Retryable: true}}
		}
		return Reply{Stream: good}
	case "traced":
		return Reply{Fault: &executor.Fault{Type: "Traced", Message: fmt.Sprintf("attempt %d:%s", call.Attempt, call.Trace), Retryable: call.Attempt < 2}}
	case "few rows":
		return Reply{Stream: write(fields(), values[:len(values)-1], nil)}
	case "many rows":
		return Reply{Stream: write(fields(), append(values, 1), nil)}
	case "other type":
		return Reply{Stream: write([]arrow.Field{{Name: "result", Type: arrow.PrimitiveTypes.Int32}}, values, nil)}
	case "other name":
		return Reply{Stream: write([]arrow.Field{{Name: "results", Type: arrow.PrimitiveTypes.Int64}}, values, nil)}
	case "more columns":
		return Reply{Stream: write(append(fields(), arrow.Field{Name: "more", Type: arrow.PrimitiveTypes.Int64}), values, nil)}
	case "null":
		return Reply{Stream: write(fields(), values, func(int64) string { return "null" })}
	case "marked value":
		return Reply{Stream: write([]arrow.Field{fields()[0], {Name: "__error", Type: arrow.BinaryTypes.String}}, values, nil)}
	case "no end":
		return Reply{Stream: good[:len(good)-8]}
	case "no stream":
		return Reply{Stream: []byte("<html>This page is not here.</html>")}
	case "nothing":
		return Reply{}
	case "huge":
		return Reply{Stream: bytes.Repeat(good, 1+4*int(Payload)/len(good))}
	case "cut":
		return Reply{Stream: good, Cut: true}
	case "drip":
		return Reply{Stream: good, Drip: true}
	}
	return Reply{Fault: &executor.Fault{Type: "BadCall", Message: "there is no peer " + peer}}
}

// hostile maps the peers whose replies are always invalid to the failure type of their rows.
var hostile = map[string]string{
	"few rows": executor.Malformed, "many rows": executor.Malformed, "other type": executor.Malformed, "other name": executor.Malformed,
	"more columns": executor.Malformed, "null": executor.Malformed, "marked value": executor.Malformed, "no end": executor.Malformed,
	"no stream": executor.Malformed, "nothing": executor.Malformed, "huge": executor.TooLarge, "drip": executor.TimedOut,
}

// check compares a call with the function of this package.
func check(call *executor.Call) error {
	outputs, err := arrowipc.NewReader(context.Background(), bytes.NewReader(call.Outputs), arrowipc.Limits{})
	if err != nil {
		return err
	}
	want := arrow.NewSchema(fields(), nil)
	if !outputs.Schema().Equal(want) || call.Format != 1 || call.Function != "double" || call.Version != "7" || call.Kind != "python_callable" ||
		call.Entrypoint != "double" || call.Digest != "sha256:00" || string(call.Artifact) != "def double(value)" || string(call.Initialization) != "row" ||
		call.Environment["KEY"] != Secret || call.Binding != "b" || call.Job != "j" || call.Attempt < 1 || call.Milliseconds < 1 {
		return fmt.Errorf("the call has other values: %s", strings.ReplaceAll(fmt.Sprintf("%+v", call), Secret, "SECRET"))
	}
	return nil
}

func fields() []arrow.Field {
	return []arrow.Field{{Name: "result", Type: arrow.PrimitiveTypes.Int64}}
}

// read returns the int64 values of the first column of a stream.
func read(stream []byte) (values []int64, err error) {
	r, err := arrowipc.NewReader(context.Background(), bytes.NewReader(stream), arrowipc.Limits{})
	if err != nil {
		return nil, err
	}
	for {
		batch, err := r.Next()
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return nil, err
		}
		values = append(values, batch.Column(0).(*array.Int64).Int64Values()...)
	}
}

// write writes a stream of doubled values. failed returns the error of a value, "" for none: the value is
// then null. A column __error holds the errors.
func write(fields []arrow.Field, values []int64, failed func(int64) string) []byte {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	for _, v := range values {
		message := ""
		if failed != nil {
			message = failed(v)
		}
		for i, f := range fields {
			switch column := b.Field(i).(type) {
			case *array.StringBuilder:
				if failed != nil && message == "" {
					column.AppendNull()
				} else {
					column.Append(message)
				}
			case *array.Int32Builder:
				column.Append(int32(2 * v))
			case *array.Int64Builder:
				if message != "" {
					column.AppendNull()
				} else {
					column.Append(2 * v)
				}
			default:
				panic(f.Name)
			}
		}
	}
	var out bytes.Buffer
	w := arrowipc.NewStreamWriter(&out, b.Schema(), arrowipc.Uncompressed)
	if err := errors.Join(w.Write(b.NewRecordBatch()), w.Close()); err != nil {
		panic(err)
	}
	return out.Bytes()
}
