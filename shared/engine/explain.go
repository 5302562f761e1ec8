package engine

import (
	"context"
	"fmt"

	"tiltyard/shared/engine/query"
	"tiltyard/shared/lance/dataset"
)

// Explain returns the plan of a query as lines of text. Each step is followed by the steps that
// feed it, indented. verbose adds details.
func (t *Table) Explain(ctx context.Context, at AsOf, q *query.Query, verbose bool) (string, error) {
	return Read(ctx, t, at.Version, func(ctx context.Context, d *dataset.Dataset) (string, error) {
		answer, err := t.plan(ctx, d, at, q)
		if err != nil {
			return "", err
		}
		return answer.Plan().Text(verbose), nil
	})
}

// Analyze runs a query, drops its rows, and returns the plan with measurements of each step: its
// rows, batches and bytes, its storage requests and the bytes that they read, and the time until
// its last row. The time includes the steps below.
func (t *Table) Analyze(ctx context.Context, at AsOf, q *query.Query) (string, error) {
	return Read(ctx, t, at.Version, func(ctx context.Context, d *dataset.Dataset) (string, error) {
		began := d.Now()
		answer, err := t.plan(ctx, d, at, q)
		if err != nil {
			return "", err
		}
		rows, err := t.rows(ctx, d, answer)
		if err != nil {
			return "", err
		}
		count := int64(0)
		for batch, err := range rows.Batches {
			if err != nil {
				return "", err
			}
			count += batch.NumRows()
		}
		head := fmt.Sprintf("Query: version=%d [rows=%d, elapsed=%s]\n", d.Version(), count, d.Now().Sub(began))
		return head + answer.Plan().Measured(1), nil
	})
}
