package boot

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"tiltyard/shared/objectstore"
	"tiltyard/shared/objectstore/s3store"
)

// bucketScheme is the prefix of the URL of a bucket.
const bucketScheme = "s3://"

// A bucketOpener opens stores in S3, all with one client. It makes the client for the first bucket,
// so that a program without buckets does not pay for it.
type bucketOpener struct {
	log    *slog.Logger
	client *s3.Client
}

// open opens the store at a URL that parsePlace has accepted.
func (b *bucketOpener) open(place string) (objectstore.Root, error) {
	u, err := url.Parse(place)
	if err != nil {
		return objectstore.Root{}, err
	}
	if b.client == nil {
		// This reads the environment and the files of the AWS command line. Only the first request
		// asks for credentials.
		cfg, err := config.LoadDefaultConfig(context.Background())
		if err != nil {
			return objectstore.Root{}, fmt.Errorf("configuration of AWS: %w", err)
		}
		if b.client, err = s3store.NewClient(cfg); err != nil {
			return objectstore.Root{}, err
		}
	}
	store, err := s3store.New(b.client, u.Host, strings.Trim(u.Path, "/"), b.log)
	if err != nil {
		return objectstore.Root{}, err
	}
	return objectstore.Root{URI: place, Store: store}, nil
}
