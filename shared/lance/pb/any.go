package pb

// Any is a google.protobuf.Any: a message with the name of its type. In this format the
// name begins with a slash ("/lance.table.BTreeIndexDetails").
//
//pb:message
type Any struct {
	TypeURL string `pb:"1"`
	Value   []byte `pb:"2"` // part of the decoded input, not a copy
	Unknown []byte
}
