package pb

import "google.golang.org/protobuf/encoding/protowire"

// Rewrite replaces groups of fragments by others with the same live rows: compaction.
// The deprecated lists outside of groups (fields 1 and 2) are Unknown.
type Rewrite struct {
	Groups           []RewriteGroup   // 3
	RewrittenIndices []RewrittenIndex // 4
	Unknown          []byte
}

// RewriteGroup is fragments and those that take their place.
type RewriteGroup struct {
	OldFragments []*Fragment // 1
	NewFragments []*Fragment // 2: with ids that were reserved before
	Unknown      []byte
}

// RewrittenIndex is an index segment that was remapped to the new fragments.
type RewrittenIndex struct {
	OldID      UUID        // 1
	NewID      UUID        // 2
	NewDetails *Any        // 3
	NewVersion uint32      // 4
	NewFiles   []IndexFile // 5
	Unknown    []byte
}

// OperationName returns "Rewrite".
func (*Rewrite) OperationName() string    { return "Rewrite" }
func (*Rewrite) number() protowire.Number { return 104 }

// Unmarshal reads an encoded Rewrite. It keeps parts of b.
func (o *Rewrite) Unmarshal(b []byte) error {
	*o = Rewrite{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 3:
			values(s, &o.Groups)
		case 4:
			values(s, &o.RewrittenIndices)
		default:
			o.Unknown = append(o.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the Rewrite.
func (o *Rewrite) Marshal(e *Encoder) {
	for i := range o.Groups {
		e.Message(3, o.Groups[i].Marshal)
	}
	for i := range o.RewrittenIndices {
		e.Message(4, o.RewrittenIndices[i].Marshal)
	}
	e.Unknown(o.Unknown)
}

// Unmarshal reads an encoded RewriteGroup.
func (g *RewriteGroup) Unmarshal(b []byte) error {
	*g = RewriteGroup{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			pointers(s, &g.OldFragments)
		case 2:
			pointers(s, &g.NewFragments)
		default:
			g.Unknown = append(g.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the RewriteGroup.
func (g *RewriteGroup) Marshal(e *Encoder) {
	fragments(e, 1, g.OldFragments)
	fragments(e, 2, g.NewFragments)
	e.Unknown(g.Unknown)
}

// Unmarshal reads an encoded RewrittenIndex. It keeps parts of b.
func (r *RewrittenIndex) Unmarshal(b []byte) error {
	*r = RewrittenIndex{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1:
			s.Message(r.OldID.Unmarshal)
		case 2:
			s.Message(r.NewID.Unmarshal)
		case 3:
			r.NewDetails = new(Any)
			s.Message(r.NewDetails.Unmarshal)
		case 4:
			r.NewVersion = s.Uint32()
		case 5:
			values(s, &r.NewFiles)
		default:
			r.Unknown = append(r.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// Marshal writes the RewrittenIndex.
func (r *RewrittenIndex) Marshal(e *Encoder) {
	e.Message(1, r.OldID.Marshal)
	e.Message(2, r.NewID.Marshal)
	if r.NewDetails != nil {
		e.Message(3, r.NewDetails.Marshal)
	}
	e.Uint64(4, uint64(r.NewVersion))
	for i := range r.NewFiles {
		e.Message(5, r.NewFiles[i].Marshal)
	}
	e.Unknown(r.Unknown)
}
