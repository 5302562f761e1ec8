package manifest

import (
	"testing"

	"tiltyard/shared/lance/pb"
)

func TestNextKnowsNothingOfWhatMadeTheVersionBefore(t *testing.T) {
	position := uint64(7)
	m := &Manifest{IndexSection: []byte{1}, Location: Location{Key: "k"}, transaction: []byte{2}}
	m.Version = 4
	m.Manifest.IndexSection, m.TransactionSection, m.OldTransactionSection = &position, &position, &position
	m.Fragments = []*pb.Fragment{{ID: 3}}
	next := m.Next()
	if next.Version != 5 || len(next.Fragments) != 1 || next.IndexSection == nil {
		t.Errorf("next is version %d with %d fragments and index section %v", next.Version, len(next.Fragments), next.IndexSection)
	}
	if next.Location != (Location{}) || next.transaction != nil ||
		next.Manifest.IndexSection != nil || next.TransactionSection != nil || next.OldTransactionSection != nil {
		t.Errorf("next remembers how the version before was stored: %+v", next)
	}
	if m.Version != 4 || m.transaction == nil {
		t.Error("making the next one changed the manifest")
	}
}
