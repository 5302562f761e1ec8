package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"tiltyard/shared/catalog/result"
)

// access is the access of a function to objects.
type access int

const (
	none access = iota
	read
	write // includes read
)

// needs lists the resources that a function uses, as the main in its folder of functions/ wires it.
// Its role permits this and nothing more. A test compares it with the needs of the function's
// operations.
type needs struct {
	objects  access // the bucket, and other table locations
	records  bool   // records of transactions, of jobs and of repeated requests
	enqueues bool   // may begin jobs
	vends    bool   // vends credentials to clients, if that is configured
	parts    bool   // needs multipart uploads and copies, for large objects
	stores   bool   // writes answers to storage for callers; implied by write and parts
	rows     bool   // reads or writes rows, and so needs more memory
	seals    bool   // encrypts secrets, but cannot decrypt them
	executes bool   // runs user functions on the configured executors, and decrypts secrets for them
	declares bool   // reports whether the executors run a function
	asks     bool   // runs queries, and has the query function run the parts of large ones
	worker   bool   // invoked by the queue instead of the gateway
	url      bool   // invoked by its function URL instead of the gateway
}

// behindGateway reports whether the gateway invokes the function.
func (n needs) behindGateway() bool { return !n.worker && !n.url }

// streamURL reports whether a function gets a streaming URL. A REST API can stream by
// itself.
func (c Config) streamURL() bool { return c.Stream && c.Gateway != "rest" }

// functions lists all functions: one for each group of operations, the worker, one for requests
// that match no operation, and one that streams the responses of all operations.
var functions = map[string]needs{
	"namespace":   {objects: write, records: true, enqueues: true},
	"table":       {objects: write, parts: true, records: true, enqueues: true, vends: true},
	"schema":      {objects: write, parts: true, records: true, enqueues: true, rows: true, declares: true},
	"data":        {objects: write, parts: true, records: true, enqueues: true, rows: true},
	"query":       {objects: read, stores: true, rows: true, asks: true},
	"sql":         {objects: write, parts: true, records: true, enqueues: true, rows: true, declares: true, asks: true},
	"index":       {objects: write, records: true, enqueues: true},
	"version":     {objects: write, records: true, enqueues: true},
	"ref":         {objects: write, parts: true, records: true, enqueues: true},
	"transaction": {objects: read, records: true, enqueues: true},
	"view":        {objects: write, records: true, enqueues: true, seals: true, declares: true},
	"default":     {},
	"worker":      {objects: write, parts: true, records: true, enqueues: true, rows: true, executes: true, declares: true, worker: true},
	"stream":      {objects: write, parts: true, records: true, enqueues: true, rows: true, vends: true, seals: true, declares: true, asks: true, url: true},
}

// gatewaySeconds is the timeout of an HTTP API, less the time for sending an error.
const gatewaySeconds = 29

// streamSeconds is the timeout of functions that stream rows. AWS passes on the first 6 MB of an
// answer at once and then 2 MB a second, so the largest answer, 200 MB, takes 97 seconds. The sum
// of that and the usual query timeout is rounded up.
const streamSeconds = 150

// seconds returns the timeout of a function.
func (c Config) seconds(n needs) int {
	switch {
	case n.worker:
		return jobMinutes * 60
	case n.url || c.Stream && c.Gateway == "rest" && n.stores:
		return streamSeconds
	}
	return gatewaySeconds
}

