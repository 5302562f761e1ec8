package snapshot

import "context"

// Prewarm reads columns, all when none are named, so that those who read them next find them
// in the cache. Of what is larger than scans leave there, only what tells where the pages are
// is read. Its error is [*ErrNoColumn] for a name that is no column.
func (s *Snapshot) Prewarm(ctx context.Context, columns []string) error {
	p, plan, _, err := s.planScan(ctx, ScanOptions{Columns: columns})
	if err != nil || plan.transient {
		return err
	}
	for _, err := range s.readPlan(ctx, p, plan) {
		if err != nil {
			return err
		}
	}
	return nil
}
