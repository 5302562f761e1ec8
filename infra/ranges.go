package main

import (
	"regexp"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// directoryBucket is the end of the name of a bucket of S3 Express One Zone.
const directoryBucket = "--x-s3"

// cacheBucket reads the place of the bucket that instances keep ranges of files in.
func (r *reader) cacheBucket(name string) string {
	return strings.TrimSuffix(r.match(name, "s3://bucket/prefix", "", regexp.MustCompile(`^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^*?${}]*)?$`)), "/")
}

// checkRanges refuses a cache of ranges that functions could not use.
func (c Config) checkRanges(r *reader) {
	r.forbid(r.disk > int64(c.Temporary)<<20/10*9, "cache-disk-bytes: more than nine tenths of tmp, the size of /tmp")
	bucket, _ := splitLocation(c.CacheBucket)
	r.forbid(c.VPC == newVPC && strings.HasSuffix(bucket, directoryBucket),
		"cache-bucket: a new network has no way to S3 Express One Zone; take an existing network with an endpoint of s3express, or another bucket")
}

// keepsRanges reports whether a function keeps ranges of files for others. Jobs do not.
func (n needs) keepsRanges() bool { return n.rows && !n.worker }

// allowRanges permits reading and writing entries. Without the right to list, S3 would answer 403 for one that is
// missing. A session of a directory bucket permits all of it, and cannot be confined to a prefix.
func (s *Service) allowRanges(allow func(resources []*string, actions ...string)) {
	bucket, prefix := splitLocation(s.config.CacheBucket)
	if strings.HasSuffix(bucket, directoryBucket) {
		allow([]*string{awscdk.Fn_Join(jsii.String(""), &[]*string{
			jsii.String("arn:"), s.Partition(), jsii.String(":s3express:"), s.Region(), jsii.String(":"), s.Account(), jsii.String(":bucket/" + bucket),
		})}, "s3express:CreateSession")
		return
	}
	allow([]*string{s.objectsARN(bucket)}, "s3:ListBucket")
	allow([]*string{s.objectsARN(bucket + "/" + prefix + "*")}, "s3:GetObject", "s3:PutObject")
}
