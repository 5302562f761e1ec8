package parts

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// following is a transport that asks for long answers in the storage, and reads them there.
type following struct{ next http.RoundTripper }

// maxFollowed bounds the redirects of an answer: to the path of the result, and from there to the storage.
const maxFollowed = 3

// maxDiscarded bounds the body of a redirect, which is not used.
const maxDiscarded = 1 << 20

// RoundTrip sends a request, and follows the redirects of its answer. Only requests to the server itself have the token.
func (f *following) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := r.Clone(r.Context())
	sent.Header.Set("X-Tiltyard-Result", "redirect")
	answer, err := f.next.RoundTrip(sent)
	for range maxFollowed {
		if err != nil || answer.StatusCode != http.StatusSeeOther {
			return answer, err
		}
		_, _ = io.CopyN(io.Discard, answer.Body, maxDiscarded) // lets the connection be used again
		_ = answer.Body.Close()
		var to *url.URL
		if to, err = sent.URL.Parse(answer.Header.Get("Location")); err != nil {
			return nil, fmt.Errorf("the answer leads to no URL: %w", err)
		}
		read, err := http.NewRequestWithContext(r.Context(), http.MethodGet, to.String(), nil)
		if err != nil {
			return nil, err
		}
		next := http.DefaultTransport
		if to.Host == r.URL.Host {
			next, read.Header = f.next, http.Header{"Authorization": r.Header["Authorization"]}
		}
		sent = read
		if answer, err = next.RoundTrip(read); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the answer leads on more than %d times", maxFollowed)
}
