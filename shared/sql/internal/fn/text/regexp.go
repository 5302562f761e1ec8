package text

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/internal/column"
	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/meter"
	"tiltyard/shared/sql/rustregex"
)

// bindRegexp casts value, pattern and flags to strings, each with its own offsets.
func bindRegexp(n *expr.Node, result func(t arrow.DataType) arrow.DataType) (*expr.Node, error) {
	types := make([]arrow.DataType, len(n.Args))
	for i, a := range n.Args {
		if types[i] = expr.AsText(a.Type); types[i] == nil {
			return nil, expr.Mismatch(n)
		}
	}
	return expr.CastArgs(n, result(types[0]), types...)
}

// bindRegexpLike is of type bool.
func bindRegexpLike(n *expr.Node) (*expr.Node, error) {
	n, err := bindRegexp(n, func(arrow.DataType) arrow.DataType { return column.TypeBool })
	if err != nil {
		return nil, err
	}
	// Native Lance rewrites a pattern that matches everything as a test for NULL, which is false, rather
	// than NULL, for NULL.
	if expr.IsText(n.Args[1], ".*") && (len(n.Args) == 2 || expr.IsText(n.Args[2], "i") || expr.IsText(n.Args[2], "")) {
		return &expr.Node{Op: expr.OpIsNull, Not: true, Type: column.TypeBool, Args: n.Args[:1], Pos: n.Pos}, nil
	}
	return n, nil
}

// bindRegexpMatch is of a type that no operand of AND has; see matchesAsTests.
func bindRegexpMatch(n *expr.Node) (*expr.Node, error) {
	return bindRegexp(n, func(t arrow.DataType) arrow.DataType { return arrow.ListOf(t) })
}

// prepareRegexp compiles a constant pattern with constant flags.
func prepareRegexp(m *meter.Meter, n *expr.Node) (any, error) {
	flags := ""
	for _, a := range n.Args[1:] {
		if a.Op != expr.OpLit || a.IsNullLiteral() && a == n.Args[1] {
			return nil, nil
		}
	}
	if len(n.Args) == 3 && !n.Args[2].IsNullLiteral() {
		flags = string(n.Args[2].Value.Data.(column.Text).At(0))
	}
	pattern := n.Args[1].Value.Data.(column.Text).At(0)
	if len(pattern) > rustregex.MaxLength {
		return nil, sql.Errorf(sql.ErrTooLarge, n.Pos, "regular expression of more than %d bytes", rustregex.MaxLength)
	}
	re, err := rustregex.Compile(string(pattern), flags)
	if err != nil {
		return nil, sql.At(err, n.Pos)
	}
	return re, sql.At(m.KeepProgram(re.Size(), re.Bytes()), n.Pos)
}

// A regexSource finds the expression for each row.
type regexSource struct {
	ready *rustregex.Regexp
	args  []column.Vec // value, pattern, flags
	cache *rustregex.Cache
}

func newRegexSource(m *meter.Meter, n *expr.Node, args []column.Vec) *regexSource {
	ready, _ := n.Ready.(*rustregex.Regexp)
	return &regexSource{ready: ready, args: args, cache: rustregex.NewCache(m)}
}

// at returns the compiled expression of a row, and reuses the one of the previous row if it is the same.
// NULL flags count as no flags.
func (s *regexSource) at(row int) (*rustregex.Regexp, error) {
	if s.ready != nil {
		return s.ready, nil
	}
	var flags []byte
	if len(s.args) == 3 && !s.args[2].IsNull(row) {
		flags = s.args[2].Data.(column.Text).At(s.args[2].Slot(row))
	}
	return s.cache.Compile(s.args[1].Data.(column.Text).At(s.args[1].Slot(row)), flags)
}

// each calls f with the expression of every row that counts and has no NULL.
func (s *regexSource) each(out column.Vec, rows column.Bitset, f func(i int, value []byte, re *rustregex.Regexp) error) error {
	if out.Const {
		rows = nil
	}
	values := s.args[0].Data.(column.Text)
	var err error
	column.And(rows, out.Valid).Each(out.N, func(i int) bool {
		var re *rustregex.Regexp
		if re, err = s.at(i); err == nil {
			err = f(i, values.At(s.args[0].Slot(i)), re)
		}
		return err == nil
	})
	return err
}

// evalRegexpLike is NULL if the value or the pattern is.
func evalRegexpLike(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	size, konst := column.Width(args...)
	bits := column.NewBitset(size)
	out := column.Vec{Type: n.Type, N: size, Const: konst, Valid: column.BothValid(args[0], args[1], size), Data: bits}
	err := newRegexSource(m, n, args).each(out, rows, func(i int, value []byte, re *rustregex.Regexp) error {
		ok, err := re.Match(m, value)
		if ok {
			bits.Set(i)
		}
		return err
	})
	return out, err
}

// MatchAsFound turns a regexp_match into a test that is NULL for the same rows and makes no
// list.
func MatchAsFound(n *expr.Node) *expr.Node {
	m := n.Copy()
	fn := *n.Func
	fn.Eval = evalRegexpFound
	m.Func, m.Type = &fn, column.TypeBool
	return m
}

// evalRegexpFound is NULL where nothing matches.
func evalRegexpFound(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	v, err := evalRegexpLike(m, n, args, rows)
	if err == nil {
		v.Valid = column.And(v.Valid, v.Data.(column.Bitset))
	}
	return v, err
}

// evalRegexpMatch returns lists of the captured groups, NULL where nothing matches.
func evalRegexpMatch(m *meter.Meter, n *expr.Node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	size, konst := column.Width(args...)
	out := column.Vec{Type: n.Type, N: size, Const: konst, Valid: column.BothValid(args[0], args[1], size)}
	if err := m.Take(column.ViewBytes * size); err != nil {
		return column.Vec{}, err
	}
	found := make([][][]byte, size)
	err := newRegexSource(m, n, args).each(out, rows, func(i int, value []byte, re *rustregex.Regexp) (err error) {
		if found[i], err = re.Groups(m, value); err != nil {
			return err
		}
		return m.Take(2 * column.ViewBytes * len(found[i]))
	})
	if err != nil {
		return column.Vec{}, err
	}
	out.Valid = column.NewBitset(size)
	elems := column.NewTextBuilder(m, size)
	off := make([]int64, size+1)
	for i, groups := range found {
		for _, g := range groups {
			if err := elems.Reserve(len(g)); err != nil {
				return column.Vec{}, err
			}
			elems.Data = append(elems.Data, g...)
			elems.Done()
		}
		if groups != nil {
			out.Valid.Set(i)
		}
		off[i+1] = int64(elems.Count())
	}
	out.Data = column.Lists{Off: off, Elems: column.Vec{Type: column.ElemType(n.Type), N: elems.Count(), Data: elems.Text()}}
	return out, nil
}
