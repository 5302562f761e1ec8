package flightsql

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tiltyard/shared/client"
)

// isJob reports whether the answer of a statement names the job that does its work.
func isJob(answer *arrow.Schema) bool {
	return answer.NumFields() == 1 && answer.Field(0).Name == "job_id" && answer.Field(0).Type.ID() == arrow.STRING
}

// await waits until the job that a batch of such an answer names has ended. Drivers know no jobs: LanceDB clients take the
// end of a statement for the end of its work.
func await(ctx context.Context, c *client.Client, answer arrow.RecordBatch) error {
	for i := range int(answer.NumRows()) {
		id := answer.Column(0).(*array.String).Value(i)
		_, err := c.Wait(ctx, id, nil)
		var failed *client.JobError
		switch {
		case errors.As(err, &failed):
			return status.Error(codes.Aborted, failed.Error())
		case ctx.Err() != nil:
			return status.Errorf(codes.DeadlineExceeded, "job %s is still running, and goes on; DescribeJob tells when it has ended", id)
		case err != nil:
			return err
		}
	}
	return nil
}
