package stsvendor

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
)

// A place is a location in S3.
type place struct{ bucket, prefix string }

// parsePlace parses a canonical s3:// URI; ok is false for other URIs. The prefix has no final
// slash.
func parsePlace(uri string) (place, bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "s3" || u.Host == "" {
		return place{}, false
	}
	p := place{u.Host, strings.Trim(u.Path, "/")}
	return p, p.prefix != ""
}

// A statement of a policy, as IAM reads it.
type statement struct {
	Effect    string
	Action    []string
	Resource  string
	Condition map[string]map[string]string `json:",omitempty"`
}

// maxPolicyBytes is the maximum length of a session policy in STS.
const maxPolicyBytes = 2048

// sessionPolicy returns a policy that allows access to the objects below a place only: the slash
// after the prefix excludes table-10 from a policy for table-1. partition is the AWS partition,
// such as aws-cn.
func sessionPolicy(partition string, p place, write bool) (string, error) {
	bucket, below := "arn:"+partition+":s3:::"+p.bucket, literal(p.prefix)+"/*"
	objects := []string{"s3:GetObject"}
	keys := []string{"kms:Decrypt"}
	if write {
		objects = append(objects, "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload")
		keys = append(keys, "kms:GenerateDataKey")
	}
	text, err := json.Marshal(map[string]any{
		"Version": "2012-10-17",
		"Statement": []statement{
			{Effect: "Allow", Action: objects, Resource: bucket + "/" + below},
			{
				Effect: "Allow", Action: []string{"s3:ListBucket"}, Resource: bucket,
				Condition: map[string]map[string]string{"StringLike": {"s3:prefix": below}},
			},
			{ // of a bucket with a key of its own, if the role may use that
				Effect: "Allow", Action: keys, Resource: "*",
				Condition: map[string]map[string]string{"StringLike": {"kms:ViaService": "s3.*"}},
			},
		},
	})
	if err == nil && len(text) > maxPolicyBytes {
		err = errors.New("the location is too long for a session policy")
	}
	return string(text), err
}

// literal escapes a key for IAM, which would otherwise interpret wildcards and variables in it.
func literal(key string) string {
	return strings.NewReplacer("*", "${*}", "?", "${?}", "$", "${$}").Replace(key)
}
