package command_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestBench(t *testing.T) {
	setUp(t)
	if _, stderr, code := tiltyard(t, "", "insert", "points", points(t), "--create"); code != 0 {
		t.Fatal(stderr)
	}
	stdout, stderr, code := tiltyard(t, "", "bench", "points", "--where", "id > 1", "--requests", "25", "--clients", "4", "-o", "json")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var got struct {
		Requests, Clients, Rows int
		Rate                    float64 `json:"requests_per_second"`
		P50                     float64 `json:"p50_ms"`
		P99                     float64 `json:"p99_ms"`
		Slowest                 float64 `json:"slowest_ms"`
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.Requests != 25 || got.Clients != 4 || got.Rows != 1 || got.Rate <= 0 || got.P50 <= 0 || got.P99 < got.P50 || got.Slowest < got.P99 {
		t.Errorf("got %+v of %s", got, stdout)
	}
	for line, want := range map[string]int{"bench nothing": 3, "bench points --where nosuch=1": 6, "bench points --clients 0": 2} {
		if _, stderr, code := tiltyard(t, "", strings.Fields(line)...); code != want || strings.Contains(stderr, "panic") {
			t.Errorf("%s: exit code %d, want %d: %s", line, code, want, stderr)
		}
	}
}
