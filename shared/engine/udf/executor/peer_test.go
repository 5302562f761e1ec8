package executor_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/engine/udf/executor"
	"tiltyard/shared/engine/udf/executor/executortest"
)

const key = "0123456789abcdef0123456789abcdef"

func TestHTTPS(t *testing.T) {
	executortest.Run(t, func(t *testing.T, peer string) (executor.Config, executor.Options) {
		return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(t, w, r, peer) }))
	})
}

func TestCommand(t *testing.T) { executortest.Run(t, command) }

// serve starts a server and returns how an executor there is configured.
func serve(t *testing.T, handler http.Handler) (executor.Config, executor.Options) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return executor.Config{Address: server.URL + "/base/", Key: "file:" + file}, executor.Options{}
}

// answer answers a request of HTTP as a peer does.
func answer(t *testing.T, w http.ResponseWriter, r *http.Request, peer string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the service has ended the call
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(body))
	signature := executor.Sign([]byte(key), "POST", "/base/v1/call", r.Header.Get(executor.TimeHeader), digest)
	if r.Header.Get(executor.DigestHeader) != digest || r.Header.Get("Authorization") != executor.Scheme+" "+signature {
		t.Errorf("got the authorization %q, want %s", r.Header.Get("Authorization"), signature)
	}
	if r.Method != "POST" || r.URL.Path != "/base/v1/call" || r.Header.Get("Content-Type") != executor.ContentType {
		t.Errorf("got %s %s of type %s", r.Method, r.URL, r.Header.Get("Content-Type"))
	}
	call, stream, err := readCall(bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	if got := r.Header.Get("Traceparent"); got != call.Trace {
		t.Errorf("got the header traceparent %q with a call that has %q", got, call.Trace)
	}
	reply := executortest.Answer(peer, call, stream)
	switch {
	case reply.Overloaded:
		w.Header().Set("Retry-After", "3")
		w.WriteHeader([]int{429, 502, 503, 504, 503}[call.Attempt-1])
	case reply.Fault != nil:
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(reply.Fault)
	default:
		w.Header().Set("Content-Type", arrowipc.ContentTypeStream)
		w.Header().Set("Content-Length", fmt.Sprint(len(reply.Stream)))
		if reply.Cut {
			_, _ = w.Write(reply.Stream[:len(reply.Stream)/2])
			panic(http.ErrAbortHandler)
		}
		for i := 0; reply.Drip; i++ {
			_, _ = w.Write(reply.Stream[i : i+1])
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
		_, _ = w.Write(reply.Stream) // fails when the service has had enough
	}
}

// readCall reads the frame of a call.
func readCall(r io.Reader) (*executor.Call, []byte, error) {
	var head [16]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, nil, err
	}
	if string(head[:4]) != "TYC1" {
		return nil, nil, fmt.Errorf("got the frame %q", head)
	}
	object := make([]byte, binary.LittleEndian.Uint32(head[4:]))
	stream := make([]byte, binary.LittleEndian.Uint64(head[8:]))
	_, err := io.ReadFull(r, object)
	if err == nil {
		_, err = io.ReadFull(r, stream)
	}
	call := new(executor.Call)
	return call, stream, errors.Join(err, json.Unmarshal(object, call))
}

// peerVariable names the peer that the test program is when it runs as a command.
const peerVariable = "TILTYARD_TEST_PEER"

func TestMain(m *testing.M) {
	if peer := os.Getenv(peerVariable); peer != "" {
		os.Exit(runPeer(peer))
	}
	os.Exit(m.Run())
}

// command writes a shell command that runs this program as a peer. The service gives it no variables.
func command(t *testing.T, peer string) (executor.Config, executor.Options) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TILTYARD_TOKEN", "ours")
	return script(t, fmt.Sprintf("[ -z \"$TILTYARD_TOKEN\" ] || exit 1\n%s='%s' exec '%s'", peerVariable, peer, self)), executor.Options{}
}

func script(t *testing.T, text string) executor.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "command")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return executor.Config{Address: "exec:" + file}
}

// runPeer answers calls on the standard input, as a command does.
func runPeer(peer string) (status int) {
	fmt.Print("tiltyard 1\n")
	for {
		call, stream, err := readCall(os.Stdin)
		if errors.Is(err, io.EOF) {
			return 0
		}
		if err != nil || len(os.Environ()) > 3 { // variables set by the shell, and the test's own
			fmt.Fprintln(os.Stderr, err, os.Environ())
			return 1
		}
		reply := executortest.Answer(peer, call, stream)
		status, data := uint32(0), reply.Stream
		if reply.Overloaded {
			reply.Fault = &executor.Fault{Type: "Busy", Message: "later", Retryable: true}
		}
		if reply.Fault != nil {
			status = 1
			if data, err = json.Marshal(reply.Fault); err != nil {
				return 1
			}
		}
		frame := binary.LittleEndian.AppendUint32([]byte("TYR1"), status)
		frame = append(binary.LittleEndian.AppendUint64(frame, uint64(len(data))), data...)
		if reply.Cut {
			frame = frame[:len(frame)/2]
		}
		for i := 0; reply.Drip; i++ {
			_, _ = os.Stdout.Write(frame[i : i+1])
			time.Sleep(50 * time.Millisecond)
		}
		if _, err := os.Stdout.Write(frame); err != nil || reply.Cut {
			fmt.Fprint(os.Stderr, strings.Repeat(".", 100000), "the key was ", executortest.Secret)
			return 1
		}
	}
}
