package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/arrow/arrowipc"
)

// A constant is a constant parameter of a function.
type constant struct {
	name     string
	typ      arrow.Type // INT64, STRING or BOOL
	optional bool
}

// arguments maps names to constants of type int64, string or bool. NULL constants are absent.
type arguments map[string]any

// decode decodes the arguments of a use, an Arrow stream of one row. A nil stream has none.
func decode(ctx context.Context, stream []byte, known []constant) (arguments, error) {
	args := arguments{}
	if stream == nil {
		return args, nil
	}
	reader, err := arrowipc.NewReader(ctx, bytes.NewReader(stream), arrowipc.Limits{})
	if err != nil {
		return nil, err
	}
	batch, err := reader.Next()
	if errors.Is(err, io.EOF) || err == nil && batch.NumRows() != 1 {
		return nil, errors.New("they are not one row")
	}
	if err != nil {
		return nil, err
	}
	for i, f := range reader.Schema().Fields() {
		at := indexOf(known, f.Name)
		if at < 0 {
			return nil, fmt.Errorf("it has no argument %.80q", f.Name)
		}
		if f.Type.ID() != known[at].typ {
			return nil, fmt.Errorf("%s is of type %s, not %s", f.Name, known[at].typ, f.Type)
		}
		switch values := batch.Column(i).(type) {
		case *array.Int64:
			if values.IsValid(0) {
				args[f.Name] = values.Value(0)
			}
		case *array.String:
			if values.IsValid(0) {
				args[f.Name] = strings.Clone(values.Value(0)) // the batch goes
			}
		case *array.Boolean:
			if values.IsValid(0) {
				args[f.Name] = values.Value(0)
			}
		}
	}
	return args, nil
}

func indexOf(known []constant, name string) int {
	for i, c := range known {
		if c.name == name {
			return i
		}
	}
	return -1
}

// missing returns the name of a required constant that is absent, or "". The dimensions of a vector are
// optional if the output has a fixed length.
func (a arguments) missing(known []constant, u use) string {
	for _, c := range known {
		_, given := a[c.name]
		_, fixed := u.output.(*arrow.FixedSizeListType)
		if !given && !c.optional && !(c.name == dimensions && fixed) {
			return c.name
		}
	}
	return ""
}
