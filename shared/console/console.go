// Package console serves the pages for people: the console and what stands beside it under static.
// The pages are plain files without a build step. They hold no secret and need no credentials; what
// they show comes from the operations of the protocol, with the token of whoever signs in there.
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

// policy lets a page load what this server has, and nothing else; no page may stand in a frame.
// Pictures of a table's rows are data that the page holds.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler returns a handler that serves the pages below the base path, and gives every other request
// to next.
func Handler(next http.Handler, basePath string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := strings.CutPrefix(r.URL.Path, strings.TrimSuffix(basePath, "/")+"/")
		if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead || !serve(w, r, name) {
			next.ServeHTTP(w, r)
		}
	})
}

// serve answers with the file of that name, or with the page of a folder, and reports whether there
// is one.
func serve(w http.ResponseWriter, r *http.Request, name string) bool {
	folder, isFolder := strings.CutSuffix(name, "/")
	if isFolder {
		name = path.Join(folder, "index.html")
	}
	body, err := static.ReadFile(path.Join("static", path.Clean("/"+name)))
	if err != nil {
		return !isFolder && redirect(w, name)
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

// redirect sends whoever leaves out the slash behind a folder there. The way is relative, because a
// gateway may have put something before the path.
func redirect(w http.ResponseWriter, name string) bool {
	if name == "" {
		return false
	}
	if page, err := fs.Stat(static, path.Join("static", path.Clean("/"+name), "index.html")); err != nil || page.IsDir() {
		return false
	}
	w.Header().Set("Location", path.Base(name)+"/")
	w.WriteHeader(http.StatusPermanentRedirect)
	return true
}

// contentType does not ask the machine, whose tables differ.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	return mime.TypeByExtension(path.Ext(name))
}
