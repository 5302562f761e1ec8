package console

import (
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// behind marks what the handler gave on.
var behind = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })

func get(base, method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	Handler(behind, base).ServeHTTP(w, r)
	return w
}

func TestPagesAreServedAndTheRestIsGivenOn(t *testing.T) {
	for _, tt := range []struct {
		base, method, path string
		status             int
		contentType        string
	}{
		{"", "GET", "/console/", 200, "text/html; charset=utf-8"},
		{"", "HEAD", "/console/", 200, "text/html; charset=utf-8"},
		{"", "GET", "/console/main.js", 200, "text/javascript; charset=utf-8"},
		{"", "GET", "/console/app.css", 200, "text/css; charset=utf-8"},
		{"/lance", "GET", "/lance/console/", 200, "text/html; charset=utf-8"},
		{"", "GET", "/console", 308, ""},
		{"/lance", "GET", "/lance/console", 308, ""},
		{"/lance", "GET", "/console/", 418, ""},
		{"", "POST", "/console/", 418, ""},
		{"", "GET", "/console/none.js", 418, ""},
		{"", "GET", "/console/vendor/", 418, ""},
		{"", "GET", "/console/vendor", 418, ""},
		{"", "GET", "/", 418, ""},
		{"", "GET", "/v1/table", 418, ""},
		{"", "GET", "/console/../../console.go", 418, ""},
		{"", "GET", "/console/%2e%2e/%2e%2e/console.go", 418, ""},
	} {
		got := get(tt.base, tt.method, tt.path)
		if got.Code != tt.status || got.Header().Get("Content-Type") != tt.contentType {
			t.Errorf("%s %s at %q: %d %q, want %d %q", tt.method, tt.path, tt.base, got.Code, got.Header().Get("Content-Type"), tt.status, tt.contentType)
		}
	}
	if at := get("/lance", "GET", "/lance/console").Header().Get("Location"); at != "console/" {
		t.Errorf("redirected to %q", at)
	}
}

func TestRootLeadsBrowsersToTheConsole(t *testing.T) {
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for _, tt := range []struct {
		base, path, accept string
		status             int
		location           string
	}{
		{"", "/", browser, 302, "console/"},
		{"/lance", "/lance/", browser, 302, "console/"},
		{"", "/", "application/json", 418, ""},
		{"", "/", "*/*", 418, ""},
		{"/lance", "/", browser, 418, ""},
		{"", "/favicon.ico", "image/svg+xml,*/*", 308, "console/icon.svg"},
	} {
		got := get(tt.base, "GET", tt.path, "Accept", tt.accept)
		if got.Code != tt.status || got.Header().Get("Location") != tt.location {
			t.Errorf("%s at %q for %s: %d %q, want %d %q", tt.path, tt.base, tt.accept, got.Code, got.Header().Get("Location"), tt.status, tt.location)
		}
	}
}

func TestPageThatIsUnchangedIsNotSentAgain(t *testing.T) {
	first := get("", "GET", "/console/")
	again := get("", "GET", "/console/", "If-None-Match", first.Header().Get("ETag"))
	if first.Header().Get("ETag") == "" || again.Code != http.StatusNotModified {
		t.Errorf("got %d with %q", again.Code, first.Header().Get("ETag"))
	}
}

// A page names its scripts and styles by their contents, so that a browser which has them need not ask.
func TestScriptsOfAPageAreKept(t *testing.T) {
	page := get("/lance", "GET", "/lance/console/")
	addresses := regexp.MustCompile(`(?:src|href)="([^"]+\?v=[0-9a-f]{16})"`).FindAllStringSubmatch(page.Body.String(), -1)
	if len(addresses) != 3 || page.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("the page, which is kept by %q, names %v, want the style and two scripts", page.Header().Get("Cache-Control"), addresses)
	}
	for _, address := range addresses {
		got := get("/lance", "GET", "/lance/console/"+address[1], "Accept-Encoding", "gzip")
		if got.Code != http.StatusOK || !strings.Contains(got.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d, kept by %q", address[1], got.Code, got.Header().Get("Cache-Control"))
		}
	}
	for _, other := range []string{"main.js", "main.js?v=0123456789abcdef", "parquet.js"} {
		if got := get("", "GET", "/console/"+other).Header().Get("Cache-Control"); got != "no-cache" {
			t.Errorf("%s is kept by %q", other, got)
		}
	}
}

func TestScriptsAreCompressedForClientsThatAcceptIt(t *testing.T) {
	whole := get("", "GET", "/console/main.js")
	for accepted, want := range map[string]string{"gzip": "gzip", "br, gzip;q=0.5": "gzip", "": "", "br": "", "gzip;q=0": "", "gzip;q=0.0": ""} {
		got := get("", "GET", "/console/main.js", "Accept-Encoding", accepted)
		if got.Header().Get("Content-Encoding") != want || got.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: encoding %q, vary %q", accepted, got.Header().Get("Content-Encoding"), got.Header().Get("Vary"))
		}
		if want == "" {
			continue
		}
		unpacked, err := gzip.NewReader(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(unpacked); err != nil || string(text) != whole.Body.String() {
			t.Errorf("%q: the content differs (%v)", accepted, err)
		}
	}
}

// All that a browser loads of the console, together.
func TestConsoleIsSmall(t *testing.T) {
	const most = 300_000
	sum := 0
	for _, name := range []string{"", "app.css", "main.js", "layout.js", "parquet.js", "values.js", "vendor/arrow.js", "icon.svg"} {
		sum += get("", "GET", "/console/"+name, "Accept-Encoding", "gzip").Body.Len()
	}
	t.Logf("%d bytes compressed", sum)
	if sum > most {
		t.Errorf("%d bytes compressed, want at most %d", sum, most)
	}
}

// The policy forbids what stands in the pages themselves, so a page that had any would be broken.
func TestPagesKeepToTheirPolicy(t *testing.T) {
	if got := get("", "GET", "/console/").Header().Get("Content-Security-Policy"); !strings.Contains(got, "default-src 'none'") {
		t.Errorf("the policy is %q", got)
	}
	err := fs.WalkDir(static, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".html") {
			return err
		}
		page, err := static.ReadFile(name)
		for _, inline := range []string{"<style", " style=", " onclick=", "<script>", "http://", "https://"} {
			if strings.Contains(string(page), inline) {
				t.Errorf("%s has %q, which the policy forbids", name, inline)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A vendored file is what its notice says.
func TestVendoredReaderOfArrowIsUnchanged(t *testing.T) {
	body, err := static.ReadFile("static/console/vendor/arrow.js")
	if err != nil {
		t.Fatal(err)
	}
	const want = "4bb22da0967f403eea39bc51820552e729ed1ad3e50c2568fb43d818bc1ca4d0" // of apache-arrow 21.2.0
	if got := fmt.Sprintf("%x", sha256.Sum256(body)); got != want {
		t.Errorf("the digest is %s, want %s; is NOTICE.txt up to date?", got, want)
	}
}
