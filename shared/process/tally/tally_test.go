package tally

import (
	"context"
	"testing"
)

func TestWorkIsCountedInTheTallyOfItsContext(t *testing.T) {
	var one, other Tally
	ctx := With(t.Context(), &one)
	AddRows(ctx, 3)
	AddRows(With(ctx, &other), 5)
	AddRows(ctx, 4)
	AddJob(ctx)
	AddRows(context.Background(), 100)
	AddJob(context.Background())
	if one.Rows() != 7 || one.Jobs() != 1 || other.Rows() != 5 || other.Jobs() != 0 {
		t.Errorf("got %d rows and %d jobs, and %d rows and %d jobs of the other", one.Rows(), one.Jobs(), other.Rows(), other.Jobs())
	}
}
