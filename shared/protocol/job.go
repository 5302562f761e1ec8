package protocol

import "encoding/json"

// JobState is the status of a transaction as LanceDB clients spell it.
type JobState string

// The states. Clients wait while it is none of the last three.
const (
	JobInProgress JobState = "IN_PROGRESS"
	JobDone       JobState = "DONE"
	JobFailed     JobState = "FAILED"
	JobCancelled  JobState = "CANCELLED"
)

// ListJobsRequest asks for long-running transactions, the newest first.
type ListJobsRequest struct {
	Common
	Page
}

// ListJobsResponse holds some of them.
type ListJobsResponse struct {
	Jobs      List[Job] `json:"jobs"`
	PageToken string    `json:"page_token,omitempty"`
}

// Job is one entry of the list.
type Job struct {
	JobID           string   `json:"job_id"`
	Table           string   `json:"table"`
	JobType         string   `json:"job_type"`
	State           JobState `json:"state"`
	CreatedAtMillis int64    `json:"created_at_millis"`
}

// JobRequest names one job. It asks to describe it, or to cancel it.
type JobRequest struct {
	Common
	JobID string `json:"job_id"`
}

// Validate requires a job id.
func (r *JobRequest) Validate() error { return requireText("job_id", r.JobID) }

// DescribeJobResponse tells how a job stands.
type DescribeJobResponse struct {
	JobID      string          `json:"job_id"`
	JobType    string          `json:"job_type"`
	JobState   JobState        `json:"job_state"`
	CreationMs int64           `json:"creation_ms"`
	Result     json.RawMessage `json:"result,omitempty"`  // of one that is done
	Failure    *JobFailure     `json:"failure,omitempty"` // of one that failed
}

// JobFailure says why a job failed.
type JobFailure struct {
	Phase     string `json:"phase"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
}
