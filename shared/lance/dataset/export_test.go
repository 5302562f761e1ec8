package dataset

// What tests look at that nobody else needs.
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

// Committers returns how many tables of the session are being committed to.
func (t *Table) Committers() int { return len(t.session.commits) }
