package transaction

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"tiltyard/shared/protocol"
)

// A Ref refers to a transaction, to a part of a job, or to a poll. An id is parsed into a Ref once, where it enters the
// program ([ParseID]). The methods of [Store] derive record keys from the Ref and never parse them. One of these is set: a
// unit, the digits of a record, a change, or the table of a commit.
type Ref struct {
	Unit    Unit     // a job, a part or a poll
	Table   []string // the table of a commit
	Branch  string   // the branch of a commit; "" is the table itself
	Version uint64   // the version of a commit; 0 when only the UUID is known
	UUID    string   // the UUID of a commit; "" when only the version is known

	record string // the digits of the id of a commit or a change that has a record
	change *madeChange
}

// A madeChange is the decoded id of a change.
type madeChange struct {
	Change
	id string
	at time.Time
}

// A Unit is the piece of work that one worker leases at a time: a job, a part of one of its stages,
// or a poll. Parts count from 1.
type Unit struct {
	Job   string // the id of the job
	Stage string // stage of a part; "" when Part is 0
	Part  int    // 0 for the job itself
	poll  string // name of a poll, else ""; its other fields are empty: see [PollOf]
}

// Whole returns the job of a unit.
func (p Unit) Whole() Unit { return Unit{Job: p.Job} }

// isJob reports whether the unit is a job, as opposed to a part or a poll.
func (p Unit) isJob() bool { return p.Job != "" && p.Part == 0 }

// String describes the unit for users.
func (p Unit) String() string {
	switch {
	case p.poll != "":
		return "the check whether there is something to do"
	case p.Part == 0:
		return "the job"
	}
	return fmt.Sprintf("part %d of stage %s", p.Part, p.Stage)
}

// IsRecorded reports whether [Store.Get] can read the transaction. Other commits and changes have a record only if a
// client has altered them.
func (r Ref) IsRecorded() bool { return r.Unit != Unit{} || r.record != "" }

// IsChange reports whether the ref is the id of a change, which contains the change.
func (r Ref) IsChange() bool { return r.change != nil }

// The folders of transaction records. Commits and changes use the same one.
const (
	jobFolder    = "job"
	partFolder   = "part"
	pollFolder   = "look"
	commitFolder = "commit"
)

// key returns the key of the record.
func (r Ref) key() string {
	switch u := r.Unit; {
	case r.record != "":
		return commitFolder + "/" + r.record
	case u.poll != "":
		return pollFolder + "/" + u.poll
	case u.Part != 0:
		return partFolder + "/" + u.partID()
	default:
		return jobFolder + "/" + u.Job
	}
}

// id returns the id of the transaction for texts and records; "" for a commit without a record.
func (r Ref) id() string {
	switch u := r.Unit; {
	case r.record != "":
		return "c" + r.record
	case r.change != nil:
		return r.change.id
	case u.poll != "":
		return pollFolder + "/" + u.poll
	case u.Part != 0:
		return u.partID()
	default:
		return u.Job
	}
}

// partID returns the key of a part's record below partFolder. Four digits keep the parts in order.
func (p Unit) partID() string { return fmt.Sprintf("%s/%04d", stageID(p.Job, p.Stage), p.Part) }

// stageID returns the folder of a stage's parts, below partFolder.
func stageID(job, stage string) string { return job + "/" + stage }

// recorded returns a ref to the record that a commit or a change gets when a client alters it. Its name also depends on
// the table, because writers choose the UUIDs of their commits. A commit must have a UUID.
func (r Ref) recorded() Ref {
	switch {
	case r.change != nil:
		return recordOf(r.change.id)
	case r.Table != nil:
		return recordOf(protocol.JoinID(r.Table, protocol.DefaultDelimiter) + "\x00" + r.UUID)
	}
	return r
}

// recordOf returns a ref to the record that is named by the hash of a text.
func recordOf(text string) Ref {
	sum := sha256.Sum256([]byte(text))
	return Ref{record: hex.EncodeToString(sum[:idDigits/2])}
}

// NotFound returns the TransactionNotFound error. Commits that do not exist cause an error of their
// table instead.
func NotFound(ref Ref) error { return notFound(ref.id(), nil) }

func notFound(id string, err error) error {
	return &protocol.Error{
		Code: protocol.TransactionNotFound, Message: "transaction " + quote(id) + " does not exist", Err: err,
	}
}