// newFunction creates the function of a folder, its role and its log.
func (s *Service) newFunction(name string, n needs) awslambda.IFunction {
	id := title(name)
	log := s.storage.Logs[name]
	if n.worker {
		s.workers = append(s.workers, name)
	}
	memory, timeout := s.memory(n), s.config.seconds(n)
	var temporary awscdk.Size
	if n.rows {
		temporary = awscdk.Size_Mebibytes(jsii.Number(s.config.Temporary))
	}
	tracing := awslambda.Tracing_DISABLED
	if s.config.Tracing {
		tracing = awslambda.Tracing_ACTIVE
	}
	props := &awslambda.FunctionProps{
		Description:  jsii.String("tiltyard functions/" + name),
		Runtime:      awslambda.Runtime_PROVIDED_AL2023(),
		Architecture: architectures[s.config.Architecture](),
		Handler:      jsii.String("bootstrap"),
		Code:         awslambda.Code_FromAsset(jsii.String(filepath.Join(s.config.Functions, name)), nil),
		MemorySize:   jsii.Number(memory),
		Timeout:      awscdk.Duration_Seconds(jsii.Number(timeout)),
		Environment:  s.environment(n, memory, timeout),
		Role:         s.newRole(id, n, log, lambdaService),
		LogGroup:     log,
		Tracing:      tracing,

		EphemeralStorageSize:         temporary,
		ReservedConcurrentExecutions: s.config.reserved(n),
	}
	if s.config.TraceLayer != "" {
		layer := awslambda.LayerVersion_FromLayerVersionArn(s.Stack, jsii.String(id+"Traces"), &s.config.TraceLayer)
		props.Layers = &[]awslambda.ILayerVersion{layer}
	}
	s.network.place(props)
	f := awslambda.NewFunction(s.Stack, jsii.String(id+"Function"), props)
	if s.asks(n) && name == queryFunction {
		s.callsItself(id, props.Role, f)
	}
	if s.config.Provisioned == 0 || n.worker {
		return f
	}
	return awslambda.NewAlias(s.Stack, jsii.String(id+"Live"), &awslambda.AliasProps{
		AliasName: jsii.String("live"), Version: f.CurrentVersion(),
		ProvisionedConcurrentExecutions: jsii.Number(s.config.Provisioned),
	})
}

// reserved returns the concurrency that a function has for itself, and that it may not exceed. It returns nil for no limit.
func (c Config) reserved(n needs) *float64 {
	switch {
	case n.worker && c.Reserve:
		return jsii.Number(c.Workers + fewestWorkers) // the maximum concurrency of its queues
	case n.url && c.ReserveURL > 0:
		return jsii.Number(c.ReserveURL)
	}
	return nil
}

// queryFunction is the function that runs the parts of queries: its own, and those of functions after it.
const queryFunction = "query"

// callsItself permits the query function to call itself. The policy is beside the role, because a function waits for the
// policies within its role.
func (s *Service) callsItself(id string, role awsiam.IRole, f awslambda.IFunction) {
	awsiam.NewPolicy(s.Stack, jsii.String(id+"RoleParts"), &awsiam.PolicyProps{
		Roles: &[]awsiam.IRole{role},
		Statements: &[]awsiam.PolicyStatement{awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
			Actions: jsii.Strings("lambda:InvokeFunction"), Resources: &[]*string{f.FunctionArn()},
		})},
	})
}

// asks reports whether a function has parts of queries run, which needs a way to Lambda. A private network has none.
func (s *Service) asks(n needs) bool { return n.asks && s.network == nil }

// memory returns the memory of a function in MiB.
func (s *Service) memory(n needs) int {
	if n.rows {
		return s.config.DataMemory
	}
	return s.config.Memory
}

const lambdaService = "lambda.amazonaws.com"

var architectures = map[string]func() awslambda.Architecture{
	"arm64": awslambda.Architecture_ARM_64, "amd64": awslambda.Architecture_X86_64,
}

