package protocol

// LogUse says whether the rows in the write-ahead log of a table count (LSM, in newer clients RTE). Unset:
// they do if there is a log. True needs one; false is about the table alone.
type LogUse struct {
	UseLSM *bool `json:"use_lsm" query:"use_lsm"`
	UseRTE *bool `json:"use_rte" query:"use_rte"` // the name that newer clients use
}

// Wanted returns the flag under either name, nil if there is none.
func (u LogUse) Wanted() *bool {
	if u.UseLSM != nil {
		return u.UseLSM
	}
	return u.UseRTE
}

// LSMRequest is the request of the operations on the write-ahead log of a table. What else clients
// send with them has no meaning for a table without one.
type LSMRequest struct {
	Common
	Branch string `json:"branch" query:"branch"`
}

// LSMWriteSpec is how native writers collect rows in a write-ahead log.
type LSMWriteSpec struct {
	Sharding             LSMSharding       `json:"sharding"`
	MaintainedIndexes    *List[string]     `json:"maintained_indexes"` // nil: all
	WriterConfigDefaults map[string]string `json:"writer_config_defaults"`
}

// LSMSharding is how the rows of a log are divided.
type LSMSharding struct {
	Mode       string `json:"mode"`                  // unsharded, bucket or identity
	Column     string `json:"column,omitempty"`      // of bucket and identity
	NumBuckets int64  `json:"num_buckets,omitempty"` // of bucket
}

// GetLSMWriteSpecResponse holds the specification of a table's log, null if it has none.
type GetLSMWriteSpecResponse struct {
	Spec *LSMWriteSpec `json:"lsm_write_spec"`
}

// GetLSMStatsResponse says that there is no write-ahead log to flush or to compact.
type GetLSMStatsResponse struct {
	Stats *struct{} `json:"lsm_stats"` // always null
}

// GetRTESpecResponse is GetLSMWriteSpecResponse under the name that newer clients use.
type GetRTESpecResponse struct {
	Spec *LSMWriteSpec `json:"rte_spec"`
}

// GetRTEStatsResponse is GetLSMStatsResponse under the name that newer clients use.
type GetRTEStatsResponse struct {
	Stats *struct{} `json:"rte_stats"` // always null
}

// LSMResponse is an empty object.
type LSMResponse struct{}
