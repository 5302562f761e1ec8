package pb

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Transaction records what a commit did, so that concurrent commits can be checked against
// it.
//
// Source: protos/transaction.proto of the format.
type Transaction struct {
	ReadVersion uint64            // 1: the version that its writer had read
	UUID        string            // 2
	Tag         string            // 3: unused
	Properties  map[string]string // 4
	Operation   Operation         // 100 to 199; nil when there is none
	Unknown     []byte
}

// CommitMessage is the property that holds the message of a commit.
const CommitMessage = "__lance_commit_message"

// An Operation is the content of a transaction: *Append, *Delete, *Overwrite, *CreateIndex,
// *Rewrite, *Merge, *Restore, *ReserveFragments, *Update, *Project, *UpdateConfig,
// *DataReplacement, *Clone, *UpdateBases or, for one that we do not interpret,
// *OpaqueOperation.
type Operation interface {
	// OperationName returns the format's name of the operation, such as "Append".
	OperationName() string
	number() protowire.Number
	Unmarshal(b []byte) error
	Marshal(e *Encoder)
}

// OperationName returns the name of the transaction's operation, or "None".
func (t *Transaction) OperationName() string {
	if t.Operation == nil {
		return "None"
	}
	return t.Operation.OperationName()
}

// Unmarshal reads an encoded Transaction. The result shares memory with b.
func (t *Transaction) Unmarshal(b []byte) error {
	*t = Transaction{}
	s := NewScanner(b)
	for s.Next() {
		switch {
		case s.Num == 1:
			t.ReadVersion = s.Uint64()
		case s.Num == 2:
			t.UUID = s.String()
		case s.Num == 3:
			t.Tag = s.String()
		case s.Num == 4:
			ScanMapEntry(s, &t.Properties)
		case s.Num >= 100 && s.Num <= 199:
			t.Operation = newOperation(s.Num)
			s.Message(t.Operation.Unmarshal)
		default:
			t.Unknown = append(t.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the Transaction.
func (t *Transaction) Marshal(e *Encoder) {
	e.Uint64(1, t.ReadVersion)
	e.String(2, t.UUID)
	e.String(3, t.Tag)
	EncodeMap(e, 4, t.Properties)
	if t.Operation != nil {
		e.Message(t.Operation.number(), t.Operation.Marshal)
	}
	e.Unknown(t.Unknown)
}

// OpaqueOperation is an operation that we do not interpret. It conflicts with all others.
type OpaqueOperation struct {
	Number protowire.Number // its field number, 100 to 199
	Raw    []byte           // its message
}

// OperationName returns the operation's name, or its number if the name is not known.
func (o *OpaqueOperation) OperationName() string {
	switch o.Number {
	case 112:
		return "UpdateMemWalState"
	case 115:
		return "DataOverlay"
	}
	return fmt.Sprintf("operation %d", o.Number)
}

func (o *OpaqueOperation) number() protowire.Number { return o.Number }

// Unmarshal keeps b.
func (o *OpaqueOperation) Unmarshal(b []byte) error {
	o.Raw = b
	return nil
}

// Marshal writes the message as it was read.
func (o *OpaqueOperation) Marshal(e *Encoder) { e.Unknown(o.Raw) }
