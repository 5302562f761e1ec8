// Package console serves the web pages: the console, and other files under static. The pages are
// plain files without a build step. They contain no secrets and need no credentials; their data
// comes from the operations of the protocol, with the token that the user enters.
package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed static
var static embed.FS

// policy allows a page to load from this server only, and forbids frames. Images of a table's rows
// are data and blob URLs of the page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler returns a handler that serves the pages below the base path, and passes all other
// requests to next.
func Handler(next http.Handler, basePath string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := strings.CutPrefix(r.URL.Path, strings.TrimSuffix(basePath, "/")+"/")
		if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead || !serve(w, r, name) {
			next.ServeHTTP(w, r)
		}
	})
}

// serve answers with the named file, or with the page of a folder, and reports whether it exists. A
// browser that opens the root path is redirected to the console; other clients get the answer of
// next.
func serve(w http.ResponseWriter, r *http.Request, name string) bool {
	switch {
	case name == "" && asksForPage(r):
		w.Header().Set("Vary", "Accept")
		return redirect(w, "console/", http.StatusFound)
	case name == "favicon.ico":
		return redirect(w, "console/icon.svg", http.StatusPermanentRedirect)
	}
	folder, isFolder := strings.CutSuffix(name, "/")
	if isFolder {
		name = path.Join(folder, "index.html")
	}
	body, err := static.ReadFile(path.Join("static", path.Clean("/"+name)))
	if err != nil {
		return !isFolder && isPage(name) && redirect(w, path.Base(name)+"/", http.StatusPermanentRedirect)
	}
	digest := sha256.Sum256(body)
	header := w.Header()
	header.Set("Content-Type", contentType(name))
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-cache")
	header.Set("ETag", `"`+hex.EncodeToString(digest[:8])+`"`)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
	return true
}

// asksForPage reports whether a browser requests a page. Other clients name no media type, or JSON.
func asksForPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// isPage reports whether a folder has a page, so that a request without the final slash can be
// redirected.
func isPage(folder string) bool {
	if folder == "" {
		return false
	}
	page, err := fs.Stat(static, path.Join("static", path.Clean("/"+folder), "index.html"))
	return err == nil && !page.IsDir()
}

// redirect answers with another address and returns true. The address is relative, because a gateway may have
// put something before the path.
func redirect(w http.ResponseWriter, to string, status int) bool {
	w.Header().Set("Location", to)
	w.WriteHeader(status)
	return true
}

// contentType does not use the MIME tables of the operating system, because they differ.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	return mime.TypeByExtension(path.Ext(name))
}
