package syntax

import (
	"strconv"
	"strings"

	"tiltyard/shared/sql"
)

// typeWords are the words that begin type names. Package plan resolves the names and refuses unsupported
// types.
var typeWords = map[string]bool{
	"BOOLEAN": true, "BOOL": true,
	"TINYINT": true, "SMALLINT": true, "INT": true, "INTEGER": true, "BIGINT": true,
	"INT2": true, "INT4": true, "INT8": true,
	"FLOAT": true, "REAL": true, "DOUBLE": true, "FLOAT4": true, "FLOAT8": true,
	"DECIMAL": true, "NUMERIC": true,
	"STRING": true, "TEXT": true, "VARCHAR": true, "CHAR": true,
	"BINARY": true, "BYTEA": true,
	"DATE": true, "TIME": true, "TIMESTAMP": true, "DATETIME": true, "TIMESTAMPTZ": true,
	"JSON": true, "JSONB": true, "UUID": true,
}

// typeSuffixes are the words that may follow the name and its numbers.
var typeSuffixes = [][]string{
	{"UNSIGNED"}, {"WITH", "TIME", "ZONE"}, {"WITHOUT", "TIME", "ZONE"},
}

// synonyms are the names of types in statements that filters do not have. In arguments of functions, the other name
// means the same.
var synonyms = map[string]string{
	"bool": "boolean", "int2": "smallint", "int4": "int", "int8": "bigint", "real": "float", "float4": "float",
	"double precision": "double", "float8": "double", "text": "string", "char": "string", "varchar": "string",
	"bytea": "binary", "numeric": "decimal",
}

// typeName reads the name of a type.
func (p *parser) typeName() (TypeName, error) {
	t := p.peek()
	if t.kind != tokWord {
		return TypeName{}, p.unexpected("the name of a type")
	}
	if !typeWords[t.keyword()] {
		return TypeName{}, sql.Errorf(sql.ErrUnsupported, t.pos, "type %s", t.text)
	}
	p.mark(form)
	p.next++
	typ := TypeName{Name: strings.ToLower(t.text)}
	if typ.Name == "double" && p.takeWords("PRECISION") {
		typ.Name = "double precision"
	}
	if p.takeOp("(") {
		for {
			n, err := p.typeArg()
			if err != nil {
				return TypeName{}, err
			}
			typ.Args = append(typ.Args, n)
			if !p.peek().isOp(",") {
				break
			}
			p.mark(tight)
			p.next++
		}
		if err := p.expectOp(")"); err != nil {
			return TypeName{}, err
		}
	}
	if same, ok := synonyms[typ.Name]; ok && p.used != nil && (typ.Args == nil || same == "decimal") {
		typ.Name = same
	}
	for _, suffix := range typeSuffixes {
		if p.takeWords(suffix...) {
			typ.Name += " " + strings.ToLower(strings.Join(suffix, " "))
			break
		}
	}
	return typ, nil
}

func (p *parser) typeArg() (int, error) {
	sign := ""
	if p.takeOp("-") {
		sign = "-"
	}
	t := p.take()
	n, err := strconv.Atoi(sign + t.text)
	if t.kind != tokNumber || err != nil || len(t.text) > 6 {
		return 0, sql.Errorf(sql.ErrSyntax, t.pos, "expected a small integer, found %s", t.describe())
	}
	return n, nil
}

// typedText reads a type followed by a string, such as date '2024-01-31'. It returns nil
// and reads nothing if something else comes next, because date may also be a column.
func (p *parser) typedText() Expr {
	t := p.peek()
	if !typeWords[t.keyword()] {
		return nil
	}
	start := p.next
	if typ, err := p.typeName(); err == nil && p.peek().kind == tokString {
		return &TypedText{position: position(t.pos), Type: typ, Value: p.take().text}
	}
	for i := start; i < p.next; i++ {
		p.tokens[i].role = plain
	}
	p.next = start
	return nil
}

// cast reads CAST(x AS type).
func (p *parser) cast(try bool) (Expr, error) {
	p.mark(form)
	c := &Cast{position: position(p.take().pos), Try: try}
	p.next++ // (
	var err error
	if c.X, err = p.expr(precNone); err != nil {
		return nil, err
	}
	if err = p.expectWord("AS"); err != nil {
		return nil, err
	}
	if c.Type, err = p.typeName(); err != nil {
		return nil, err
	}
	return c, p.expectOp(")")
}
