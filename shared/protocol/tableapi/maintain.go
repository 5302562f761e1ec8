package tableapi

import "tiltyard/shared/protocol"

// MaintainOperations are the rows of the operations that maintain tables.
var MaintainOperations = []protocol.Operation{
	{
		Name: "MaintainTable", Methods: protocol.ByPost, Path: "/v1/table/{id}/maintain", Group: protocol.GroupTable, Access: protocol.Write, Origin: protocol.Own,
		Request: new(MaintainRequest), Response: new(MaintainResponse), Summary: "Compact a table, bring its indices up to date, delete old versions",
		Frees: true, LeastBody: `{"compact":true}`,
		Note: "A job does it; a dry run returns what the job would do.",
	},
}

// MaintainRequest asks for a table to be kept fit now. It is an operation of this service
// that no specification has.
type MaintainRequest struct {
	protocol.Common
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

// Validate refuses a request without any work.
func (r *MaintainRequest) Validate() error {
	if !r.Wants(r.Compact) && !r.Wants(r.Indices) && !r.Wants(r.Cleanup) {
		return protocol.Errorf(protocol.InvalidInput, "none of compact, indices and cleanup is asked for")
	}
	if r.KeepVersions != nil && *r.KeepVersions < 1 {
		return protocol.Errorf(protocol.InvalidInput, "keep_versions is %d; it must be 1 or more", *r.KeepVersions)
	}
	return nil
}

// Wants reports whether the request includes the work of one of its three flags.
func (r *MaintainRequest) Wants(this *bool) bool {
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

// MaintainResponse names the job, under both of its names, or tells what it would do.
type MaintainResponse struct {
	JobID         string `json:"job_id,omitempty"`
	TransactionID string `json:"transaction_id,omitempty"`
	Report        any    `json:"report,omitempty"`
}
