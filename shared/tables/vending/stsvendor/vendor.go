// Package stsvendor vends temporary credentials of a role for one table: it assumes the role with a session policy, so that
// the intersection of both applies.
package stsvendor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"tiltyard/shared/tables/vending"
)

const (
	// duration is the requested lifetime of credentials, the maximum for a role that was assumed by
	// another.
	duration = time.Hour
	// leastLeft is the minimum remaining lifetime of cached credentials.
	leastLeft = duration / 2
	// maxKept bounds the cached credentials.
	maxKept = 1000
)

// Vendor vends temporary credentials of a role.
type Vendor struct {
	client    *sts.Client
	role      string
	partition string
	options   map[string]string // storage options without credentials, such as the region
	tags      bool              // of sessions
	now       func() time.Time

	mu   sync.Mutex
	kept map[string]kept // by the key of the request
}

// kept is a cached result.
type kept struct {
	options map[string]string
	expires time.Time
}

// Open returns a vendor of credentials of a role. It sends no request.
func Open(c aws.Config, role vending.Role) (vending.Vendor, error) {
	parsed, err := arn.Parse(role.ARN)
	if err != nil || parsed.Service != "iam" || !strings.HasPrefix(parsed.Resource, "role/") {
		return nil, errors.New("must be the ARN of a role of IAM")
	}
	v := &Vendor{client: sts.NewFromConfig(c), role: role.ARN, partition: parsed.Partition, tags: role.Tags, now: role.Now, kept: map[string]kept{}}
	v.options = map[string]string{"aws_region": role.Region}
	if role.Endpoint != "" {
		v.options["aws_endpoint"] = role.Endpoint
		v.options["allow_http"] = strconv.FormatBool(strings.HasPrefix(role.Endpoint, "http://"))
	}
	return v, nil
}

// Vend returns credentials that stay valid for half an hour at least, with the expiry that STS
// reports.
func (v *Vendor) Vend(ctx context.Context, request vending.Request) (map[string]string, error) {
	at, ok := parsePlace(request.Location)
	if !ok {
		return nil, nil
	}
	if before, ok := v.find(request); ok {
		return maps.Clone(before.options), nil
	}
	policy, err := sessionPolicy(v.partition, at, request.Write)
	if err != nil {
		return nil, err
	}
	name := sessionName(request.Holder)
	asked := &sts.AssumeRoleInput{
		RoleArn: &v.role, RoleSessionName: &name, Policy: &policy,
		DurationSeconds: aws.Int32(int32(duration / time.Second)),
	}
	if v.tags {
		asked.Tags = tagsOf(request)
	}
	answer, err := v.client.AssumeRole(ctx, asked)
	if err != nil {
		return nil, fmt.Errorf("assume role: %w", err)
	}
	made := answer.Credentials
	if made == nil || made.AccessKeyId == nil || made.SecretAccessKey == nil || made.SessionToken == nil || made.Expiration == nil {
		return nil, errors.New("assume role: the answer holds no credentials")
	}
	options := maps.Clone(v.options)
	options["aws_access_key_id"], options["aws_secret_access_key"] = *made.AccessKeyId, *made.SecretAccessKey
	options["aws_session_token"] = *made.SessionToken
	options["expires_at_millis"] = strconv.FormatInt(made.Expiration.UnixMilli(), 10)
	v.keep(request, kept{options, *made.Expiration})
	return maps.Clone(options), nil
}

// keyOf returns the cache key of a request. A renamed table has another one, because its session tags
// differ.
func keyOf(r vending.Request) string {
	return fmt.Sprintf("%q %q %t %q", r.Table, r.Location, r.Write, r.Holder)
}

// find returns credentials that were vended to the same holder for the same.
func (v *Vendor) find(request vending.Request) (kept, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	before, ok := v.kept[keyOf(request)]
	return before, ok && before.expires.Sub(v.now()) >= leastLeft
}

// keep caches credentials, and removes expired ones.
func (v *Vendor) keep(request vending.Request, now kept) {
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.kept, func(_ string, k kept) bool { return k.expires.Sub(v.now()) < leastLeft })
	if len(v.kept) >= maxKept {
		clear(v.kept)
	}
	v.kept[keyOf(request)] = now
}

// sessionName converts the name of a principal to a session name that STS accepts. It keeps the end
// of the name, which distinguishes the principals of one issuer.
func sessionName(holder string) string {
	fit := func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("_=,.@-", c) {
			return c
		}
		return '-'
	}
	const prefix, longest = "tiltyard-", 64
	name := strings.Map(fit, holder)
	return prefix + name[max(len(name)-longest+len(prefix), 0):]
}
