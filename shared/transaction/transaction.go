// Package transaction keeps what is known of transactions: jobs that go on after the
// request that asked for them, and commits of tables.
//
// A job has a record from the beginning. Who works on it moves it on ([Store.Advance]),
// from queued to running to its end; users may change its status and properties at any
// time ([Store.Alter]). Each change is one conditional write, so none is lost, and a job
// that a user has ended stays as the user left it: the worker is told so ([ErrEnded]).
// Workers hold a job one at a time, for as long as they say that they live (work.go).
//
// A commit needs no record. What it did is told by the version that it made, and its id
// says which version that is ([CommitID]). Only when somebody alters it a record is made,
// which from then on says how it stands. The same goes for a [Change] that is no commit, whose
// id says all that it was.
package transaction

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"tiltyard/shared/protocol"
)

// ErrEnded says to who works on a job that it has ended: by another worker, or because a
// user said so.
var ErrEnded = errors.New("the transaction has ended")

// A Transaction is a job or a commit, as of when it was read.
type Transaction struct {
	ID         string                     `json:"id"`
	Kind       string                     `json:"kind"`             // what a job does; the operation of a commit
	Object     []string                   `json:"object,omitempty"` // id of the table or namespace that it works on
	Status     protocol.TransactionStatus `json:"status"`
	Properties map[string]string          `json:"properties,omitempty"` // of users
	Done       int64                      `json:"done,omitempty"`       // of Total steps of the job
	Total      int64                      `json:"total,omitempty"`      // zero when it is not known
	Rows       int64                      `json:"rows,omitempty"`       // that the job has done
	Result     json.RawMessage            `json:"result,omitempty"`     // of a job that succeeded
	Failure    string                     `json:"failure,omitempty"`    // why a job failed
	Created    time.Time                  `json:"created"`
	Updated    time.Time                  `json:"updated"`
	Commit     *Commit                    `json:"commit,omitempty"` // nil for a job
	Change     *Change                    `json:"change,omitempty"` // nil for jobs and commits
	Work       *Work                      `json:"work,omitempty"`   // nil when no worker goes on with it
}

// A Commit is what made a version of a table.
type Commit struct {
	UUID        string            `json:"uuid"`
	Branch      string            `json:"branch,omitempty"` // "" is the table itself
	Version     uint64            `json:"version"`
	ReadVersion uint64            `json:"read_version"` // what its writer had read
	Operation   string            `json:"operation"`
	Properties  map[string]string `json:"properties,omitempty"` // that the writer gave it
}

// OfCommit returns the transaction that a commit of a table is, as long as nobody has
// altered it.
func OfCommit(table []string, commit Commit) *Transaction {
	return &Transaction{
		Kind: commit.Operation, Object: table, Status: protocol.TransactionSucceeded,
		Properties: maps.Clone(commit.Properties), Commit: &commit,
	}
}

// Describe returns the properties that clients are shown: those of users, and with them
// what is known besides.
func (t *Transaction) Describe() map[string]string {
	shown := map[string]string{}
	if t.Failure != "" {
		shown["error"] = t.Failure
	}
	of := func(name string, done, total int64) {
		if total > 0 {
			shown[name] = strconv.FormatInt(done, 10) + "/" + strconv.FormatInt(total, 10)
		}
	}
	of("progress", t.Done, t.Total)
	if w := t.Work; w != nil {
		if w.Stage != "" {
			shown["stage"] = w.Stage
		}
		of("stages", int64(w.StagesDone), int64(w.Stages))
		of("parts", int64(w.PartsDone), int64(w.Parts))
	}
	if t.Rows > 0 {
		shown["rows"] = strconv.FormatInt(t.Rows, 10)
	}
	maps.Copy(shown, t.Properties)
	if t.Change != nil {
		maps.Copy(shown, t.Change.describe())
	}
	if c := t.Commit; c != nil {
		shown["uuid"], shown["operation"] = c.UUID, c.Operation
		shown["version"] = strconv.FormatUint(c.Version, 10)
		if c.Branch != "" {
			shown["branch"] = c.Branch
		}
		shown["read_version"] = strconv.FormatUint(c.ReadVersion, 10)
	}
	return shown
}

// derived is the properties of a commit that are what they are.
var derived = []string{"uuid", "branch", "version", "read_version", "operation", "tag"}

// apply makes changes, one after the other. When one cannot be made the transaction is
// spoilt and the error is the protocol's.
func (t *Transaction) apply(actions []protocol.TransactionAction) error {
	t.Properties = maps.Clone(t.Properties)
	if t.Properties == nil {
		t.Properties = map[string]string{}
	}
	for _, action := range actions {
		if action.SetStatus != nil {
			t.Status = action.SetStatus.Status
		}
		if action.SetProperty != nil {
			if err := t.set(action.SetProperty); err != nil {
				return err
			}
		}
		if action.UnsetProperty != nil {
			if err := t.unset(action.UnsetProperty); err != nil {
				return err
			}
		}
	}
	return protocol.CheckProperties(t.Properties)
}

func (t *Transaction) set(action *protocol.SetPropertyAction) error {
	if err := t.mayChange(action.Key); err != nil {
		return err
	}
	_, taken := t.Properties[action.Key]
	switch {
	case taken && action.Mode == protocol.SetPropertyFail:
		return &protocol.Error{
			Code: protocol.ConcurrentModification, Message: "property " + quote(action.Key) + " exists and the mode is Fail",
			Detail: "nothing of the request was applied",
		}
	case taken && action.Mode == protocol.SetPropertySkip:
		return nil
	}
	t.Properties[action.Key] = *action.Value
	return nil
}

func (t *Transaction) unset(action *protocol.UnsetPropertyAction) error {
	if err := t.mayChange(action.Key); err != nil {
		return err
	}
	if _, there := t.Properties[action.Key]; !there && action.Mode == protocol.UnsetPropertyFail {
		return &protocol.Error{
			Code: protocol.InvalidInput, Message: "property " + quote(action.Key) + " does not exist and the mode is Fail",
			Detail: "nothing of the request was applied",
		}
	}
	delete(t.Properties, action.Key)
	return nil
}

func (t *Transaction) mayChange(key string) error {
	if t.Commit != nil && slices.Contains(derived, key) {
		return protocol.Errorf(protocol.InvalidInput, "property %s of a commit cannot be changed", key)
	}
	if t.Change != nil {
		if _, fixed := t.Change.describe()[key]; fixed {
			return protocol.Errorf(protocol.InvalidInput, "property %s of a change cannot be changed", key)
		}
	}
	return nil
}

func quote(key string) string {
	const most = 80
	return strconv.Quote(key[:min(len(key), most)])
}
