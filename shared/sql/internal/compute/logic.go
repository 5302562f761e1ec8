package compute

import "tiltyard/shared/sql/internal/column"

// Truth returns the rows whose value is not NULL and equals value. A constant has one row.
func Truth(v column.Vec, value bool) column.Bitset {
	bits := v.Data.(column.Bitset)
	if !value {
		bits = bits.Invert(v.N)
	}
	return column.And(bits, v.Valid)
}

// Kleene combines two bools in three-valued logic: OR if deciding is true, AND if it is false. The result
// is deciding if at least one operand is, the other value if both operands are, and NULL otherwise.
func Kleene(l, r column.Vec, deciding bool) column.Vec {
	n, konst := column.Width(l, r)
	l, r = Spread(l, n), Spread(r, n)
	yes, no := column.Or(Truth(l, deciding), Truth(r, deciding)), column.And(Truth(l, !deciding), Truth(r, !deciding))
	out := column.Vec{Type: column.TypeBool, N: n, Const: konst, Data: yes}
	if !deciding {
		out.Data = no
	}
	if l.Valid != nil || r.Valid != nil {
		out.Valid = column.Or(yes, no)
	}
	return out
}

// Spread repeats a constant bool for n rows.
func Spread(v column.Vec, n int) column.Vec {
	if !v.Const || n == 1 {
		return v
	}
	out := column.Vec{Type: v.Type, N: n, Data: column.NewBitset(n)}
	switch {
	case v.IsNull(0):
		out.Valid = column.NewBitset(n)
	case v.Data.(column.Bitset).Has(0):
		out.Data = column.FullBitset(n)
	}
	return out
}

// InvertBool computes NOT.
func InvertBool(v column.Vec) column.Vec {
	v.Data = v.Data.(column.Bitset).Invert(v.N)
	return v
}

// IsNullTest computes IS NULL, or IS NOT NULL if not is set.
func IsNullTest(v column.Vec, not bool) column.Vec {
	out := column.Vec{Type: column.TypeBool, N: v.N, Const: v.Const}
	valid := v.Valid
	if valid == nil {
		valid = column.FullBitset(v.N)
	}
	out.Data = valid
	if !not {
		out.Data = valid.Invert(v.N)
	}
	return out
}

// TruthTest computes IS TRUE, IS FALSE or their opposites, which are never NULL.
func TruthTest(v column.Vec, value, not bool) column.Vec {
	bits := Truth(v, value)
	if not {
		bits = bits.Invert(v.N)
	}
	return column.Vec{Type: column.TypeBool, N: v.N, Const: v.Const, Data: bits}
}
