package snapshot

import "context"

// Prewarm reads columns (nil: all) into the cache. If they are too large to be cached, it only
// opens the files, which caches the page locations. An unknown name is [*ErrNoColumn].
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
