package pb

// Rewrite replaces groups of fragments by others with the same live rows; compaction
// commits it. The deprecated lists outside of groups (fields 1 and 2) are Unknown.
//
//pb:operation 104
type Rewrite struct {
	Groups           []RewriteGroup   `pb:"3"`
	RewrittenIndices []RewrittenIndex `pb:"4"`
	Unknown          []byte
}

// RewriteGroup is some fragments, and the fragments that replace them.
//
//pb:message
type RewriteGroup struct {
	OldFragments []*Fragment `pb:"1"`
	NewFragments []*Fragment `pb:"2"` // with ids that were reserved before
	Unknown      []byte
}

// RewrittenIndex is an index segment that was remapped to the new fragments.
//
//pb:message
type RewrittenIndex struct {
	OldID      UUID        `pb:"1"`
	NewID      UUID        `pb:"2"`
	NewDetails *Any        `pb:"3"`
	NewVersion uint32      `pb:"4"`
	NewFiles   []IndexFile `pb:"5"`
	Unknown    []byte
}