// environment returns the environment variables that package boot reads.
func (s *Service) environment(n needs, memoryMiB, timeoutSeconds int) *map[string]*string {
	env := map[string]*string{
		"TILTYARD_ROOT":    s3URL(s.storage.Bucket.BucketName()),
		"TILTYARD_RECORDS": join("dynamodb://", s.storage.Records.TableName()),
		// The handler must end before Lambda cuts it off.
		"TILTYARD_REQUEST_TIMEOUT": jsii.String(strconv.Itoa(timeoutSeconds-1) + "s"),
		"GOMEMLIMIT":               jsii.String(strconv.Itoa(goMemory(memoryMiB)) + "MiB"),
	}
	for variable, value := range map[string]string{
		"TILTYARD_ISSUER": s.config.Issuer, "TILTYARD_AUDIENCE": s.config.Audience, "TILTYARD_JWKS": s.config.JWKS, "TILTYARD_JWT_TYPE": s.config.JWTType,
	} {
		if value != "" {
			env[variable] = &value
		}
	}
	if s.asks(n) {
		env["TILTYARD_PARTS"] = jsii.String("lambda")
		if asked := s.Functions[queryFunction]; asked != nil {
			env["TILTYARD_PARTS"] = join("lambda:", asked.FunctionName())
		}
	}
	s.passSettings(n, env)
	if s.apiKeys != nil {
		env["TILTYARD_API_KEYS"] = s.apiKeys.url
	}
	if s.policies != nil && n.objects > none {
		env["TILTYARD_POLICIES"] = s.policies.url
	}
	if s.limits(n) {
		env["TILTYARD_QUOTAS"] = s.quotas.url
	}
	if len(s.config.AllowLocations) > 0 {
		env["TILTYARD_ALLOW_LOCATION"] = jsii.String(commaSeparated(s.config.AllowLocations))
	}
	if s.config.CacheBucket != "" && n.keepsRanges() {
		env["TILTYARD_CACHE_BUCKET"] = &s.config.CacheBucket
	}
	if n.enqueues {
		env["TILTYARD_JOBS"] = s.storage.Jobs.QueueUrl()
	}
	if n.worker && s.storage.HeavyJobs != nil {
		env["TILTYARD_HEAVY_JOBS"] = s.storage.HeavyJobs.QueueUrl()
	}
	if n.worker {
		s.forwardEvents(env)
	}
	if n.vends && s.vend != nil {
		env["TILTYARD_VEND_ROLE"] = s.vend.arn
		if s.config.VendTags {
			env["TILTYARD_VEND_TAGS"] = jsii.String("on")
		}
	}
	if s.storage.SecretsKey != nil && (n.seals || n.executes) {
		env["TILTYARD_SECRETS"] = join("kms:", s.storage.SecretsKey.KeyArn())
	}
	if n.declares && s.config.Executors != "" {
		env["TILTYARD_EXECUTOR"] = &s.config.Executors
	}
	if s.config.Stream {
		env["TILTYARD_STREAM"] = jsii.String("on")
	}
	return &env
}

// limits reports whether a function applies quotas, whose state is in the records.
func (s *Service) limits(n needs) bool { return s.quotas != nil && n.objects > none && !n.worker }

// meters reports whether a function meters usage, which it stores in the records.
func (s *Service) meters(n needs) bool { return s.config.Settings["usage"] == "on" && n.gets("usage") }

