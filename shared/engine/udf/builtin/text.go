package builtin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine/chunking"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
)

const (
	// maxPieces bounds the bytes of the pieces of one text.
	maxPieces = 64 << 20
	// maxTexts bounds the texts of a batch's outputs, whose offsets have 32 bits.
	maxTexts = math.MaxInt32 - maxPieces
)

// checkDigest requires that the parameter is a text or bytes, and the output a text.
func checkDigest(u use) error {
	if !isText(u.input) && u.input.ID() != arrow.BINARY && u.input.ID() != arrow.LARGE_BINARY || u.output.ID() != arrow.STRING {
		return errors.New("takes utf8, large_utf8 or binary and returns utf8")
	}
	return nil
}

// checkTexts requires that the parameter and the output are texts.
func checkTexts(u use) error {
	if !isText(u.input) || !isText(u.output) {
		return errors.New("takes and returns utf8 or large_utf8")
	}
	return nil
}

// openSHA256 opens sha256, which returns the digest of a text or of bytes in hexadecimal.
func openSHA256(use) (step, error) {
	return func(ctx context.Context, in arrow.Array, row int, out array.Builder) error {
		text, err := textAt(in, row)
		if err != nil {
			return err
		}
		sum := sha256.Sum256([]byte(text))
		return appendText(ctx, out, hex.EncodeToString(sum[:]))
	}, nil
}

// openHTML opens html_text, which returns the visible text of a page.
func openHTML(use) (step, error) {
	return func(ctx context.Context, in arrow.Array, row int, out array.Builder) error {
		text, err := textAt(in, row)
		if err != nil {
			return err
		}
		held, err := memory.Take(ctx, 3*int64(len(text))) // the growing text, and a part of it that is decoded
		if err != nil {
			return err
		}
		defer held.Release()
		return appendText(ctx, out, htmlText(text))
	}, nil
}

func isText(typ arrow.DataType) bool {
	return typ.ID() == arrow.STRING || typ.ID() == arrow.LARGE_STRING
}

// textAt returns a text, or bytes.
func textAt(in arrow.Array, row int) (string, error) {
	if in.IsNull(row) {
		return "", failed("NullInput", "the text is null")
	}
	switch in := in.(type) {
	case *array.String:
		return in.Value(row), nil
	case *array.LargeString:
		return in.Value(row), nil
	case *array.Binary:
		return in.ValueString(row), nil
	case *array.LargeBinary:
		return in.ValueString(row), nil
	}
	return "", protocol.Errorf(protocol.InvalidInput, "a value of type %s is no text", in.DataType())
}

// appendText appends a text.
func appendText(ctx context.Context, out array.Builder, text string) error {
	if err := memory.FromContext(ctx).Take(ctx, int64(len(text)+8)); err != nil {
		return err
	}
	switch out := out.(type) {
	case *array.StringBuilder:
		if out.DataLen()+len(text) > maxTexts {
			return failed("OutputLimit", "the texts of a batch take more than %d bytes", maxTexts)
		}
		out.Append(text)
	case *array.LargeStringBuilder:
		out.Append(text)
	}
	return nil
}

// splitter returns the function that lists the pieces of a text. Its constants are the parameters after the
// text.
func splitter(name string) builtin {
	f := chunking.Find(name)
	var constants []constant
	for _, p := range f.Params {
		constants = append(constants, constant{name: p.Name, typ: p.Type.ID(), optional: p.Optional})
	}
	types := func(u use) error {
		if want := arrow.ListOf(f.Type()); !isText(u.input) || !protocol.SameFunctionType(u.output, want) {
			return fmt.Errorf("takes utf8 or large_utf8 and returns %s", protocol.TypeText(want))
		}
		return nil
	}
	open := func(u use) (step, error) {
		args := make([]any, len(f.Params))
		for i, p := range f.Params {
			var given bool
			if args[i], given = u.args[p.Name]; !given {
				args[i] = p.Default
			}
		}
		cut, err := f.With(args...)
		if err != nil {
			return nil, fmt.Errorf("cannot be used so: %w", err)
		}
		return func(ctx context.Context, in arrow.Array, row int, out array.Builder) error {
			return appendPieces(ctx, f, cut, in, row, out.(*array.ListBuilder)) //nolint:forcetypeassert // of the type of the output
		}, nil
	}
	return builtin{constants: constants, types: types, open: open}
}

// appendPieces appends the list of the pieces of a text.
func appendPieces(ctx context.Context, f *chunking.Function, cut chunking.Splitter, in arrow.Array, row int, out *array.ListBuilder) error {
	items := out.ValueBuilder().(*array.StructBuilder) //nolint:forcetypeassert // of the type of the output
	if in.IsNull(row) {
		out.Append(true)
		return nil
	}
	text, err := textAt(in, row)
	if err != nil {
		return err
	}
	var pieces []chunking.Chunk
	batch := int64(items.FieldBuilder(0).(*array.StringBuilder).DataLen()) //nolint:forcetypeassert // the texts of the pieces
	if path, ok := items.FieldBuilder(items.NumField() - 1).(*array.ListBuilder); ok {
		batch += int64(path.ValueBuilder().(*array.StringBuilder).DataLen()) //nolint:forcetypeassert // their titles
	}
	total, share := int64(0), memory.FromContext(ctx)
	for c := range cut(text) {
		size := c.Bytes()
		if err := share.Take(ctx, 2*size); err != nil { // the piece, and its copy in the output
			return err
		}
		if total += size; total > maxPieces || batch+total > maxTexts {
			return failed("OutputLimit", "the pieces of the text take more than %d bytes", maxPieces)
		}
		pieces = append(pieces, c)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	out.Append(true)
	for i := range pieces {
		f.Append(items, &pieces[i])
	}
	return nil
}
