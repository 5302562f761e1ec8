package queryapi

import (
	"encoding/json"

	"tiltyard/shared/protocol"
)

// MaxParameters is the largest number of parameters of a statement.
const MaxParameters = 256

// StatementOperations has the row of the operation that runs statements.
var StatementOperations = []protocol.Operation{
	{
		Name: "ExecuteStatement", Methods: protocol.ByPost, Path: "/v1/sql", Group: protocol.GroupSQL, Access: protocol.Read, Origin: protocol.Own,
		Request: new(StatementRequest), Response: new(protocol.Rows), Summary: "Run an SQL statement",
		Note:      "A statement does what another operation does, with the right to that operation on each of its objects. Rows come in the forms of QueryTable, but not in storage.",
		MayWrite:  true,
		LeastBody: `{"query":"SELECT * FROM a"}`,
	},
}

// StatementRequest is a statement in SQL.
type StatementRequest struct {
	protocol.Common
	Query string `json:"query"`
	// NamespaceID is the namespace of the names that have no namespace in the query. Empty: the root.
	NamespaceID []string `json:"namespace_id"`
	// Parameters are the values of $name in the query: null, numbers, texts, true, false, and lists of them, such as vectors.
	Parameters map[string]json.RawMessage `json:"parameters"`
	// Describe asks for an answer without rows: nothing runs, and parameters need no values. It has the columns of the
	// answer, or the parameters as columns.
	Describe Description `json:"describe"`
}

// Validate refuses a missing statement and too many parameters.
func (r *StatementRequest) Validate() error {
	switch {
	case r.Query == "":
		return protocol.Errorf(protocol.InvalidInput, "query is missing: it is a statement such as SELECT * FROM docs LIMIT 10")
	case len(r.Parameters) > MaxParameters:
		return protocol.Errorf(protocol.InvalidInput, "parameters has %d values; at most %d are possible", len(r.Parameters), MaxParameters)
	}
	return protocol.CheckID(r.NamespaceID)
}

// A Description is what is described of a statement.
type Description uint8

// The descriptions; the first means that the statement runs.
const (
	DescribeNothing Description = iota
	DescribeColumns
	DescribeParameters
)

var descriptions = protocol.NewEnum("describe", "", "columns", "parameters")

// String returns the lower-case spelling, and "" for DescribeNothing.
func (d Description) String() string { return descriptions.Text(uint8(d)) }

// MarshalText writes the same text as String. The error is for an unknown value.
func (d Description) MarshalText() ([]byte, error) { return descriptions.Marshal(uint8(d)) }

// UnmarshalText accepts the spellings in any case.
func (d *Description) UnmarshalText(text []byte) error { return descriptions.Parse(text, (*uint8)(d)) }
