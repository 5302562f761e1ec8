package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
)

// send opens a connection and sends the head of a request, and some of its body.
func send(t *testing.T, server *httptest.Server, path string, length int, body string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", path, testToken, length, body)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestBodyThatDoesNotComeHoldsNothingForLong(t *testing.T) {
	const stall = 300 * time.Millisecond
	budget := memory.NewBudget(8<<20, 4<<20)
	server := httptest.NewServer(Handler((&service{}).routes(), Options{Verifier: verifier{}, Memory: budget, StallTimeout: stall}))
	defer server.Close()
	body := `{"predicate":"` + strings.Repeat("x", 1<<20) + `"}`
	start := time.Now()
	claims := send(t, server, "/v1/table/t/count_rows", 8<<20, "{")
	holds := send(t, server, "/v1/table/t/count_rows", len(body), body[:len(body)-1])
	for budget.Usage().Held < 1<<20 && time.Since(start) < stall {
		time.Sleep(time.Millisecond)
	}
	if held := budget.Usage().Held; held > 3<<20 {
		t.Errorf("one MiB that has come, and a claim, hold %d bytes", held)
	}
	for name, conn := range map[string]net.Conn{"a claim": claims, "all but the last byte": holds} {
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusRequestTimeout || !strings.Contains(string(text), "too slowly") {
			t.Errorf("%s: got %d %s, want 408", name, answer.StatusCode, text)
		}
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("that took %v", took)
	}
	if budget.Usage().Held != 0 {
		t.Errorf("%d bytes are held after the end", budget.Usage().Held)
	}
}

// An upload must arrive at the same rate; a byte now and then is too slow.
func TestUploadThatDoesNotComeHoldsNothingForLong(t *testing.T) {
	const stall = 300 * time.Millisecond
	budget := memory.NewBudget(8<<20, 4<<20)
	s := &service{do: func(ctx context.Context) error { return memory.FromContext(ctx).Take(ctx, 1<<20) }}
	for name, path := range map[string]string{"create": "create", "insert": "insert", "drained": "create?mode=odd"} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(Handler(s.routes(), Options{Verifier: verifier{}, Memory: budget, StallTimeout: stall}))
			defer server.Close()
			start := time.Now()
			conn := send(t, server, "/v1/table/t/"+path, 1<<20, strings.Repeat("x", 1000))
			sent := make(chan struct{})
			go func() { // a byte at a time, until the server has closed
				defer close(sent)
				for err := error(nil); err == nil; time.Sleep(20 * time.Millisecond) {
					_, err = io.WriteString(conn, "x")
				}
			}()
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			if slow := answer.StatusCode == http.StatusRequestTimeout && strings.Contains(string(text), "too slowly"); slow == (name == "drained") {
				t.Errorf("got %d %s", answer.StatusCode, text)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("that took %v", took)
			}
			_ = conn.Close()
			<-sent
			if budget.Usage().Held != 0 {
				t.Errorf("%d bytes are held after the end", budget.Usage().Held)
			}
		})
	}
}

// The server may take its time between two reads of an upload.
func TestUploadMayWaitForTheServer(t *testing.T) {
	const stall = 200 * time.Millisecond
	s := &service{do: func(context.Context) error { time.Sleep(2 * stall); return nil }}
	server := httptest.NewServer(Handler(s.routes(), Options{Verifier: verifier{}, StallTimeout: stall}))
	defer server.Close()
	conn := send(t, server, "/v1/table/t/create", 8<<20, "")
	go func() { _, _ = io.WriteString(conn, strings.Repeat("x", 8<<20)) }()
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("got status %d, want 200", answer.StatusCode)
	}
}

// A body that comes slowly, but comes, is read.
func TestBodyThatComesSlowlyIsRead(t *testing.T) {
	for _, path := range []string{"/v1/table/t/count_rows", "/v1/table/t/create"} {
		t.Run(path, func(t *testing.T) { testSteadyBody(t, path) })
	}
}

func testSteadyBody(t *testing.T, path string) {
	server := httptest.NewServer(Handler((&service{}).routes(), Options{Verifier: verifier{}, StallTimeout: 400 * time.Millisecond}))
	defer server.Close()
	body := `{"predicate":"x"` + strings.Repeat(" ", 320<<10) + `}`
	conn := send(t, server, path, len(body), "")
	for len(body) > 0 {
		n := min(len(body), 64<<10)
		if _, err := io.WriteString(conn, body[:n]); err != nil {
			t.Fatal(err)
		}
		body = body[n:]
		time.Sleep(120 * time.Millisecond)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("got %v, %v", answer, err)
	}
	_ = answer.Body.Close()
}

func TestClientThatTakesNothingOfAnAnswerIsCutOff(t *testing.T) {
	const stall = 300 * time.Millisecond
	budget := memory.NewBudget(8<<20, 4<<20)
	ended := make(chan struct{})
	handler := Handler((&service{rows: manyRows}).routes(), Options{
		Verifier: verifier{}, Memory: budget, StallTimeout: stall, Observe: func(*Served) { close(ended) },
	})
	server := httptest.NewServer(handler)
	defer server.Close()
	conn := send(t, server, "/v1/table/t/query", 2, "{}")
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the request of a client that takes nothing goes on")
	}
}

// manyRows are more than any connection takes by itself.
func manyRows() *protocol.Rows {
	batch := intBatch(make([]int64, 100_000)...)
	return &protocol.Rows{Schema: batch.Schema(), Batches: func(yield func(arrow.RecordBatch, error) bool) {
		for range 1 << 20 {
			if !yield(batch, nil) {
				return
			}
		}
	}}
}

// What a body becomes in memory is no more than was taken for it.
func TestBodyIsParsedInItsShareOfMemory(t *testing.T) {
	short := `{"k":1,"vector":[` + strings.Repeat(`[`+strings.Repeat("0,", 8191)+`0],`, 255) + `[0]]}`
	many := `{"k":1,"vector":[` + strings.Repeat("0,", 2<<20) + `0]}`
	floats := `{"k":1,"vector":[` + strings.Repeat(`[`+strings.Repeat("0.123456789,", 2047)+`0.5],`, 255) + `[0]]}`
	for name, body := range map[string]string{"short numbers": short, "too many numbers": many, "numbers": floats} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_ = unmarshal([]byte(body), new(queryapi.Request))
		runtime.ReadMemStats(&after)
		// All that was allocated; growing slices leave some behind.
		if got := after.TotalAlloc - before.TotalAlloc; got > 2*parsedFactor*uint64(len(body)) {
			t.Errorf("%s: %d bytes of JSON took %d", name, len(body), got)
		}
	}
}

func BenchmarkQueryBody(b *testing.B) {
	body := []byte(`{"k":1,"vector":[` + strings.Repeat(`[`+strings.Repeat("0.123456789,", 2047)+`0.5],`, 255) + `[0]]}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if err := unmarshal(body, new(queryapi.Request)); err != nil {
			b.Fatal(err)
		}
	}
}
