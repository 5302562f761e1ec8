package engine

import (
	"context"
	"fmt"

	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/protocol"
)

// Explain tells how a query would be answered, as lines of text: each step, and indented
// below it those that it takes its rows from. verbose tells more of each.
func (t *Table) Explain(ctx context.Context, req *protocol.QueryTableRequest, verbose bool) (string, error) {
	return Read(ctx, t, req.Version, func(_ context.Context, d *dataset.Dataset) (string, error) {
		answer, err := t.engine.answer(ctx, d, req)
		if err != nil {
			return "", err
		}
		return answer.plan().text(verbose), nil
	})
}

// Analyze answers a query, drops its rows, and tells what each step did: the rows, batches
// and bytes that it made, the requests to the storage and the bytes read by them, and the
// time until its last row, which includes that of the steps below it.
func (t *Table) Analyze(ctx context.Context, req *protocol.QueryTableRequest) (string, error) {
	return Read(ctx, t, req.Version, func(ctx context.Context, d *dataset.Dataset) (string, error) {
		began := d.Now()
		answer, err := t.engine.answer(ctx, d, req)
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
		return head + answer.plan().below(1), nil
	})
}
