package sqsqueue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/sqsqueue"
)

// refusing is a queue that refuses messages of some jobs so many times, among others that it takes.
type refusing struct {
	mu       sync.Mutex
	times    map[string]int
	requests int
	taken    map[int]int // by part
}

func (f *refusing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests++
	var in struct {
		Entries []struct{ ID, MessageBody string }
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		panic(err)
	}
	type entry = map[string]any
	successful, failed := []entry{}, []entry{}
	for _, e := range in.Entries {
		m, err := jobs.Parse([]byte(e.MessageBody))
		if err != nil {
			panic(err)
		}
		name := fmt.Sprint(m.Part)
		if f.times[name] > 0 {
			f.times[name]--
			failed = append(failed, entry{"Id": e.ID, "Code": "InternalError", "SenderFault": false})
			continue
		}
		f.taken[m.Part]++
		successful = append(successful, entry{"Id": e.ID, "MessageId": "m", "MD5OfMessageBody": ""})
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_ = json.NewEncoder(w).Encode(map[string]any{"Successful": successful, "Failed": failed})
}

// Messages that a batch lacks are sent again, without the others, and what is refused all the time is an error.
func TestMessagesThatABatchLacksAreSentAgain(t *testing.T) {
	for _, c := range []struct {
		refused  int
		requests int
		fails    bool
	}{{0, 3, false}, {2, 5, false}, {3, 5, true}} {
		f := &refusing{times: map[string]int{"13": c.refused}, taken: map[int]int{}}
		server := httptest.NewServer(f)
		defer server.Close()
		client := sqs.New(sqs.Options{
			BaseEndpoint: &server.URL, Region: "us-east-1", DisableMessageChecksumValidation: true,
			Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
			}),
		})
		var messages []jobs.Message
		for part := range 25 {
			messages = append(messages, jobs.Message{Job: fmt.Sprintf("%032x", 1), Stage: "parts", Part: part + 1})
		}
		err := sqsqueue.New(client, server.URL+"/1/jobs").Send(t.Context(), 0, messages...)
		if (err != nil) != c.fails || f.requests != c.requests {
			t.Errorf("refused %d times: %v after %d requests, want %d", c.refused, err, f.requests, c.requests)
		}
		for part := range 25 {
			want := 1
			if c.fails && part+1 == 13 {
				want = 0
			}
			if f.taken[part+1] != want {
				t.Errorf("refused %d times: part %d was taken %d times", c.refused, part+1, f.taken[part+1])
			}
		}
	}
}
