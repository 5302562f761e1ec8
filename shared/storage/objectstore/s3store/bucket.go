package s3store

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// CreateBucket creates a bucket unless the caller already owns one with the name. It is for servers that
// substitute S3; the stacks of infra create their own buckets.
func CreateBucket(ctx context.Context, client *s3.Client, name string) error {
	_, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &name})
	// The client retries after a lost answer, so the bucket may come from its own first attempt.
	if taken := new(types.BucketAlreadyOwnedByYou); err != nil && !errors.As(err, &taken) {
		return fmt.Errorf("create bucket %s: %w", name, err)
	}
	return nil
}
