package sqlexpr

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/column"
	"tiltyard/shared/sql/meter"
	"tiltyard/shared/sql/rustregex"
)

// bindRegexp casts value, pattern and flags to strings, each with its own offsets.
func bindRegexp(n *node, result func(t arrow.DataType) arrow.DataType) (*node, error) {
	types := make([]arrow.DataType, len(n.args))
	for i, a := range n.args {
		if types[i] = asText(a.typ); types[i] == nil {
			return nil, mismatch(n)
		}
	}
	return castArgs(n, result(types[0]), types...)
}

// bindRegexpLike is of type bool.
func bindRegexpLike(n *node) (*node, error) {
	n, err := bindRegexp(n, func(arrow.DataType) arrow.DataType { return column.TypeBool })
	if err != nil {
		return nil, err
	}
	// What matches everything is a test for NULL to the native Lance, also for NULL.
	if isText(n.args[1], ".*") && (len(n.args) == 2 || isText(n.args[2], "i") || isText(n.args[2], "")) {
		return &node{op: opIsNull, not: true, typ: column.TypeBool, args: n.args[:1], pos: n.pos}, nil
	}
	return n, nil
}

// bindRegexpMatch is of a type that no operand of AND has; see matchesAsTests.
func bindRegexpMatch(n *node) (*node, error) {
	return bindRegexp(n, func(t arrow.DataType) arrow.DataType { return arrow.ListOf(t) })
}

// prepareRegexp compiles a constant pattern with constant flags.
func prepareRegexp(m *meter.Meter, n *node) (any, error) {
	flags := ""
	for _, a := range n.args[1:] {
		if a.op != opLit || a.isNullLiteral() && a == n.args[1] {
			return nil, nil
		}
	}
	if len(n.args) == 3 && !n.args[2].isNullLiteral() {
		flags = string(n.args[2].val.Data.(column.Text).At(0))
	}
	pattern := n.args[1].val.Data.(column.Text).At(0)
	if len(pattern) > rustregex.MaxLength {
		return nil, sql.Errorf(sql.ErrTooLarge, n.pos, "regular expression of more than %d bytes", rustregex.MaxLength)
	}
	re, err := rustregex.Compile(string(pattern), flags)
	if err != nil {
		return nil, sql.At(err, n.pos)
	}
	return re, sql.At(m.KeepProgram(re.Size(), re.Bytes()), n.pos)
}

// A regexSource finds the expression for each row.
type regexSource struct {
	ready *rustregex.Regexp
	args  []column.Vec // value, pattern, flags
	cache *rustregex.Cache
}

func newRegexSource(m *meter.Meter, n *node, args []column.Vec) *regexSource {
	ready, _ := n.ready.(*rustregex.Regexp)
	return &regexSource{ready: ready, args: args, cache: rustregex.NewCache(m)}
}

// at compiles the expression of a row, unless it is the one of another row. NULL as flags
// is no flags.
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

// eachMatch calls f with the expression of every row that counts and has no NULL.
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
func evalRegexpLike(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	size, konst := column.Width(args...)
	bits := column.NewBitset(size)
	out := column.Vec{Type: n.typ, N: size, Const: konst, Valid: column.BothValid(args[0], args[1], size), Data: bits}
	err := newRegexSource(m, n, args).each(out, rows, func(i int, value []byte, re *rustregex.Regexp) error {
		ok, err := re.Match(m, value)
		if ok {
			bits.Set(i)
		}
		return err
	})
	return out, err
}

// matchAsFound makes of regexp_match what is NULL for the same rows, and no list.
func matchAsFound(n *node) *node {
	m := n.copy()
	fn := *n.fn
	fn.eval = evalRegexpFound
	m.fn, m.typ = &fn, column.TypeBool
	return m
}

// evalRegexpFound is NULL where nothing matches.
func evalRegexpFound(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	v, err := evalRegexpLike(m, n, args, rows)
	if err == nil {
		v.Valid = column.And(v.Valid, v.Data.(column.Bitset))
	}
	return v, err
}

// evalRegexpMatch returns lists of the captured groups, NULL where nothing matches.
func evalRegexpMatch(m *meter.Meter, n *node, args []column.Vec, rows column.Bitset) (column.Vec, error) {
	size, konst := column.Width(args...)
	out := column.Vec{Type: n.typ, N: size, Const: konst, Valid: column.BothValid(args[0], args[1], size)}
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
	out.Data = column.Lists{Off: off, Elems: column.Vec{Type: column.ElemType(n.typ), N: elems.Count(), Data: elems.Text()}}
	return out, nil
}
