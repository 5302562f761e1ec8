package syntax

import "strings"

// Conjuncts returns the operands of the outermost ANDs of a condition, or none for nil.
func Conjuncts(e Expr) []Expr {
	if e == nil {
		return nil
	}
	if b, ok := e.(*Binary); ok && b.Op == And {
		return append(Conjuncts(b.L), Conjuncts(b.R)...)
	}
	return []Expr{e}
}

// Conjunction joins conditions by AND. It is nil without conditions.
func Conjunction(conditions []Expr) (e Expr) {
	for _, next := range conditions {
		if e == nil {
			e = next
		} else {
			e = &Binary{Op: And, L: e, R: next}
		}
	}
	return e
}

// Meant returns the expression of the output that a name in ORDER BY means, or the expression itself.
func Meant(e Expr, outputs []Output) Expr {
	if c, ok := e.(*Column); ok && len(c.Path) == 1 {
		for _, out := range outputs {
			if out.Expr != nil && out.Name == c.Path[0].Text {
				return out.Expr
			}
		}
	}
	return e
}

// Is reports whether a name in a text is a name. With fold, one without quotes may differ from it in case.
func (n Name) Is(name string, fold bool) bool {
	if fold && !n.Quoted {
		return strings.EqualFold(name, n.Text)
	}
	return name == n.Text
}

// EndsWith reports whether names in a text are the last parts of the name of a source.
func EndsWith(source []string, written []Name, fold bool) bool {
	from := len(source) - len(written)
	if from < 0 {
		return false
	}
	for i, name := range written {
		if !name.Is(source[from+i], fold) {
			return false
		}
	}
	return true
}
