// Package apierror turns errors of expressions and columns into protocol errors.
package apierror

import (
	"errors"
	"fmt"
	"github.com/apache/arrow-go/v18/arrow"
	"strings"
	"tiltyard/shared/lance/schema"

	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sql"
)

// OfExpression turns the error of an SQL expression into a protocol error. It returns nil for nil.
// what is the name of the request's field, for the message.
func OfExpression(what string, err error) error {
	if err == nil {
		return nil
	}
	var bad *sql.Error
	if !errors.As(err, &bad) {
		return err
	}
	code := protocol.InvalidInput
	switch {
	case errors.Is(err, sql.ErrUnsupported):
		code = protocol.Unsupported
	case errors.Is(err, sql.ErrUnknownColumn):
		code = protocol.TableColumnNotFound
	}
	return &protocol.Error{Code: code, Message: fmt.Sprintf("%s: %s", what, bad.Error()), Err: err}
}

// OfFilter turns the error for an unknown column in a condition or an update into InvalidInput, as
// native Lance does: the expression is wrong, rather than a requested column missing.
func OfFilter(err error) error {
	var known *protocol.Error
	if !errors.As(err, &known) || known.Code != protocol.TableColumnNotFound {
		return err
	}
	wrong := *known
	wrong.Code = protocol.InvalidInput
	return &wrong
}

// NoColumn returns the protocol error for a missing column. Its detail lists the columns of the
// table.
func NoColumn(err *snapshot.ErrNoColumn) error {
	if err.List != "" {
		return &protocol.Error{
			Code: protocol.Unsupported, Message: fmt.Sprintf("column %q is inside of the list %q", err.Name, err.List),
			Detail: "only columns and members of structs that are not in lists can be used alone; read the whole list", Err: err,
		}
	}
	const most = 50
	have := err.Have
	if len(have) > most {
		have = append(have[:most:most], "…")
	}
	detail := "the table has no columns"
	if len(have) > 0 {
		detail = "the table has the columns " + strings.Join(have, ", ")
	}
	return &protocol.Error{
		Code: protocol.TableColumnNotFound, Message: fmt.Sprintf("column %q does not exist", err.Name), Detail: detail, Err: err,
	}
}

// CheckNames returns an error if a field's name is not allowed for a column.
func CheckNames(columns *arrow.Schema) error {
	for _, f := range columns.Fields() {
		if err := schema.CheckName(f.Name); err != nil {
			return &protocol.Error{Code: protocol.TableSchemaValidationError, Message: err.Error(), Err: err}
		}
	}
	return nil
}
