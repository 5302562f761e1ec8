package sql

import (
	"math"
	"strconv"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/syntax"
)

// flag returns the value of an option that is true or false.
func flag(o syntax.Option) (bool, error) {
	if b, ok := o.Value.(*syntax.Bool); ok {
		return b.Value, nil
	}
	return false, sql.Errorf(sql.ErrSyntax, o.Value.Pos(), "option %s is true or false", o.Name)
}

// number returns the value of an option that is a positive number.
func number(o syntax.Option) (float64, error) {
	if n, ok := o.Value.(*syntax.Number); ok {
		if v, err := strconv.ParseFloat(n.Text, 64); err == nil && v > 0 && !math.IsInf(v, 0) {
			return v, nil
		}
	}
	return 0, sql.Errorf(sql.ErrSyntax, o.Value.Pos(), "option %s is a positive number", o.Name)
}

// unknownOption returns the error for an option that a statement does not have.
func unknownOption(o syntax.Option, known string) error {
	return sql.Errorf(sql.ErrUnsupported, o.Pos, "option %s; the statement takes %s", o.Name, known)
}
