package main

import (
	"encoding/json"
	"flag"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/objectstore/s3store"
	"tiltyard/shared/storage/objectstore/storetest"
)

// opened serves a bucket in memory, and returns its address and a store in it.
func opened(t *testing.T) (url string, s *s3store.Store) {
	t.Helper()
	server := httptest.NewServer(away(newBucket("lake", memstore.New()), 0, 0, new(storm)))
	t.Cleanup(server.Close)
	client, err := s3store.NewClient(aws.Config{
		BaseEndpoint: &server.URL,
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err = s3store.New(client, "lake", "root", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return server.URL, s
}

func TestContract(t *testing.T) {
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	t.Cleanup(func() { _ = checks.Value.Set(before) })
	if err := checks.Value.Set("10"); err != nil {
		t.Fatal(err)
	}
	storetest.Run(t, func(t *testing.T) objectstore.Store {
		_, s := opened(t)
		return s
	})
}

func TestRequestsAndBytesAreCounted(t *testing.T) {
	url, s := opened(t)
	if _, err := s.Put(t.Context(), "k", make([]byte, 1000), objectstore.Condition{IfAbsent: true}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.GetRanges(t.Context(), "k", objectstore.Range{Offset: 10, Length: 300}, objectstore.Range{Offset: -5}); err != nil {
		t.Fatal(err)
	}
	got := takenFrom(t, url)
	if got.BytesRead != 305 || got.BytesWritten != 1000 || !maps.Equal(got.Requests, map[string]int{"PUT": 1, "GET": 2}) {
		t.Errorf("got %+v, want one put of 1000 bytes and two gets of 305", got)
	}
	if len(got.Spans) != 3 || got.Spans[0].Ended > got.Spans[1].Began {
		t.Errorf("got spans %v, want three, the first of which ended before the others", got.Spans)
	}
	if again := takenFrom(t, url); len(again.Requests) > 0 {
		t.Errorf("taken twice: %+v", again)
	}
}

func TestAStormRefusesItsShare(t *testing.T) {
	url, s := opened(t)
	begin := func(query string) int {
		answer, err := http.Post(url+"/-/storm?"+query, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	for _, query := range []string{"", "share=2&seconds=1", "share=0.5&seconds=-1", "share=NaN&seconds=1", "share=0.5"} {
		if got := begin(query); got != http.StatusBadRequest {
			t.Errorf("%s: got %d", query, got)
		}
	}
	if got := begin("share=1&seconds=0.5"); got != http.StatusNoContent {
		t.Fatalf("got %d", got)
	}
	if answer, err := http.Get(url + "/lake/root/k"); err != nil || answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("in a storm: got %v, %v", answer, err)
	} else {
		_ = answer.Body.Close()
	}
	// The client tries again until the storm is over.
	if _, err := s.Put(t.Context(), "k", []byte("v"), objectstore.Condition{IfAbsent: true}); err != nil {
		t.Errorf("put: %v", err)
	}
	if got := takenFrom(t, url).Requests; got["SLOWDOWN"] < 2 || got["PUT"] != 1 {
		t.Errorf("got %v, want refused requests, and one put", got)
	}
	if begin("share=0.5&seconds=60"); takenFrom(t, url).Requests != nil {
		t.Error("the beginning of a storm is counted")
	}
	for range 40 {
		if _, _, err := s.Get(t.Context(), "k"); err != nil {
			t.Errorf("get: %v", err)
		}
	}
	if takenFrom(t, url).Requests["SLOWDOWN"] == 0 {
		t.Error("nothing is refused")
	}
}

func takenFrom(t *testing.T, url string) (counted taken) {
	t.Helper()
	answer, err := http.Get(url + "/-/taken")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if err := json.NewDecoder(answer.Body).Decode(&counted); err != nil {
		t.Fatal(err)
	}
	return counted
}
