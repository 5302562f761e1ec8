package transactionapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/transactionapi"
)

func TestTransactionActions(t *testing.T) {
	for _, text := range []string{
		`{"actions":[{}]}`,
		`{"actions":[{"setStatusAction":{"status":"succeeded"}}]}`,
		`{"actions":[{"set_property_action":{"key":"a","value":"","mode":"SKIP"}}]}`,
		`{"actions":[{"setStatusAction":{"status":"Queued"},"set_property_action":{"key":"a","value":"1"},"unsetPropertyAction":{"key":"b","mode":"fail"}}]}`,
		`{"actions":[` + strings.Repeat(`{},`, transactionapi.MaxActions-1) + `{}]}`,
	} {
		var req transactionapi.AlterRequest
		if err := json.Unmarshal([]byte(text), &req); err != nil {
			t.Errorf("%.100s: %v", text, err)
		} else if err := req.Validate(); err != nil {
			t.Errorf("%.100s: %v", text, err)
		}
	}
	for _, text := range []string{
		`{}`,
		`{"actions":[]}`,
		`{"actions":[` + strings.Repeat(`{},`, transactionapi.MaxActions) + `{}]}`,
		`{"actions":[{"setStatusAction":{}}]}`,
		`{"actions":[{"setStatusAction":{"status":""}}]}`,
		`{"actions":[{"setStatusAction":{"status":"cancelled"}}]}`,
		`{"actions":[{"setStatusAction":{"status":"Failed"},"set_status_action":{"status":"Failed"}}]}`,
		`{"actions":[{"setPropertyAction":{"value":"1"}}]}`,
		`{"actions":[{"setPropertyAction":{"key":"a"}}]}`,
		`{"actions":[{"setPropertyAction":{"key":"a","value":"1","mode":"Replace"}}]}`,
		`{"actions":[{"setPropertyAction":{"key":"a","value":"` + strings.Repeat("v", protocol.MaxPropertyBytes+1) + `"}}]}`,
		`{"actions":[{"unsetPropertyAction":{"mode":"Skip"}}]}`,
		`{"actions":[{},{"unsetPropertyAction":{"key":"a","mode":"Overwrite"}}]}`,
	} {
		var req transactionapi.AlterRequest
		err := json.Unmarshal([]byte(text), &req)
		if err == nil {
			err = req.Validate()
		}
		if err == nil || protocol.CodeOf(err) != protocol.InvalidInput {
			t.Errorf("%.100s: got %v, want InvalidInput", text, err)
		}
	}
}

func TestTransactionStatusesInAnySpelling(t *testing.T) {
	for text, want := range map[string]transactionapi.Status{
		"Queued": transactionapi.Queued, "RUNNING": transactionapi.Running, "succeeded": transactionapi.Succeeded, "fAILED": transactionapi.Failed, "canceled": transactionapi.Canceled,
	} {
		var got transactionapi.Status
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
		if got.Ended() != (want >= transactionapi.Succeeded) {
			t.Errorf("%v has ended: got %v, want %v", got, got.Ended(), want >= transactionapi.Succeeded)
		}
	}
	answer, err := json.Marshal(transactionapi.Response{Status: transactionapi.Canceled})
	if want := `{"status":"Canceled","properties":{}}`; err != nil || string(answer) != want {
		t.Errorf("an answer is %s, %v; want %s", answer, err, want)
	}
}
