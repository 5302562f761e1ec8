package dataset

// Unexported names that tests use.
const (
	MaxProbes       = maxProbes
	MaxAuthors      = maxAuthors
	MaxAuthorBytes  = maxAuthorBytes
	AuthorsProperty = authorsProperty
	JoinedProperty  = joinedProperty
)

var (
	OpenManifest = newDataset
	SameColumns  = sameColumns
	Signed       = signed
)

// Session returns the session of the table.
func (t *Table) Session() *Session { return t.session }

// Committers returns the number of tables in the session with a commit in progress.
func (t *Table) Committers() int { return len(t.session.commits) }
