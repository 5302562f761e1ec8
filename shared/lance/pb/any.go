package pb

// Any is a google.protobuf.Any: a message with the name of its type, which begins with
// a slash in this format ("/lance.table.BTreeIndexDetails").
type Any struct {
	TypeURL string // 1
	Value   []byte // 2: part of the decoded input, not a copy
	Unknown []byte
}

// Unmarshal reads an encoded Any. It keeps parts of b.
func (a *Any) Unmarshal(b []byte) error {
	*a = Any{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			a.TypeURL = s.String()
		case 2:
			a.Value = s.Bytes()
		default:
			a.Unknown = append(a.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the Any.
func (a *Any) Marshal(e *Encoder) {
	e.String(1, a.TypeURL)
	e.Bytes(2, a.Value)
	e.Unknown(a.Unknown)
}
