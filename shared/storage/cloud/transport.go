package cloud

import (
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

const (
	// dialTime is the time limit of a connection to be made, and of its TLS handshake.
	dialTime = 2 * time.Second
	// idleTime is how long an idle connection is kept.
	idleTime = 30 * time.Second
	// maxIdle bounds the idle connections to one host. All requests of a service go to one host. With fewer idle connections
	// than concurrent requests, each further request would need a new handshake.
	maxIdle = 256
	// maxRedirects bounds the redirects of one request.
	maxRedirects = 5
)

// Dialing returns the SDK's client with the limits of this package, to which the SDK adds the certificates of the
// environment.
func Dialing() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = dialTime }).
		WithTransportOptions(func(t *http.Transport) {
			t.TLSHandshakeTimeout = dialTime
			t.IdleConnTimeout = idleTime
			t.MaxIdleConns, t.MaxIdleConnsPerHost = maxIdle, maxIdle
		})
}

// NewHTTPClient returns the HTTP client for all AWS clients. It copies certificates and proxy from given, if that is a
// client of the SDK or nil; any other client is returned unchanged.
func NewHTTPClient(given aws.HTTPClient) aws.HTTPClient {
	if given == nil {
		given = Dialing()
	}
	buildable, ok := given.(*awshttp.BuildableClient)
	if !ok {
		return given
	}
	client := &http.Client{Transport: buildable.GetTransport(), CheckRedirect: redirect}
	return &thawing{client: client, now: time.Now}
}

// redirect follows the redirects that keep the method, with which S3 leads to the region of a bucket.
func redirect(r *http.Request, via []*http.Request) error {
	if code := r.Response.StatusCode; code != http.StatusTemporaryRedirect && code != http.StatusPermanentRedirect {
		return http.ErrUseLastResponse
	}
	if len(via) >= maxRedirects {
		return errors.New("too many redirects")
	}
	if r.URL.Host != via[len(via)-1].URL.Host {
		r.Header.Del("X-Amz-Security-Token")
	}
	return nil
}

// A thawing is a client that drops idle connections after the process was frozen. A function of AWS is frozen between
// its requests, for hours. The clock that bounds the age of idle connections stands still in the meantime, while the
// other end gives them up, and a request on one of them would wait for an answer in vain.
type thawing struct {
	client *http.Client
	now    func() time.Time

	mu   sync.Mutex
	last time.Time // when the client was used
}

// Do implements aws.HTTPClient.
func (t *thawing) Do(r *http.Request) (*http.Response, error) {
	now := t.now().Round(0) // without the reading of the clock that stands still
	t.mu.Lock()
	frozen := !t.last.IsZero() && now.Sub(t.last).Abs() > idleTime
	t.last = now
	t.mu.Unlock()
	if frozen {
		t.client.CloseIdleConnections()
	}
	return t.client.Do(r)
}