// newRole creates the role of a function. It permits writing the function's own log and its needs.
// The event source adds the permissions for the worker's queue. Managed policies of AWS would
// permit more.
func (s *Service) newRole(id string, n needs, log awslogs.LogGroup, service string) awsiam.Role {
	role := awsiam.NewRole(s.Stack, jsii.String(id+"Role"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(&service, nil),
	})
	allow := func(resources []*string, actions ...string) {
		role.AddToPolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
			Actions: jsii.Strings(actions...), Resources: &resources,
		}))
	}
	allow([]*string{log.LogGroupArn()}, "logs:CreateLogStream", "logs:PutLogEvents")
	if s.network != nil && service == lambdaService {
		// Lambda creates the network interfaces, whose ARNs are not known in advance.
		allow([]*string{jsii.String("*")}, "ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface", "ec2:DescribeNetworkInterfaces",
			"ec2:DescribeSubnets", "ec2:AssignPrivateIpAddresses", "ec2:UnassignPrivateIpAddresses")
	}
	if s.apiKeys != nil {
		allow([]*string{s.apiKeys.arn}, "s3:GetObject")
	}
	if s.policies != nil && n.objects > none {
		allow([]*string{s.policies.arn}, "s3:GetObject")
	}
	if s.limits(n) {
		allow([]*string{s.quotas.arn}, "s3:GetObject")
	}
	s.allowObjects(allow, n.objects, n.parts)
	if s.config.CacheBucket != "" && n.keepsRanges() {
		s.allowRanges(allow)
	}
	if n.stores {
		allow([]*string{s.storage.Bucket.ArnForObjects(jsii.String(result.Folder + "*"))}, "s3:PutObject", "s3:AbortMultipartUpload")
	}
	if n.records || s.limits(n) || s.meters(n) {
		allow([]*string{s.storage.Records.TableArn()}, "dynamodb:GetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:DeleteItem")
	}
	if n.enqueues {
		allow([]*string{s.storage.Jobs.QueueArn()}, "sqs:SendMessage")
	}
	if asked := s.Functions[queryFunction]; s.asks(n) && asked != nil {
		allow([]*string{asked.FunctionArn()}, "lambda:InvokeFunction")
	}
	if n.worker && s.storage.HeavyJobs != nil {
		allow([]*string{s.storage.HeavyJobs.QueueArn()}, "sqs:SendMessage")
	}
	if n.worker {
		s.allowForwarding(allow)
	}
	if s.storage.Key != nil && (n.objects > none || n.records || n.enqueues) {
		allow([]*string{s.storage.Key.KeyArn()}, "kms:Decrypt", "kms:GenerateDataKey")
	}
	if s.config.Tracing {
		// X-Ray supports no resource-level permissions.
		allow([]*string{jsii.String("*")}, "xray:PutTraceSegments", "xray:PutTelemetryRecords")
	}
	if s.storage.SecretsKey != nil && n.seals {
		allow([]*string{s.storage.SecretsKey.KeyArn()}, "kms:GenerateDataKey")
	}
	if s.storage.SecretsKey != nil && n.executes {
		allow([]*string{s.storage.SecretsKey.KeyArn()}, "kms:Decrypt")
	}
	if arns := s.config.executorARNs(); n.executes && len(arns) > 0 {
		allow(arns, "lambda:InvokeFunction")
	}
	if n.vends && s.vend != nil {
		s.allowVending(role)
	}
	return role
}

// allowObjects permits access to the bucket and to the other table locations. With parts it also
// permits aborting multipart uploads.
func (s *Service) allowObjects(allow func(resources []*string, actions ...string), a access, parts bool) {
	buckets := []*string{s.storage.Bucket.BucketArn()}
	objects := []*string{s.storage.Bucket.ArnForObjects(jsii.String("*"))}
	for _, location := range s.config.AllowLocations {
		bucket, prefix := splitLocation(location)
		buckets = append(buckets, s.objectsARN(bucket))
		objects = append(objects, s.objectsARN(bucket+"/"+prefix+"*"))
	}
	if a >= read {
		allow(buckets, "s3:ListBucket")
		allow(objects, "s3:GetObject")
	}
	if a >= write {
		allow(objects, "s3:PutObject", "s3:DeleteObject")
	}
	if parts {
		allow(objects, "s3:AbortMultipartUpload")
	}
}

// objectsARN returns the ARN of a bucket or, with a pattern, of objects in it. It includes the AWS
// partition, which is another one in China, for example.
func (s *Service) objectsARN(pattern string) *string {
	return awscdk.Fn_Join(jsii.String(""), &[]*string{jsii.String("arn:"), s.Partition(), jsii.String(":s3:::" + pattern)})
}

// checkBuilt returns an error unless all functions are built.
func checkBuilt(folder string) error {
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		if _, err := os.Stat(filepath.Join(folder, name, "bootstrap")); err != nil {
			return fmt.Errorf("functions: %w; build them with make build", err)
		}
	}
	return nil
}
