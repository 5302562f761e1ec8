package protocol

import "encoding/json"

// jobOperations are the rows of the operations on jobs.
var jobOperations = []Operation{
	{
		Name: "ListJobs", Methods: listByPost, Path: "/v1/jobs/list", Group: GroupJob, Access: Read, Origin: LanceDB,
		Request: new(ListJobsRequest), Response: new(ListJobsResponse), Summary: "List jobs, the newest first",
	},
	{
		Name: "DescribeJob", Methods: post, Path: "/v1/jobs/describe", Group: GroupJob, Access: Read, Origin: LanceDB,
		Request: new(JobRequest), Response: new(DescribeJobResponse), Summary: "Describe a job",
		LeastBody: `{"job_id":"a"}`,
	},
	{
		Name: "QueryJobEvents", Methods: post, Path: "/v1/jobs/query_events", Group: GroupJob, Access: Read, Origin: LanceDB,
		Request: new(QueryJobEventsRequest), Response: new(Rows), Summary: "Read the events of a job",
		LeastBody: `{"job_id":"a"}`,
	},
	{
		Name: "CancelJob", Methods: post, Path: "/v1/jobs/cancel", Group: GroupJob, Access: Write, Origin: LanceDB,
		Request: new(JobRequest), Response: new(Empty), Summary: "Cancel a job",
		Frees: true, LeastBody: `{"job_id":"a"}`,
		Note: "What it has committed stays.",
	},
	{
		Name: "PauseJob", Methods: post, Path: "/v1/jobs/pause", Group: GroupJob, Access: Write, Origin: LanceDB,
		Request: new(JobRequest), Response: new(PauseJobResponse), Summary: "Pause a job",
		LeastBody: `{"job_id":"a"}`,
	},
	{
		Name: "ResumeJob", Methods: post, Path: "/v1/jobs/resume", Group: GroupJob, Access: Write, Origin: LanceDB,
		Request: new(JobRequest), Response: new(ResumeJobResponse), Summary: "Resume a job",
		LeastBody: `{"job_id":"a"}`,
	},
}

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

	Progress *JobProgress `json:"progress,omitempty"` // nil before the first run
}

// JobProgress tells how far a job is, which may be a little further.
type JobProgress struct {
	Stage      string `json:"stage"` // that it is in, or was last
	StagesDone int    `json:"stages_done"`
	Stages     int    `json:"stages"`
	PartsDone  int    `json:"parts_done"` // of the stage, when it is done in parts
	Parts      int    `json:"parts"`
	StepsDone  int64  `json:"steps_done"` // of the stage
	Steps      int64  `json:"steps"`      // 0 when it is not known
	RowsDone   int64  `json:"rows_done"`
}

// JobRequest names one job. It asks to describe it, or to cancel it.
type JobRequest struct {
	Common
	JobID string `json:"job_id"`
}

// Validate requires a job id.
func (r *JobRequest) Validate() error { return requireText("job_id", r.JobID) }

// Bounds of the events in an answer.
const (
	defaultEvents = 1000
	maxEvents     = 10_000
)

// QueryJobEventsRequest asks for events of a job, the oldest first.
type QueryJobEventsRequest struct {
	Common
	JobID  string `json:"job_id"`
	Limit  *int64 `json:"limit"`  // nil is 1,000; at most 10,000
	Filter string `json:"filter"` // over state, updated_by, emitted_from, emitted_by and claim_entity
}

// Validate requires a job id, and bounds the rest.
func (r *QueryJobEventsRequest) Validate() error {
	switch {
	case r.Limit != nil && *r.Limit < 0:
		return Errorf(InvalidInput, "limit is %d; it is the greatest number of events, at most %d", *r.Limit, maxEvents)
	case len(r.Filter) > MaxFilterBytes:
		return Errorf(InvalidInput, "filter is longer than %d bytes", MaxFilterBytes)
	}
	return requireText("job_id", r.JobID)
}

// Most returns the greatest number of events in the answer.
func (r *QueryJobEventsRequest) Most() int {
	if r.Limit == nil {
		return defaultEvents
	}
	return int(min(*r.Limit, maxEvents))
}

// DescribeJobResponse has the state of a job.
type DescribeJobResponse struct {
	JobID      string          `json:"job_id"`
	JobType    string          `json:"job_type"`
	JobState   JobState        `json:"job_state"`
	CreationMs int64           `json:"creation_ms"`
	Spec       json.RawMessage `json:"spec"` // an object: what it was begun with
	Progress   *JobProgress    `json:"progress,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`  // of one that is done
	Failure    *JobFailure     `json:"failure,omitempty"` // of one that failed
}

// JobFailure says why a job failed.
type JobFailure struct {
	Phase     string `json:"phase"` // the stage
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"` // it was set aside, and goes on when it is resumed
}
