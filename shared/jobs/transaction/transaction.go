// Package transaction stores the records of transactions: jobs, which run longer than the requests
// that start them, commits of tables, and other changes.
//
// A job has a record from the beginning. Its worker moves it from queued to running to its end
// ([Store.Advance]); users may change its status and properties at any time ([Store.Alter]). Each
// change is one conditional write, so no change is lost. A job that a user has ended stays ended:
// the worker gets [ErrEnded]. One worker at a time leases a job, for as long as it sends heartbeats
// (work.go).
//
// A commit needs no record. The version that it made contains its contents, and its id names that
// version ([CommitID]). When a client alters the transaction, it gets a record, which contains its
// state from then on. The same applies to a [Change], whose id contains the change itself.
//
// An id is parsed where it enters the program, into a [Ref] (ref.go), from which the store derives
// keys.
package transaction

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/transactionapi"
)

// ErrEnded means that another worker or a user has ended the job.
var ErrEnded = errors.New("the transaction has ended")

// A Transaction is a copy of a job, a commit or a change at the time it was read.
type Transaction struct {
	ID         string                `json:"id"`
	Kind       string                `json:"kind"`             // the kind of a job, or the operation of a commit
	Object     []string              `json:"object,omitempty"` // id of the table or namespace that it changes
	Status     transactionapi.Status `json:"status"`
	Properties map[string]string     `json:"properties,omitempty"` // set by users
	Done       int64                 `json:"done,omitempty"`       // finished steps of the job, out of Total
	Total      int64                 `json:"total,omitempty"`      // zero when unknown
	Rows       int64                 `json:"rows,omitempty"`       // rows that the job has processed
	Result     json.RawMessage       `json:"result,omitempty"`     // result of a job that succeeded
	Failure    string                `json:"failure,omitempty"`    // reason why a job failed
	Created    time.Time             `json:"created"`
	Updated    time.Time             `json:"updated"`
	Commit     *Commit               `json:"commit,omitempty"` // nil for a job
	Change     *Change               `json:"change,omitempty"` // nil for jobs and commits
	Work       *Work                 `json:"work,omitempty"`   // nil unless workers run the job
}

// A Commit describes the commit that made a version of a table.
type Commit struct {
	UUID        string            `json:"uuid"`
	Branch      string            `json:"branch,omitempty"` // "" is the table itself
	Version     uint64            `json:"version"`
	ReadVersion uint64            `json:"read_version"` // the version on which its writer based it
	Operation   string            `json:"operation"`
	Properties  map[string]string `json:"properties,omitempty"` // set by the writer
}

// OfCommit returns the transaction of a commit as it was made, without later alterations.
func OfCommit(table []string, commit Commit) *Transaction {
	return &Transaction{
		Kind: commit.Operation, Object: table, Status: transactionapi.Succeeded,
		Properties: maps.Clone(commit.Properties), Commit: &commit,
	}
}

// Describe returns the properties that clients see: the ones that users set, and derived ones such
// as the progress.
func (t *Transaction) Describe() map[string]string {
	shown := map[string]string{}
	if t.Failure != "" && t.Status == transactionapi.Failed {
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
	// Fixed properties come last, so that clients cannot hide them.
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

// derived lists the properties of a commit that cannot be altered.
var derived = []string{"uuid", "branch", "version", "read_version", "operation", "tag"}

// apply applies the actions in order. After an error, which is a protocol error, the transaction
// must be discarded.
func (t *Transaction) apply(actions []transactionapi.Action) error {
	// The caller's map may be shared with another copy.
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

// set sets a property as the mode of the action requires: it fails, skips or overwrites if the
// property exists.
func (t *Transaction) set(action *transactionapi.SetPropertyAction) error {
	if err := t.mayChange(action.Key); err != nil {
		return err
	}
	_, taken := t.Properties[action.Key]
	switch {
	case taken && action.Mode == transactionapi.SetPropertyFail:
		return &protocol.Error{
			Code: protocol.ConcurrentModification, Message: "property " + quote(action.Key) + " exists and the mode is Fail",
			Detail: "the request changed nothing",
		}
	case taken && action.Mode == transactionapi.SetPropertySkip:
		return nil
	}
	t.Properties[action.Key] = *action.Value
	return nil
}

// unset deletes a property. A missing one is an error only in the mode Fail.
func (t *Transaction) unset(action *transactionapi.UnsetPropertyAction) error {
	if err := t.mayChange(action.Key); err != nil {
		return err
	}
	if _, there := t.Properties[action.Key]; !there && action.Mode == transactionapi.UnsetPropertyFail {
		return &protocol.Error{
			Code: protocol.InvalidInput, Message: "property " + quote(action.Key) + " does not exist and the mode is Fail",
			Detail: "the request changed nothing",
		}
	}
	delete(t.Properties, action.Key)
	return nil
}

// mayChange returns an InvalidInput error for a property that the commit or change itself determines.
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

// quote quotes at most the first 80 bytes of a key for an error message.
func quote(key string) string {
	const most = 80
	return strconv.Quote(key[:min(len(key), most)])
}
