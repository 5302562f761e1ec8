package transaction

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/transactionapi"
)

// actions reads the actions of a request.
func actions(t *testing.T, text string) []transactionapi.Action {
	t.Helper()
	var read []transactionapi.Action
	if err := json.Unmarshal([]byte(text), &read); err != nil {
		t.Fatal(err)
	}
	return read
}

func TestActionsChangeStatusAndProperties(t *testing.T) {
	type props = map[string]string
	for _, test := range []struct {
		name, actions string
		before, after props
		status        transactionapi.Status
		code          protocol.Code // when it is refused
	}{
		{name: "nothing", actions: `[{}]`, before: props{"a": "1"}, after: props{"a": "1"}},
		{name: "status", actions: `[{"setStatusAction":{"status":"canceled"}}]`, status: transactionapi.Canceled},
		{name: "the last status counts", actions: `[{"setStatusAction":{"status":"Failed"}},{"set_status_action":{"status":"QUEUED"}}]`, status: transactionapi.Queued},
		{name: "set", actions: `[{"setPropertyAction":{"key":"a","value":"1"}}]`, after: props{"a": "1"}},
		{name: "set to nothing", actions: `[{"setPropertyAction":{"key":"a","value":""}}]`, after: props{"a": ""}},
		{name: "overwrite", actions: `[{"setPropertyAction":{"key":"a","value":"2","mode":"overwrite"}}]`, before: props{"a": "1"}, after: props{"a": "2"}},
		{name: "skip", actions: `[{"setPropertyAction":{"key":"a","value":"2","mode":"SKIP"}}]`, before: props{"a": "1"}, after: props{"a": "1"}},
		{name: "skip what is not there", actions: `[{"setPropertyAction":{"key":"a","value":"2","mode":"Skip"}}]`, after: props{"a": "2"}},
		{name: "fail", actions: `[{"setPropertyAction":{"key":"a","value":"2","mode":"Fail"}}]`, before: props{"a": "1"}, code: protocol.ConcurrentModification},
		{name: "fail on what is not there", actions: `[{"setPropertyAction":{"key":"a","value":"2","mode":"fail"}}]`, after: props{"a": "2"}},
		{name: "unset", actions: `[{"unsetPropertyAction":{"key":"a"}}]`, before: props{"a": "1", "b": "2"}, after: props{"b": "2"}},
		{name: "unset what is not there", actions: `[{"unset_property_action":{"key":"a"}}]`, before: props{"b": "2"}, after: props{"b": "2"}},
		{name: "unset, fail", actions: `[{"unsetPropertyAction":{"key":"a","mode":"Fail"}}]`, before: props{"a": "1"}},
		{name: "unset what is not there, fail", actions: `[{"unsetPropertyAction":{"key":"a","mode":"Fail"}}]`, code: protocol.InvalidInput},
		{name: "one after the other", before: props{"a": "1"}, after: props{"a": "3", "b": "2"},
			actions: `[{"unsetPropertyAction":{"key":"a"}},{"setPropertyAction":{"key":"a","value":"3","mode":"Fail"}},{"setPropertyAction":{"key":"b","value":"2"}}]`},
		{name: "several in one", before: props{"a": "1"}, status: transactionapi.Running,
			actions: `[{"unsetPropertyAction":{"key":"a"},"setPropertyAction":{"key":"a","value":"3"},"setStatusAction":{"status":"Running"}}]`},
		{name: "none when the last fails", before: props{"a": "1"}, code: protocol.ConcurrentModification,
			actions: `[{"setStatusAction":{"status":"Failed"}},{"setPropertyAction":{"key":"b","value":"2"}},{"setPropertyAction":{"key":"a","value":"2","mode":"Fail"}}]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			was := &Transaction{Status: transactionapi.Succeeded, Properties: test.before}
			now := *was
			err := now.apply(actions(t, test.actions))
			if test.code != 0 {
				if err == nil || protocol.CodeOf(err) != test.code {
					t.Fatalf("got %v, want code %v", err, test.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := test.status
			if want == transactionapi.Unset {
				want = transactionapi.Succeeded
			}
			if now.Status != want {
				t.Errorf("got status %v, want %v", now.Status, want)
			}
			if test.after == nil {
				test.after = props{}
			}
			if diff := cmp.Diff(test.after, now.Properties); diff != "" {
				t.Errorf("properties (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPropertiesAreLimited(t *testing.T) {
	full := map[string]string{}
	for len(full) < protocol.MaxProperties {
		full[string(rune('a'+len(full)))] = ""
	}
	job := &Transaction{Properties: full}
	if err := job.apply(actions(t, `[{"setPropertyAction":{"key":"one more","value":"1"}}]`)); err == nil || protocol.CodeOf(err) != protocol.InvalidInput {
		t.Errorf("one property too many: got %v, want InvalidInput", err)
	}
	job = &Transaction{Properties: full}
	if err := job.apply(actions(t, `[{"setPropertyAction":{"key":"one more","value":"1"}},{"unsetPropertyAction":{"key":"a"}}]`)); err != nil {
		t.Errorf("as many as are possible in the end: got %v, want success", err)
	}
}

func TestTransactionsAreDescribedByKind(t *testing.T) {
	commit := OfCommit([]string{"t"}, Commit{
		UUID: "u", Version: 7, ReadVersion: 6, Operation: "Append", Properties: map[string]string{"by": "me", "version": "x"},
	})
	for _, test := range []struct {
		name string
		of   *Transaction
		want map[string]string
	}{
		{"commit", commit, map[string]string{"uuid": "u", "version": "7", "read_version": "6", "operation": "Append", "by": "me"}},
		{"queued", &Transaction{}, map[string]string{}},
		{"running", &Transaction{Done: 3, Total: 10, Properties: map[string]string{"a": "1"}}, map[string]string{"a": "1", "progress": "3/10"}},
		{"failed", &Transaction{Status: transactionapi.Failed, Failure: "no space"}, map[string]string{"error": "no space"}},
		{"ended by a user after it failed", &Transaction{Status: transactionapi.Canceled, Failure: "no space"}, map[string]string{}},
		{"users win", &Transaction{Status: transactionapi.Failed, Failure: "no space", Properties: map[string]string{"error": "mine"}}, map[string]string{"error": "mine"}},
	} {
		if diff := cmp.Diff(test.want, test.of.Describe()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	for _, key := range derived {
		for _, action := range []string{`"setPropertyAction":{"key":"` + key + `","value":"1"}`, `"unsetPropertyAction":{"key":"` + key + `"}`} {
			if err := commit.apply(actions(t, `[{`+action+`}]`)); err == nil || protocol.CodeOf(err) != protocol.InvalidInput {
				t.Errorf("%s: got %v, want InvalidInput", action, err)
			}
		}
	}
}
