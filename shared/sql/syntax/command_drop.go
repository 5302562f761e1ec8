package syntax

// A Drop is one of
//
//	DROP {TABLE | VIEW | MATERIALIZED VIEW} [IF EXISTS] name
//	DROP {NAMESPACE | SCHEMA} [IF EXISTS] name [CASCADE | RESTRICT]
//	DROP {INDEX | TAG | BRANCH} [IF EXISTS] name ON table [BRANCH 'name']
type Drop struct {
	Kind     DropKind
	Name     []string // of the table, view or namespace, or of the table of what is dropped
	Label    string   // of an index, a tag or a branch
	Branch   string   // of an index
	IfExists bool
	Cascade  bool
}

// A DropKind is a kind of objects that can be dropped.
type DropKind string

// The kinds.
const (
	DropTable            DropKind = "TABLE"
	DropView             DropKind = "VIEW"
	DropMaterializedView DropKind = "MATERIALIZED VIEW"
	DropNamespace        DropKind = "NAMESPACE"
	DropIndex            DropKind = "INDEX"
	DropTag              DropKind = "TAG"
	DropBranch           DropKind = "BRANCH"
)

func (*Drop) command() {}

func (c *commander) drop() (Command, error) {
	c.next++
	s := new(Drop)
	switch {
	case c.takeWords("TABLE"):
		s.Kind = DropTable
	case c.takeWords("VIEW"):
		s.Kind = DropView
	case c.takeWords("MATERIALIZED", "VIEW"):
		s.Kind = DropMaterializedView
	case c.takeWords("NAMESPACE"), c.takeWords("SCHEMA"):
		s.Kind = DropNamespace
	case c.takeWords("INDEX"):
		s.Kind = DropIndex
	case c.takeWords("TAG"):
		s.Kind = DropTag
	case c.takeWords("BRANCH"):
		s.Kind = DropBranch
	default:
		return nil, c.unknown("DROP", "TABLE, VIEW, MATERIALIZED VIEW, NAMESPACE, INDEX, TAG or BRANCH")
	}
	s.IfExists = c.ifExists()
	var err error
	switch s.Kind {
	case DropIndex, DropTag, DropBranch:
		if s.Label, err = c.label("the name of what is dropped"); err != nil {
			return nil, err
		}
		if err = c.expectWord("ON"); err != nil {
			return nil, err
		}
	}
	if s.Name, err = c.objectName(); err != nil {
		return nil, err
	}
	switch s.Kind {
	case DropIndex:
		s.Branch = c.branch()
	case DropNamespace:
		if s.Cascade = c.takeWords("CASCADE"); !s.Cascade {
			c.takeWords("RESTRICT")
		}
	}
	return s, nil
}
