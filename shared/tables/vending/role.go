package vending

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

// Role vends temporary credentials of a role.
type Role struct {
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

// Config configures a Role.
type Config struct {
	Role     string // ARN; the trust policy must name who runs this
	Region   string // of the buckets
	Endpoint string // of S3, where that is not the one of AWS
	Tags     bool   // sessions have tags, see [tagsOf]; the trust policy must allow that
	Now      func() time.Time
}

// OpenRole returns a vendor of credentials of a role. It sends no request.
func OpenRole(client *sts.Client, c Config) (*Role, error) {
	parsed, err := arn.Parse(c.Role)
	if err != nil || parsed.Service != "iam" || !strings.HasPrefix(parsed.Resource, "role/") {
		return nil, errors.New("must be the ARN of a role of IAM")
	}
	r := &Role{client: client, role: c.Role, partition: parsed.Partition, tags: c.Tags, now: c.Now, kept: map[string]kept{}}
	r.options = map[string]string{"aws_region": c.Region}
	if c.Endpoint != "" {
		r.options["aws_endpoint"] = c.Endpoint
		r.options["allow_http"] = strconv.FormatBool(strings.HasPrefix(c.Endpoint, "http://"))
	}
	return r, nil
}

// Vend returns credentials that stay valid for half an hour at least, with the expiry that STS
// reports.
func (r *Role) Vend(ctx context.Context, request Request) (map[string]string, error) {
	at, ok := parsePlace(request.Location)
	if !ok {
		return nil, nil
	}
	if before, ok := r.find(request); ok {
		return maps.Clone(before.options), nil
	}
	policy, err := sessionPolicy(r.partition, at, request.Write)
	if err != nil {
		return nil, err
	}
	name := sessionName(request.Holder)
	asked := &sts.AssumeRoleInput{
		RoleArn: &r.role, RoleSessionName: &name, Policy: &policy,
		DurationSeconds: aws.Int32(int32(duration / time.Second)),
	}
	if r.tags {
		asked.Tags = tagsOf(request)
	}
	answer, err := r.client.AssumeRole(ctx, asked)
	if err != nil {
		return nil, fmt.Errorf("assume role: %w", err)
	}
	made := answer.Credentials
	if made == nil || made.AccessKeyId == nil || made.SecretAccessKey == nil || made.SessionToken == nil || made.Expiration == nil {
		return nil, errors.New("assume role: the answer holds no credentials")
	}
	options := maps.Clone(r.options)
	options["aws_access_key_id"], options["aws_secret_access_key"] = *made.AccessKeyId, *made.SecretAccessKey
	options["aws_session_token"] = *made.SessionToken
	options["expires_at_millis"] = strconv.FormatInt(made.Expiration.UnixMilli(), 10)
	r.keep(request, kept{options, *made.Expiration})
	return maps.Clone(options), nil
}

// key returns the cache key of a request. A renamed table has another one, because its session tags
// differ.
func (r Request) key() string {
	return fmt.Sprintf("%q %q %t %q", r.Table, r.Location, r.Write, r.Holder)
}

// find returns credentials that were vended to the same holder for the same.
func (r *Role) find(request Request) (kept, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, ok := r.kept[request.key()]
	return before, ok && before.expires.Sub(r.now()) >= leastLeft
}

// keep caches credentials, and removes expired ones.
func (r *Role) keep(request Request, now kept) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.kept, func(_ string, k kept) bool { return k.expires.Sub(r.now()) < leastLeft })
	if len(r.kept) >= maxKept {
		clear(r.kept)
	}
	r.kept[request.key()] = now
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
