package syntax

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"tiltyard/shared/sql"
)

// A Command is a parsed statement that is not a query: it changes something, or shows what there is beside rows. Its
// types are in the files command_*.go, with the grammar of each. Names of objects are lists of their parts.
type Command interface{ command() }

// A Part is a query within a command, as a statement of its own. Blanks stand for the text before it, so that the places
// in its errors are those of the command.
type Part struct {
	Text       string
	Parameters []string // the names of those that occur in it, in order
}

// commandLimits leave room for rows after VALUES.
var commandLimits = Limits{Bytes: 1 << 20, Nodes: 1 << 16}

// refusedCommands has the first words of statements that other databases have, and what to do instead.
var refusedCommands = map[string]string{
	"BEGIN":    "each statement is one atomic commit; BatchCommitTables commits to several tables at once",
	"START":    "each statement is one atomic commit; BatchCommitTables commits to several tables at once",
	"COMMIT":   "each statement is committed when it ends",
	"ROLLBACK": "each statement is committed when it ends; RestoreTable brings an old version back",
	"SET":      "statements have no session; send values as parameters",
	"RESET":    "statements have no session",
	"USE":      "statements have no session; write names with their namespaces",
	"GRANT":    "rights come from the policies of the operator",
	"REVOKE":   "rights come from the policies of the operator",
	"TRUNCATE": "write DELETE FROM table WHERE true",
	"COPY":     "send files with tiltyard write, or with CreateTable and InsertIntoTable",
	"PREPARE":  "send the values of a statement as parameters",
	"EXECUTE":  "send the values of a statement as parameters",
	"CALL":     "there are no procedures; jobs and functions have operations of their own",
	"VACUUM":   "write OPTIMIZE TABLE table",
	"ANALYZE":  "indices and statistics are kept up to date by maintenance; write OPTIMIZE TABLE table",
	"REPLACE":  "write MERGE INTO, or send the rows to MergeInsertIntoTable",
	"RESTORE":  "RestoreTable does it",
	"UNDROP":   "UndropTable and UndropNamespace do it",
}

// ParseCommand parses a statement that is no query, and puts the values of parameters in their places, as
// [ParseStatement] does. It returns nil for a statement that does not begin with the word of a command.
func ParseCommand(src string, parameters map[string]Expr) (Command, error) {
	p, err := commandLimits.parser(lexer{src: src, names: true})
	if err != nil {
		return nil, err
	}
	p.parameters, p.used = parameters, map[string]bool{}
	c := &commander{p, src}
	word := c.peek()
	if why, ok := refusedCommands[word.keyword()]; ok {
		return nil, sql.Errorf(sql.ErrUnsupported, word.pos, "%s: %s", strings.ToUpper(word.text), why)
	}
	command, err := c.verb()
	if command == nil || err != nil {
		return nil, err
	}
	for c.takeOp(";") {
	}
	if t := c.peek(); t.kind != tokEOF {
		return nil, sql.Errorf(sql.ErrSyntax, t.pos, "unexpected %s after the statement", t.describe())
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if !c.used[name] {
			return nil, sql.Errorf(sql.ErrSyntax, sql.NoPos, "the statement has no parameter $%s", name)
		}
	}
	return command, nil
}

// A commander parses commands.
type commander struct {
	*parser
	src string
}

// verb parses a command by its first word, or returns nil if that is none of a command.
func (c *commander) verb() (Command, error) {
	switch c.peek().keyword() {
	case "CREATE":
		return c.create()
	case "DROP":
		return c.drop()
	case "REFRESH":
		return c.refresh()
	case "SHOW":
		return c.show()
	case "DESCRIBE", "DESC":
		return c.describe()
	case "DELETE":
		return c.delete()
	case "UPDATE":
		return c.update()
	case "INSERT":
		return c.insert()
	case "MERGE":
		return c.merge()
	case "ALTER":
		return c.alter()
	case "OPTIMIZE":
		return c.optimize()
	}
	return nil, nil
}

// unknown returns the error for a word after a verb. forms are the words that may follow.
func (c *commander) unknown(verb, forms string) error {
	t := c.peek()
	return sql.Errorf(sql.ErrUnsupported, t.pos, "%s %s: it may be %s %s", verb, t.describe(), verb, forms)
}

