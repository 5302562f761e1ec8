package console

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
)

func TestAPIIsDescribedForPeopleAndPrograms(t *testing.T) {
	for _, tt := range []struct {
		path        string
		status      int
		contentType string
		says        string
	}{
		{"/lance/docs", 308, "", ""},
		{"/lance/docs/", 200, "text/html; charset=utf-8", "Tiltyard API"},
		{"/lance/docs/main.js", 200, "text/javascript; charset=utf-8", "import"},
		{"/lance/docs/docs.css", 200, "text/css; charset=utf-8", "main"},
		{"/lance/openapi.json", 200, "application/json", `"openapi": "3.1.0"`},
		{"/lance/llms.txt", 200, "text/plain; charset=utf-8", "/v1/table/{id}/query"},
	} {
		got := get("/lance", "GET", tt.path)
		if got.Code != tt.status || got.Header().Get("Content-Type") != tt.contentType || !strings.Contains(got.Body.String(), tt.says) {
			t.Errorf("%s: %d %q, want %d %q with %s", tt.path, got.Code, got.Header().Get("Content-Type"), tt.status, tt.contentType, tt.says)
		}
	}
	if to := get("/lance", "GET", "/lance/docs").Header().Get("Location"); to != "docs/" {
		t.Errorf("the page without a slash leads to %q", to)
	}
}

// The pages load and name nothing that is not served with them.
func TestPagesLoadWhatIsServed(t *testing.T) {
	loaded := regexp.MustCompile(`(?m)(?:^import .* from |src=|href=)"([^"#]+)"`)
	found := 0
	err := fs.WalkDir(static, "static", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.Contains(name, "/vendor/") || path.Ext(name) != ".js" && path.Ext(name) != ".html" {
			return err
		}
		text, err := static.ReadFile(name)
		for _, match := range loaded.FindAllSubmatch(text, -1) {
			if path.Ext(name) == ".js" && match[1][0] != '.' {
				continue // code that the console shows to people
			}
			to := path.Join(path.Dir(name), string(match[1]))
			if strings.HasSuffix(string(match[1]), "/") {
				to = path.Join(to, "index.html")
			}
			if _, missing := fs.Stat(static, to); missing != nil {
				t.Errorf("%s loads %s, which is not served", name, match[1])
			}
			found++
		}
		return err
	})
	if err != nil || found < 20 {
		t.Errorf("%d things are loaded (%v), want many", found, err)
	}
}
