package dataapi

import "tiltyard/shared/protocol"

// LogOperations are the rows of the operations on a write-ahead log.
//
// LanceDB servers may collect the writes to a table in a log beside it (LSM, in newer clients RTE),
// from which they are merged into the table later. This service merges rows into the table before
// it answers, so the operations on the log refuse or have nothing to do.
var LogOperations = []protocol.Operation{
	{
		Name: "SetLsmWriteSpec", Methods: protocol.ByPost, Path: "/v1/table/{id}/set_lsm_write_spec", Group: protocol.GroupData, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(LSMRequest), Response: new(LSMResponse), Summary: "Ask for a write-ahead log (refused: this service has none)",
		NoMethod: "tables have no write-ahead log", Refused: errNoLog,
	},
	{
		Name: "UnsetLsmWriteSpec", Methods: protocol.ByPost, Path: "/v1/table/{id}/unset_lsm_write_spec", Group: protocol.GroupData, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(LSMRequest), Response: new(LSMResponse), Summary: "Ask for no write-ahead log",
		NoMethod: "tables have no write-ahead log", Refused: errNoLogSpec,
	},
	{
		Name: "GetLsmWriteSpec", Methods: protocol.ByPost, Path: "/v1/table/{id}/get_lsm_write_spec", Group: protocol.GroupData, Access: protocol.Read, Origin: protocol.LanceDB,
		Request: new(LSMRequest), Response: new(GetLSMWriteSpecResponse), Summary: "Ask how a write-ahead log is set up: there is none",
		NoMethod: "tables have no write-ahead log",
	},
	{
		Name: "FlushLsm", Methods: protocol.ByPost, Path: "/v1/table/{id}/flush_lsm", Group: protocol.GroupData, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(LSMRequest), Response: new(LSMResponse), Summary: "Flush the write-ahead log: there is none",
		NoMethod: "tables have no write-ahead log",
	},
	{
		Name: "CompactLsm", Methods: protocol.ByPost, Path: "/v1/table/{id}/compact_lsm", Group: protocol.GroupData, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(LSMRequest), Response: new(LSMResponse), Summary: "Compact the write-ahead log: there is none",
		NoMethod: "tables have no write-ahead log",
	},
	{
		Name: "GetLsmStats", Methods: protocol.ByPost, Path: "/v1/table/{id}/get_lsm_stats", Group: protocol.GroupData, Access: protocol.Read, Origin: protocol.LanceDB,
		Request: new(LSMRequest), Response: new(GetLSMStatsResponse), Summary: "Ask for the numbers of a write-ahead log: there is none",
		NoMethod: "tables have no write-ahead log",
	},
	{
		Name: "EnableRte", Methods: protocol.ByPost, Path: "/v1/table/{id}/enable_rte", Group: protocol.GroupData, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(LSMRequest), Response: new(LSMResponse), Summary: "SetLsmWriteSpec by its newer name",
		NoMethod: "another name of SetLsmWriteSpec", Refused: errNoLog,
	},
	{
		Name: "DisableRte", Methods: protocol.ByPost, Path: "/v1/table/{id}/disable_rte", Group: protocol.GroupData, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(LSMRequest), Response: new(LSMResponse), Summary: "UnsetLsmWriteSpec by its newer name",
		NoMethod: "another name of UnsetLsmWriteSpec", Refused: errNoLogSpec,
	},
	{
		Name: "GetRteSpec", Methods: protocol.ByPost, Path: "/v1/table/{id}/get_rte_spec", Group: protocol.GroupData, Access: protocol.Read, Origin: protocol.LanceDB,
		Request: new(LSMRequest), Response: new(GetRTESpecResponse), Summary: "GetLsmWriteSpec by its newer name",
		NoMethod: "another name of GetLsmWriteSpec",
	},
	{
		Name: "FlushRte", Methods: protocol.ByPost, Path: "/v1/table/{id}/flush_rte", Group: protocol.GroupData, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(LSMRequest), Response: new(LSMResponse), Summary: "FlushLsm by its newer name",
		NoMethod: "another name of FlushLsm",
	},
	{
		Name: "CompactRte", Methods: protocol.ByPost, Path: "/v1/table/{id}/compact_rte", Group: protocol.GroupData, Access: protocol.Write, Origin: protocol.LanceDB,
		Request: new(LSMRequest), Response: new(LSMResponse), Summary: "CompactLsm by its newer name",
		NoMethod: "another name of CompactLsm",
	},
	{
		Name: "GetRteStats", Methods: protocol.ByPost, Path: "/v1/table/{id}/get_rte_stats", Group: protocol.GroupData, Access: protocol.Read, Origin: protocol.LanceDB,
		Request: new(LSMRequest), Response: new(GetRTEStatsResponse), Summary: "GetLsmStats by its newer name",
		NoMethod: "another name of GetLsmStats",
	},
}

var (
	errNoLog = &protocol.Error{
		Code: protocol.Unsupported, Message: "tables here have no write-ahead log (LSM, RTE)",
		Detail: "merges and inserts are in the table when they are answered; leave the specification out",
	}
	errNoLogSpec = &protocol.Error{Code: protocol.InvalidInput, Message: "no write specification (LSM, RTE) is set on the table, so there is none to remove"}
)

// LSMRequest is the request of the operations on the write-ahead log of a table. What else clients
// send with them has no meaning for a table without one.
type LSMRequest struct {
	protocol.Common
	Branch string `json:"branch" query:"branch"`
}

// LSMWriteSpec is how native writers collect rows in a write-ahead log.
type LSMWriteSpec struct {
	Sharding             LSMSharding            `json:"sharding"`
	MaintainedIndexes    *protocol.List[string] `json:"maintained_indexes"` // nil: all
	WriterConfigDefaults map[string]string      `json:"writer_config_defaults"`
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
