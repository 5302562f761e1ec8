package schemaapi

import (
	"net/http"

	"tiltyard/shared/protocol"
)

// BackfillColumnsRequest asks for the values of a computed column. What is not listed here is
// about how other services run functions, and is ignored.
type BackfillColumnsRequest struct {
	protocol.Common
	Column      string `json:"column"`
	Where       string `json:"where"`        // rows to compute; "" is those without a value and those whose inputs changed
	ReadVersion *int64 `json:"read_version"` // whose fragments are filled; nil is the newest
	Fragments   *int64 `json:"num_frags"`    // most fragments to fill
	// Granularity is how many fragments are committed together.
	Granularity *int64 `json:"commit_granularity"`
	// TaskSize and CheckpointSize are rows after which values are committed, at the end of a fragment.
	TaskSize       *int64 `json:"task_size"`
	CheckpointSize *int64 `json:"checkpoint_size"`
	// Concurrency is how many workers compute rows at the same time at most.
	Concurrency *int64 `json:"concurrency"`
	Branch      string `json:"branch" query:"branch"`
}

// Validate requires a column and counts from 1.
func (r *BackfillColumnsRequest) Validate() error {
	if r.Column == "" {
		return protocol.Errorf(protocol.InvalidInput, "column is required: the computed column whose values are wanted")
	}
	for name, value := range map[string]*int64{"read_version": r.ReadVersion, "num_frags": r.Fragments, "commit_granularity": r.Granularity, "task_size": r.TaskSize, "checkpoint_size": r.CheckpointSize, "concurrency": r.Concurrency} {
		if value != nil && (*value < 1 || *value > 1<<31-1 && (name == "num_frags" || name == "commit_granularity" || name == "concurrency")) {
			return protocol.Errorf(protocol.InvalidInput, "%s is %d; it counts from 1", name, *value)
		}
	}
	return nil
}

// BackfillColumnsResponse names the job that computes the values.
type BackfillColumnsResponse struct {
	JobID         string `json:"job_id"`
	TransactionID string `json:"transaction_id"` // the same
}

// HTTPStatus returns the status of the answer.
func (*BackfillColumnsResponse) HTTPStatus() int { return http.StatusAccepted }
