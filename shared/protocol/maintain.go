package protocol

// maintainOperations are the rows of the operations that maintain tables.
var maintainOperations = []Operation{
	{
		Name: "MaintainTable", Methods: post, Path: "/v1/table/{id}/maintain", Group: GroupTable, Access: Write, Origin: Own,
		Request: new(MaintainTableRequest), Response: new(MaintainTableResponse), Summary: "Compact a table, bring its indices up to date, delete old versions",
		Frees: true, LeastBody: `{"compact":true}`,
		Note: "A job does it; a dry run returns what the job would do.",
	},
}

// MaintainTableRequest asks for a table to be kept fit now. It is an operation of this service
// that no specification has.
type MaintainTableRequest struct {
	Common
	// Compact, Indices and Cleanup say what to do: join small fragments, bring the indices up to date,
	// delete old versions. Nil: yes, or no when another one is true.
	Compact *bool `json:"compact"`
	Indices *bool `json:"indices"`
	Cleanup *bool `json:"cleanup"`
	// OlderThan is for how long versions are kept after they were replaced, such as 7d or
	// 36h, an hour at least. Empty: what the properties of the table say.
	OlderThan string `json:"older_than"`
	// KeepVersions is how many versions are kept at least. Nil: what the properties say.
	KeepVersions *int `json:"keep_versions"`
	// DryRun tells what would be done instead of doing it.
	DryRun bool `json:"dry_run"`
}

// Validate refuses what asks for nothing.
func (r *MaintainTableRequest) Validate() error {
	if !r.Wants(r.Compact) && !r.Wants(r.Indices) && !r.Wants(r.Cleanup) {
		return Errorf(InvalidInput, "none of compact, indices and cleanup is asked for")
	}
	if r.KeepVersions != nil && *r.KeepVersions < 1 {
		return Errorf(InvalidInput, "keep_versions is %d; it must be 1 or more", *r.KeepVersions)
	}
	return nil
}

// Wants reports whether one of the three is asked for.
func (r *MaintainTableRequest) Wants(this *bool) bool {
	if this != nil {
		return *this
	}
	for _, one := range []*bool{r.Compact, r.Indices, r.Cleanup} {
		if one != nil && *one {
			return false
		}
	}
	return true
}

// MaintainTableResponse names the job, under both of its names, or tells what it would do.
type MaintainTableResponse struct {
	JobID         string `json:"job_id,omitempty"`
	TransactionID string `json:"transaction_id,omitempty"`
	Report        any    `json:"report,omitempty"`
}

// PauseJobResponse has the state in which a request to pause found a job. No field is set when it was
// paused before.
type PauseJobResponse struct {
	Paused     bool `json:"paused,omitempty"`     // it will be, from its next checkpoint on
	Committing bool `json:"committing,omitempty"` // it has ended, or is just about to
}

// ResumeJobResponse has the state in which a request to resume found a job. No field is set
// when the job was neither paused nor set aside.
type ResumeJobResponse struct {
	Resumed      bool `json:"resumed,omitempty"`
	StillPausing bool `json:"still_pausing,omitempty"` // its worker had not noticed; it goes on
}
