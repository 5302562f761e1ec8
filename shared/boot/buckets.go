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

// bucketScheme is in front of a bucket.
const bucketScheme = "s3://"

// A bucketOpener opens stores in S3, all with one client. It is made when the first is
// opened, so that who has none does not pay for it.
type bucketOpener struct {
	log    *slog.Logger
	client *s3.Client
}

// open opens the store on a place that parsePlace has accepted.
func (b *bucketOpener) open(place string) (objectstore.Root, error) {
	u, err := url.Parse(place)
	if err != nil {
		return objectstore.Root{}, err
	}
	if b.client == nil {
		// This reads the environment and the files of the AWS command line. Credentials
		// are asked for, wherever they come from, by the first request.
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
