package sql_test

import (
	"errors"
	"fmt"
	"testing"

	"tiltyard/shared/sql"
)

func TestTextsOfErrors(t *testing.T) {
	placed := sql.Errorf(sql.ErrType, 7, "cannot compare %q", "secret")
	kernel := sql.Errorf(sql.ErrValue, sql.NoPos, "division by zero")
	for _, test := range []struct {
		name      string
		err       error
		kind      error
		text, log string
	}{
		{"with a position", placed, sql.ErrType, `type mismatch in sql expression at byte 7: cannot compare "secret"`, "type mismatch in sql expression at byte 7"},
		{"without", kernel, sql.ErrValue, "cannot compute sql expression: division by zero", "cannot compute sql expression"},
		{"placed later", sql.At(kernel, 3), sql.ErrValue, "cannot compute sql expression at byte 3: division by zero", "cannot compute sql expression at byte 3"},
		{"placed twice", sql.At(sql.At(kernel, 3), 5), sql.ErrValue, "cannot compute sql expression at byte 3: division by zero", "cannot compute sql expression at byte 3"},
		{"at the beginning", sql.At(sql.Errorf(sql.ErrSyntax, 0, "no operand"), 9), sql.ErrSyntax, "invalid sql expression at byte 0: no operand", "invalid sql expression at byte 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var own *sql.Error
			if !errors.As(test.err, &own) || !errors.Is(test.err, test.kind) {
				t.Fatalf("got %T %v, want an *Error of kind %v", test.err, test.err, test.kind)
			}
			if own.Error() != test.text || own.LogText() != test.log {
				t.Errorf("got %q, and %q in logs; want %q and %q", own.Error(), own.LogText(), test.text, test.log)
			}
		})
	}
	if kernel.Error() != "cannot compute sql expression: division by zero" {
		t.Errorf("the error itself has now a position: %v", kernel)
	}
}

func TestAtLeavesOtherErrorsAsTheyAre(t *testing.T) {
	for _, err := range []error{nil, errors.New("the storage is away"), fmt.Errorf("read: %w", errors.ErrUnsupported)} {
		if got := sql.At(err, 3); got != err { //nolint:errorlint // the same one
			t.Errorf("got %v, want %v", got, err)
		}
	}
}
