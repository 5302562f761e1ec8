package jobapi

import (
	"encoding/json"

	"tiltyard/shared/protocol"
)

// Operations are the rows of the operations on jobs.
var Operations = []protocol.Operation{
	{
		Name: "ListJobs", Methods: protocol.ByPostOrGet, Path: "/v1/jobs/list", Group: protocol.GroupJob, Access: protocol.Read, Origin: protocol.LanceDB,
		Request: new(ListRequest), Response: new(ListResponse), Summary: "List jobs, the newest first",
	},
	{
		Name: "DescribeJob", Methods: protocol.ByPost, Path: "/v1/jobs/describe", Group: protocol.GroupJob, Access: protocol.Read, Origin: protocol.LanceDB,
		Request: new(Request), Response: new(DescribeResponse), Summary: "Describe a job",
		LeastBody: `{"job_id":"a"}`,
	},
	{
		Name: "QueryJobEvents", Methods: protocol.ByPost, Path: "/v1/jobs/query_events", Group: protocol.GroupJob, Access: protocol.Read, Origin: protocol.LanceDB,
		Request: new(QueryEventsRequest), Response: new(protocol.Rows), Summary: "Read the events of a job",
		LeastBody: `{"job_id":"a"}`,
	},
	{
		Name: "CancelJob", Methods: protocol.ByPost, Path: "/v1/jobs/cancel", Group: protocol.GroupJob, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(Request), Response: new(protocol.Empty), Summary: "Cancel a job",
		Frees: true, LeastBody: `{"job_id":"a"}`,
		Note: "What it has committed stays.",
	},
	{
		Name: "PauseJob", Methods: protocol.ByPost, Path: "/v1/jobs/pause", Group: protocol.GroupJob, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(Request), Response: new(PauseResponse), Summary: "Pause a job",
		LeastBody: `{"job_id":"a"}`,
	},
	{
		Name: "ResumeJob", Methods: protocol.ByPost, Path: "/v1/jobs/resume", Group: protocol.GroupJob, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(Request), Response: new(ResumeResponse), Summary: "Resume a job",
		LeastBody: `{"job_id":"a"}`,
	},
}

// State is the status of a transaction as LanceDB clients spell it.
type State string

// The states. Clients wait while it is none of the last three.
const (
	InProgress State = "IN_PROGRESS"
	Done       State = "DONE"
	Failed     State = "FAILED"
	Cancelled  State = "CANCELLED"
)

// ListRequest asks for long-running transactions, the newest first.
type ListRequest struct {
	protocol.Common
	protocol.Page
}

// ListResponse holds some of them.
type ListResponse struct {
	Jobs      protocol.List[Job] `json:"jobs"`
	PageToken string             `json:"page_token,omitempty"`
}

// Job is one entry of the list.
type Job struct {
	JobID           string `json:"job_id"`
	Table           string `json:"table"`
	JobType         string `json:"job_type"`
	State           State  `json:"state"`
	CreatedAtMillis int64  `json:"created_at_millis"`

	Progress *Progress `json:"progress,omitempty"` // nil before the first run
}

// Progress tells how far a job is, which may be a little further.
type Progress struct {
	Stage      string `json:"stage"` // that it is in, or was last
	StagesDone int    `json:"stages_done"`
	Stages     int    `json:"stages"`
	PartsDone  int    `json:"parts_done"` // of the stage, when it is done in parts
	Parts      int    `json:"parts"`
	StepsDone  int64  `json:"steps_done"` // of the stage
	Steps      int64  `json:"steps"`      // 0 when it is not known
	RowsDone   int64  `json:"rows_done"`
}

// Request names one job. It asks to describe it, or to cancel it.
type Request struct {
	protocol.Common
	JobID string `json:"job_id"`
}

// Validate requires a job id.
func (r *Request) Validate() error { return protocol.RequireText("job_id", r.JobID) }

// Bounds of the events in an answer.
const (
	defaultEvents = 1000
	maxEvents     = 10_000
)

// QueryEventsRequest asks for events of a job, the oldest first.
type QueryEventsRequest struct {
	protocol.Common
	JobID  string `json:"job_id"`
	Limit  *int64 `json:"limit"`  // nil is 1,000; at most 10,000
	Filter string `json:"filter"` // over state, updated_by, emitted_from, emitted_by and claim_entity
}

// Validate requires a job id, and bounds the rest.
func (r *QueryEventsRequest) Validate() error {
	switch {
	case r.Limit != nil && *r.Limit < 0:
		return protocol.Errorf(protocol.InvalidInput, "limit is %d; it is the greatest number of events, at most %d", *r.Limit, maxEvents)
	case len(r.Filter) > protocol.MaxFilterBytes:
		return protocol.Errorf(protocol.InvalidInput, "filter is longer than %d bytes", protocol.MaxFilterBytes)
	}
	return protocol.RequireText("job_id", r.JobID)
}

// Most returns the greatest number of events in the answer.
func (r *QueryEventsRequest) Most() int {
	if r.Limit == nil {
		return defaultEvents
	}
	return int(min(*r.Limit, maxEvents))
}

// DescribeResponse has the state of a job.
type DescribeResponse struct {
	JobID      string          `json:"job_id"`
	JobType    string          `json:"job_type"`
	JobState   State           `json:"job_state"`
	CreationMs int64           `json:"creation_ms"`
	Spec       json.RawMessage `json:"spec"` // an object: what it was begun with
	Progress   *Progress       `json:"progress,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`  // of one that is done
	Failure    *Failure        `json:"failure,omitempty"` // of one that failed
}

// Failure says why a job failed.
type Failure struct {
	Phase     string `json:"phase"` // the stage
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"` // it was set aside, and goes on when it is resumed
}

// PauseResponse has the state in which a request to pause found a job. No field is set when it was
// paused before.
type PauseResponse struct {
	Paused     bool `json:"paused,omitempty"`     // it will be, from its next checkpoint on
	Committing bool `json:"committing,omitempty"` // it has ended, or is just about to
}

// ResumeResponse has the state in which a request to resume found a job. No field is set
// when the job was neither paused nor set aside.
type ResumeResponse struct {
	Resumed      bool `json:"resumed,omitempty"`
	StillPausing bool `json:"still_pausing,omitempty"` // its worker had not noticed; it goes on
}
