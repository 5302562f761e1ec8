package cloud_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"tiltyard/shared/storage/cloud"
	"tiltyard/shared/storage/outage"
)

// A network is a client of HTTP that answers by a function.
type network func(r *http.Request) (*http.Response, error)

func (n network) Do(r *http.Request) (*http.Response, error) { return n(r) }

func answer(status int, body string) (*http.Response, error) {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

func throttles(*http.Request) (*http.Response, error) {
	return answer(400, `{"__type":"ThrottlingException","message":"slow down"}`)
}

func breaks(*http.Request) (*http.Response, error) { return answer(503, "") }

func refuses(r *http.Request) (*http.Response, error) {
	return nil, &url.Error{Op: r.Method, URL: r.URL.String(), Err: &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}}
}

func isSilent(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, &url.Error{Op: r.Method, URL: r.URL.String(), Err: r.Context().Err()}
}

// breaksOff answers the head of an answer, and no more.
func breaksOff(r *http.Request) (*http.Response, error) {
	got, _ := answer(200, "")
	got.Body = io.NopCloser(readerFunc(func([]byte) (int, error) {
		<-r.Context().Done()
		return 0, r.Context().Err()
	}))
	return got, nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func lacks(code string) network {
	return func(*http.Request) (*http.Response, error) {
		return answer(400, `{"__type":"`+code+`","message":"not there"}`)
	}
}

// calls are requests to the services that this program uses.
var calls = map[string]func(ctx context.Context, cfg aws.Config) error{
	"DynamoDB": func(ctx context.Context, cfg aws.Config) error {
		_, err := dynamodb.NewFromConfig(cfg).Query(ctx, &dynamodb.QueryInput{TableName: aws.String("t")})
		return err
	},
	"SQS": func(ctx context.Context, cfg aws.Config) error {
		_, err := sqs.NewFromConfig(cfg).SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: aws.String("https://sqs/1/q"), MessageBody: aws.String("m")})
		return err
	},
	"KMS": func(ctx context.Context, cfg aws.Config) error {
		_, err := kms.NewFromConfig(cfg).Decrypt(ctx, &kms.DecryptInput{CiphertextBlob: []byte("c")})
		return err
	},
	"STS": func(ctx context.Context, cfg aws.Config) error {
		_, err := sts.NewFromConfig(cfg).AssumeRole(ctx, &sts.AssumeRoleInput{RoleArn: aws.String("arn"), RoleSessionName: aws.String("s")})
		return err
	},
	"EventBridge": func(ctx context.Context, cfg aws.Config) error {
		_, err := eventbridge.NewFromConfig(cfg).PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []types.PutEventsRequestEntry{{}}})
		return err
	},
}

func configOf(client aws.HTTPClient, s cloud.Service) aws.Config {
	return s.Client(aws.Config{
		Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""), HTTPClient: client,
	})
}

// A service in trouble is asked until shortly before the deadline, so that the client is told of it, and for half a
// minute without one.
func TestServicesInTrouble(t *testing.T) {
	for name, call := range calls {
		for trouble, answers := range map[string]network{"throttles": throttles, "503": breaks, "refuses": refuses, "is silent": isSilent, "breaks off": breaksOff} {
			for _, deadline := range []time.Duration{28 * time.Second, 0} {
				if trouble == "breaks off" && name == "STS" || trouble == "throttles" && name == "STS" {
					continue // its answers are XML, which the SDK reads in another way
				}
				t.Run(name+" "+trouble+" "+deadline.String(), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						sent := atomic.Int64{}
						cfg := configOf(network(func(r *http.Request) (*http.Response, error) {
							sent.Add(1)
							return answers(r)
						}), cloud.Service{Name: name, Attempt: time.Second})
						ctx, cancel := context.WithCancel(t.Context())
						if deadline > 0 {
							ctx, cancel = context.WithTimeout(t.Context(), deadline)
						}
						defer cancel()
						began := time.Now()
						err := call(ctx, cfg)
						if got := outage.Of(err); got == nil || got.Message != name+" is overloaded or out of reach" || ctx.Err() != nil {
							t.Errorf("got %v, deadline passed: %v; want an outage before the deadline", err, ctx.Err())
						}
						if n, took := sent.Load(), time.Since(began); n < 8 || n > 40 || took < 15*time.Second || took > 32*time.Second {
							t.Errorf("%d requests in %v", n, took)
						}
					})
				})
			}
		}
	}
}

