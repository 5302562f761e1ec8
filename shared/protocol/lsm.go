package protocol

// LSMRequest is the request of the operations on the write-ahead log of a table. What else clients
// send with them has no meaning for a table without one.
type LSMRequest struct {
	Common
	Branch string `json:"branch" query:"branch"`
}

// GetLSMWriteSpecResponse says that writes to the table use no write-ahead log.
type GetLSMWriteSpecResponse struct {
	Spec *struct{} `json:"lsm_write_spec"` // always null
}

// GetLSMStatsResponse says that there is no write-ahead log to flush or to compact.
type GetLSMStatsResponse struct {
	Stats *struct{} `json:"lsm_stats"` // always null
}

// GetRTESpecResponse is GetLSMWriteSpecResponse under the name that newer clients use.
type GetRTESpecResponse struct {
	Spec *struct{} `json:"rte_spec"` // always null
}

// GetRTEStatsResponse is GetLSMStatsResponse under the name that newer clients use.
type GetRTEStatsResponse struct {
	Stats *struct{} `json:"rte_stats"` // always null
}

// LSMResponse is an empty object.
type LSMResponse struct{}