// objectName reads the name of a table, a view or a namespace.
func (c *commander) objectName() (id []string, err error) {
	for more := true; more; more = c.takeOp(".") {
		name, err := c.tableName()
		if err != nil {
			return nil, err
		}
		id = append(id, name.Text)
	}
	return id, nil
}

// branch reads BRANCH 'name', if it comes next.
func (c *commander) branch() string {
	name, _ := c.textAfter("BRANCH")
	return name
}

// label reads the name of a tag, a branch or an index, as a name or as a text.
func (c *commander) label(what string) (string, error) {
	t := c.peek()
	if t.kind != tokWord && t.kind != tokQuoted && t.kind != tokString {
		return "", c.unexpected(what)
	}
	c.next++
	return t.text, nil
}

// condition reads WHERE and a condition, if it comes next.
func (c *commander) condition() (Expr, error) {
	if !c.takeWords("WHERE") {
		return nil, nil
	}
	return c.expr(precNone)
}

// ifExists and ifNotExists read words that may follow DROP and CREATE.
func (c *commander) ifExists() bool    { return c.takeWords("IF", "EXISTS") }
func (c *commander) ifNotExists() bool { return c.takeWords("IF", "NOT", "EXISTS") }

// isQuery reports whether a query comes next.
func (c *commander) isQuery() bool {
	return c.peek().isOp("(") || c.peek().keyword() == "SELECT" || c.peek().keyword() == "WITH"
}

// part reads the rest of the statement as a query.
func (c *commander) part() (*Part, error) {
	last := len(c.tokens) - 1
	for last-1 > c.next && c.tokens[last-1].isOp(";") {
		last--
	}
	part := &Part{Text: strings.Repeat(" ", c.peek().pos) + c.src[c.peek().pos:c.tokens[last].pos]}
	for ; c.next < last; c.next++ {
		if t := c.peek(); t.kind == tokParameter {
			if _, ok := c.parameters[t.text]; !ok {
				return nil, sql.Errorf(sql.ErrSyntax, t.pos, "parameter $%s has no value", t.text)
			}
			c.used[t.text] = true
			part.Parameters = append(part.Parameters, t.text)
		}
	}
	slices.Sort(part.Parameters)
	part.Parameters = slices.Compact(part.Parameters)
	return part, nil
}

// An Option is a name with a value within WITH (…). The value is a literal.
type Option struct {
	Name  string
	Value Expr
	Pos   int // of the name
}

// options reads WITH (name = value, …), if it comes next.
func (c *commander) options() ([]Option, error) {
	if !c.takeWords("WITH") {
		return nil, nil
	}
	if err := c.expectOp("("); err != nil {
		return nil, err
	}
	var all []Option
	for {
		o := Option{Pos: c.peek().pos}
		var err error
		if o.Name, err = c.label("the name of an option"); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(other Option) bool { return other.Name == o.Name }) {
			return nil, sql.Errorf(sql.ErrSyntax, o.Pos, "option %s is given twice", o.Name)
		}
		if err = c.expectOp("="); err != nil {
			return nil, err
		}
		if o.Value, err = c.expr(precNone); err != nil {
			return nil, err
		}
		if !isLiteral(o.Value) {
			return nil, sql.Errorf(sql.ErrUnsupported, o.Value.Pos(), "option %s is an expression: it takes a value", o.Name)
		}
		if all = append(all, o); !c.takeOp(",") {
			return all, c.expectOp(")")
		}
	}
}

// version reads VERSION AS OF n, if it comes next.
func (c *commander) version() (*int64, error) {
	if !c.takeWords("VERSION", "AS", "OF") {
		return nil, nil
	}
	return c.count("VERSION AS OF")
}

// small reads a whole number from 1 on.
func (c *commander) small(what string, most int) (int, error) {
	t := c.take()
	n, err := strconv.Atoi(t.text)
	if t.kind != tokNumber || err != nil || n < 1 || n > most {
		return 0, sql.Errorf(sql.ErrSyntax, t.pos, "%s is %s; it may be 1 to %d", what, t.describe(), most)
	}
	return n, nil
}
