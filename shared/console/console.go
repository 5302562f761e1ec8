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
// is one. The address of the server leads a browser to the console; programs get what next answers.
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

// asksForPage reports whether a browser asks for a page to show. Other clients name no media type, or JSON.
func asksForPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// isPage reports whether there is a page in a folder, behind whose name a request has left out the slash.
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
