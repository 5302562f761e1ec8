// Package console serves the web pages: the console, and other files under static. They contain
// no secrets and need no credentials; their data comes from the operations of the protocol, with the
// token that the user enters. The script of the console is made from the files in source (make
// console); the other files are written by hand.
package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"
)

//go:embed static
var static embed.FS

// policy allows a page to load from this server only, and forbids frames. Images and sounds of a table's rows
// are data and blob URLs of the page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src blob:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler returns a handler that serves the pages below the base path, and passes all other
// requests to next.
func Handler(next http.Handler, basePath string) http.Handler {
	var files pages
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := strings.CutPrefix(r.URL.Path, strings.TrimSuffix(basePath, "/")+"/")
		if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead || !files.serve(w, r, name) {
			next.ServeHTTP(w, r)
		}
	})
}

// pages caches what the handler sends. It is safe for concurrent use.
type pages struct {
	gzipped sync.Map // compressed contents by the name of the file, each made at its first request
	digests sync.Map // of files, by name
}

// serve answers with the named file, or with the page of a folder, and reports whether it exists. A
// browser that opens the root path is redirected to the console; other clients get the answer of
// next.
func (p *pages) serve(w http.ResponseWriter, r *http.Request, name string) bool {
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
	name = path.Clean("/" + name)[1:] // so that what is kept by name has no more names than files
	body, err := static.ReadFile(path.Join("static", name))
	if err != nil {
		return !isFolder && isPage(name) && redirect(w, path.Base(name)+"/", http.StatusPermanentRedirect)
	}
	header := w.Header()
	header.Set("Cache-Control", "no-cache")
	switch {
	case path.Ext(name) == ".html":
		body = p.stamped(name, body)
	case r.URL.RawQuery == stampKey+p.digest(name, body):
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if isText(name) {
		header.Set("Vary", "Accept-Encoding")
		if acceptsGzip(r) {
			header.Set("Content-Encoding", "gzip")
			body = p.compressed(name, body)
		}
	}
	digest := sha256.Sum256(body)
	header.Set("Content-Type", contentType(name))
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("ETag", `"`+hex.EncodeToString(digest[:8])+`"`)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
	return true
}

// stampKey is the beginning of the query in the address of a script or style whose page names its digest.
const stampKey = "v="

var loads = regexp.MustCompile(`(src|href)="([^":#?]+\.(?:js|css))"`)

// stamped adds the digests of scripts and styles to their addresses in a page. Browsers keep such a file without asking
// again, because another content has another address. Modules that import one another have no digests: two addresses of
// one module would be two modules.
func (p *pages) stamped(page string, body []byte) []byte {
	return loads.ReplaceAllFunc(body, func(found []byte) []byte {
		parts := loads.FindSubmatch(found)
		name := path.Join(path.Dir(page), string(parts[2]))
		file, err := static.ReadFile(path.Join("static", name))
		if err != nil {
			return found
		}
		return fmt.Appendf(nil, `%s="%s?%s%s"`, parts[1], parts[2], stampKey, p.digest(name, file))
	})
}

// digest returns the beginning of the digest of a file.
func (p *pages) digest(name string, body []byte) string {
	if found, ok := p.digests.Load(name); ok {
		text, _ := found.(string)
		return text
	}
	sum := sha256.Sum256(body)
	text := hex.EncodeToString(sum[:8])
	p.digests.Store(name, text)
	return text
}

// isText reports whether a file becomes smaller by compression.
func isText(name string) bool {
	switch path.Ext(name) {
	case ".html", ".js", ".css", ".json", ".svg", ".txt":
		return true
	}
	return false
}

// acceptsGzip reports whether the client lists gzip without refusing it by a weight of zero.
func acceptsGzip(r *http.Request) bool {
	for _, one := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		coding, weight, _ := strings.Cut(strings.TrimSpace(one), ";")
		if coding == "gzip" {
			return weight == "" || strings.Trim(weight, " q=0.") != ""
		}
	}
	return false
}

// compressed returns the compressed body of the named file.
func (p *pages) compressed(name string, body []byte) []byte {
	if found, ok := p.gzipped.Load(name); ok {
		packed, _ := found.([]byte)
		return packed
	}
	var buffer bytes.Buffer
	w := gzip.NewWriter(&buffer)
	_, _ = w.Write(body) // a buffer takes all
	_ = w.Close()
	p.gzipped.Store(name, buffer.Bytes())
	return buffer.Bytes()
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
