package dataset

import "context"

// Prewarm reads columns, all when none are named, so that those who read them next find them
// in the cache. Of what is larger than scans leave there, only what tells where the pages are
// is read. Its error is [*ErrNoColumn] for a name that is no column.
func (d *Dataset) Prewarm(ctx context.Context, columns []string) error {
	opts := ScanOptions{Columns: columns}
	_, plan, _, err := d.planScan(ctx, opts)
	if err != nil || plan.transient {
		return err
	}
	_, batches, err := d.Scan(ctx, opts)
	if err != nil {
		return err
	}
	for _, err := range batches {
		if err != nil {
			return err
		}
	}
	return nil
}
