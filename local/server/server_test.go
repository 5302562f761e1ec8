package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"tiltyard/local/server/handover"
	"tiltyard/shared/boot"
)

// output is what a program wrote so far.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // gets a value after a write, unless one waits there
}

func newOutput() *output { return &output{changed: make(chan struct{}, 1)} }

// Write keeps p.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.changed <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// running is a server that runs in this process.
type running struct {
	url    string
	stderr *output
	stop   func() error
}

var greeted = regexp.MustCompile(`tiltyard serves (\S+) at (\S+) \(`)

// start runs tiltyard serve with these arguments on a free port.
func start(t *testing.T, args ...string) running {
	t.Helper()
	for _, s := range boot.Settings {
		t.Setenv(s.Variable(), "")
	}
	ctx, cancel := context.WithCancel(t.Context())
	stderr, done := newOutput(), make(chan error, 1)
	cmd := newCommand()
	cmd.SetArgs(append([]string{"serve", "--listen", "127.0.0.1:0"}, args...))
	cmd.SetErr(stderr)
	go func() { done <- cmd.ExecuteContext(ctx) }()
	r := running{stderr: stderr, stop: sync.OnceValue(func() error { cancel(); return <-done })}
	t.Cleanup(func() { _ = r.stop() })
	for {
		if match := greeted.FindStringSubmatch(stderr.String()); match != nil {
			r.url = match[2]
			return r
		}
		select {
		case <-stderr.changed:
		case err := <-done:
			done <- err
			t.Fatalf("the server ended: %v\n%s", err, stderr)
		}
	}
}

// get returns status and body of a request that lists the tables with a token.
func (r running) get(t *testing.T, path, token string) (status int, body string) {
	t.Helper()
	return r.ask(t, http.MethodGet, path, "X-Api-Key", token, "")
}

// ask returns status and body of a request with a header. An empty value is no header.
func (r running) ask(t *testing.T, method, path, header, value, body string) (status int, answer string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if value != "" {
		request.Header.Set(header, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

func TestServeMakesATokenAndTellsItOnce(t *testing.T) {
	r := start(t, "--root", t.TempDir(), "--log-level", "debug")
	match := regexp.MustCompile(`api_key="([A-Z2-7]{26})"`).FindStringSubmatch(r.stderr.String())
	if match == nil {
		t.Fatalf("no token in what the server said:\n%s", r.stderr)
	}
	if status, body := r.get(t, "/v1/table/", match[1]); status != 200 || body != `{"tables":[]}`+"\n" && body != `{"tables":[]}` {
		t.Errorf("listing tables: got %d %s", status, body)
	}
	for _, token := range []string{"", "other"} {
		if status, _ := r.get(t, "/v1/table/", token); status != 401 {
			t.Errorf("listing tables with token %q: got %d, want 401", token, status)
		}
	}
	if status, _ := r.get(t, "/healthz", ""); status != 200 {
		t.Errorf("healthz: got %d", status)
	}
	if status, body := r.get(t, "/readyz", ""); status != 200 || body != `{"status":"ready"}` {
		t.Errorf("readyz: got %d %s", status, body)
	}
	if status, _ := r.get(t, "/metrics", ""); status != 401 {
		t.Errorf("metrics without a token: got %d, want 401", status)
	}
	if status, body := r.get(t, "/metrics", match[1]); status != 200 || !strings.Contains(body, `tiltyard_requests_total{operation="ListAllTables",status="200",code=""} 1`) {
		t.Errorf("metrics: got %d %s", status, body)
	}
	if err := r.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if !strings.Contains(r.stderr.String(), " "+os.Args[0]+" table list\n") {
		t.Errorf("the greeting does not name the program as it was called, %s:\n%s", os.Args[0], r.stderr)
	}
	greeting, log, _ := strings.Cut(r.stderr.String(), " table list\n")
	if n := strings.Count(greeting, match[1]); n != 5 { // once for each client
		t.Errorf("the token was told %d times:\n%s", n, greeting)
	}
	if strings.Contains(log, match[1]) {
		t.Errorf("the log tells the token:\n%s", log)
	}
}

func TestServeDoesNotRepeatAGivenToken(t *testing.T) {
	r := start(t, "--root", t.TempDir(), "--token", "a-secret", "--base-path", "/lance")
	if !strings.HasSuffix(r.url, "/lance") {
		t.Errorf("the URL is %s, want it with the base path", r.url)
	}
	if status, body := r.get(t, "/v1/namespace/$/list", "a-secret"); status != 200 {
		t.Errorf("listing namespaces: got %d %s", status, body)
	}
	if err := r.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if strings.Contains(r.stderr.String(), "a-secret") {
		t.Errorf("the token was told:\n%s", r.stderr)
	}
}

func TestServeSaysWhyItCannotStart(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name string
		args []string
		want string
	}{
		{"port is taken", []string{"serve", "--listen", taken.Addr().String()}, "another program uses"},
		{"root is a file", []string{"serve", "--root", file}, "root: "},
		{"root in S3 of nowhere", []string{"serve", "--root", "s3://bucket"}, "AWS_REGION"},
		{"several mistakes", []string{"serve", "--cache-bytes", "much", "--issuer", "i"}, "needs jwks"},
		{"unknown flag", []string{"serve", "--rot", "x"}, "unknown flag"},
		{"argument", []string{"serve", "./data"}, "unknown command"},
		{"misspelled command", []string{"srve"}, "did you mean serve?"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			cmd := newCommand()
			cmd.SetArgs(c.args)
			cmd.SetErr(io.Discard)
			err := cmd.ExecuteContext(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want one that says %q", err, c.want)
			}
		})
	}
}

func TestRunningRequestsAreFinished(t *testing.T) {
	socket, err := handover.Open(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	begun, finish := make(chan struct{}), make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-finish
		_, _ = io.WriteString(w, "finished")
	})
	stopped := make(chan error, 1)
	go func() { stopped <- answer(ctx, socket, handler, slog.New(slog.DiscardHandler)) }()
	r := running{url: "http://" + socket.Addr().String()}
	go func() {
		<-begun
		stop()
		// The server is stopping when it takes no more connections.
		for {
			connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", socket.Addr().String())
			if err != nil {
				break
			}
			_ = connection.Close()
		}
		close(finish)
	}()
	if status, body := r.get(t, "/", ""); status != 200 || body != "finished" {
		t.Errorf("got %d %q", status, body)
	}
	if err := <-stopped; err != nil {
		t.Errorf("stopped with %v", err)
	}
}