// One answer that does not come costs the time of one attempt.
func TestRequestThatStallsIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := atomic.Int64{}
		cfg := configOf(network(func(r *http.Request) (*http.Response, error) {
			if sent.Add(1) == 1 {
				return isSilent(r)
			}
			return answer(200, `{}`)
		}), cloud.Service{Name: "DynamoDB", Attempt: time.Second})
		began := time.Now()
		if err := calls["DynamoDB"](t.Context(), cfg); err != nil || time.Since(began) > 1200*time.Millisecond {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}

// A queue is waited for as long as it was asked to wait.
func TestQueueMayLetWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := configOf(network(func(r *http.Request) (*http.Response, error) {
			select {
			case <-time.After(20 * time.Second):
				return answer(200, `{}`)
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}), cloud.Service{Name: "SQS", Attempt: time.Second})
		_, err := sqs.NewFromConfig(cfg).ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: aws.String("https://sqs/1/q"), WaitTimeSeconds: 20})
		if err != nil {
			t.Error(err)
		}
	})
}

// What is missing is named, and not asked for again. Other refusals stay what they are.
func TestServiceErrorsNameMissingThings(t *testing.T) {
	for _, c := range []struct{ service, code, want string }{
		{"DynamoDB", "ResourceNotFoundException", "the thing does not exist"},
		{"SQS", "QueueDoesNotExist", "the thing does not exist"},
		{"KMS", "NotFoundException", "the thing does not exist"},
		{"EventBridge", "ResourceNotFoundException", "the thing does not exist"},
		{"KMS", "AccessDeniedException", ""},
		{"DynamoDB", "ValidationException", ""},
	} {
		sent := 0
		cfg := configOf(network(func(r *http.Request) (*http.Response, error) {
			sent++
			return lacks(c.code)(r)
		}), cloud.Service{Name: c.service, What: "the thing", Attempt: time.Minute})
		err := calls[c.service](t.Context(), cfg)
		got := ""
		if found := outage.Of(err); found != nil {
			got = found.Message
		}
		if err == nil || got != c.want || sent != 1 {
			t.Errorf("%s, %s: got %q (%v) after %d requests, want %q", c.service, c.code, got, err, sent, c.want)
		}
	}
}

// A cancelled request is no outage.
func TestCancelledRequests(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cfg := configOf(network(func(r *http.Request) (*http.Response, error) {
		cancel()
		return isSilent(r)
	}), cloud.Service{Name: "DynamoDB", Attempt: time.Minute})
	if err := calls["DynamoDB"](ctx, cfg); !errors.Is(err, context.Canceled) || outage.Of(err) != nil {
		t.Errorf("got %v", err)
	}
}

func TestDoubtfulAttempts(t *testing.T) {
	for name, c := range map[string]struct {
		answers network
		want    bool
	}{
		"throttled": {throttles, false}, "refused": {refuses, false}, "wrong": {lacks("ValidationException"), false},
		"500": {func(*http.Request) (*http.Response, error) { return answer(500, `{"__type":"InternalServerError"}`) }, true},
		"reset": {func(*http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}
		}, true},
	} {
		cfg := configOf(c.answers, cloud.Service{Name: "DynamoDB", Attempt: time.Minute})
		cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
		if err := calls["DynamoDB"](t.Context(), cfg); err == nil || cloud.Doubtful(err) != c.want {
			t.Errorf("%s: %v is in doubt: %v, want %v", name, err, !c.want, c.want)
		}
	}
}
