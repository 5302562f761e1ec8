package protocol

// LogUse says whether the rows in the write-ahead log of a table count (LSM, in newer clients RTE). Unset:
// they do if there is a log. True needs one; false is about the table alone.
type LogUse struct {
	UseLSM *bool `json:"use_lsm" query:"use_lsm"`
	UseRTE *bool `json:"use_rte" query:"use_rte"` // the name that newer clients use
}

// Wanted returns the flag under either name, or nil if it is absent.
func (u LogUse) Wanted() *bool {
	if u.UseLSM != nil {
		return u.UseLSM
	}
	return u.UseRTE
}