// Of a flag that is given twice, the last text counts, and of a list both do.
func TestFlagsGivenTwice(t *testing.T) {
	cmd := newServeCommand()
	if err := cmd.ParseFlags([]string{"--root", "a", "--allow-location", "b", "--root", "c", "--allow-location", "d"}); err != nil {
		t.Fatal(err)
	}
	source := given(cmd.Flags())
	for _, s := range boot.Settings {
		want := map[string]string{"root": "c", "allow-location": "b,d"}[s.Name]
		if text, ok := source(s); ok != (want != "") || ok && text != want {
			t.Errorf("--%s is %q, want %q", s.Name, text, want)
		}
	}
}

func TestHelpNamesEveryFlagAndVariable(t *testing.T) {
	var help bytes.Buffer
	cmd := newCommand()
	cmd.SetArgs([]string{"serve", "--help"})
	cmd.SetOut(&help)
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, s := range boot.Settings {
		if !strings.Contains(help.String(), "--"+s.Name+" "+s.Value) || !strings.Contains(help.String(), s.Variable()) {
			t.Errorf("help does not explain %s", s.Name)
		}
	}
}

func TestVersionNamesReleaseAndSpecification(t *testing.T) {
	var out bytes.Buffer
	cmd := newCommand()
	cmd.SetArgs([]string{"version"})
	cmd.SetOut(&out)
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?s)^tiltyard \S+, commit .*go1\..*specification 0\.13, LanceDB remote protocol 0\.6\.0\n$`).MatchString(out.String()) {
		t.Errorf("got %q", out.String())
	}
}

// The notices name each module that is linked, at its version: go generate ./local/server/notices renews them.
func TestVersionPrintsTheLicensesOfAllModules(t *testing.T) {
	var out bytes.Buffer
	cmd := newCommand()
	cmd.SetArgs([]string{"version", "--licenses"})
	cmd.SetOut(&out)
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	program, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Fields(strings.ReplaceAll(string(program), " ", "@"))
	if len(modules) < 40 {
		t.Fatalf("the program has %d modules", len(modules))
	}
	for _, module := range modules {
		if !strings.Contains(out.String(), "\n    "+strings.Replace(module, "@", " ", 1)+"\n") {
			t.Errorf("there is no license of %s: go generate ./local/server/notices", module)
		}
	}
}
