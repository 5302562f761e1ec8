package executor

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/process/tracing"
)

// ContentType is the content type of the frame of a call in an HTTP request.
const ContentType = "application/vnd.tiltyard.call"

// The headers of an HTTP request with its time, the digest of its body and its signature. The signature is
// Scheme, a space, and the HMAC-SHA256, in hexadecimal, of the method, the path, the time and the digest,
// separated by line feeds. So an executor can authenticate a request before it reads the body.
const (
	TimeHeader = "X-Tiltyard-Time" // Unix seconds; executors refuse a time that is minutes off
	// DigestHeader has the SHA-256 of the body in hexadecimal.
	DigestHeader = "X-Tiltyard-Content-SHA256"
	Scheme       = "TILTYARD-HMAC-SHA256"
)

const (
	minKeyBytes   = 16
	maxKeyBytes   = 64 << 10
	maxFaultBytes = 1 << 20
)

// https is the carrier to an executor at a URL.
type https struct {
	url    string
	key    func(ctx context.Context) ([]byte, error)
	client *http.Client
}

// newHTTPS returns the carrier to an executor over HTTPS. Redirects are not followed, because they would
// send rows and secrets to another address.
func newHTTPS(c Config, secret func(ctx context.Context, id string) ([]byte, error)) (Carrier, error) {
	h := &https{url: strings.TrimSuffix(c.Address, "/") + "/v1/call"}
	kind, place, _ := strings.Cut(c.Key, ":")
	switch {
	case kind == "file":
		h.key = func(context.Context) ([]byte, error) { return readKey(place) }
	case secret == nil:
		return nil, errors.New("its key is a secret, and this deployment keeps none")
	default:
		h.key = kept(func(ctx context.Context) ([]byte, error) { return secret(ctx, place) })
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // a small compressed reply could expand to a large one
	transport.MaxResponseHeaderBytes = 64 << 10
	transport.MaxIdleConnsPerHost = c.Concurrency
	h.client = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return h, nil
}

// keepFor is the time for which a key is cached.
const keepFor = 5 * time.Minute

// kept caches the result of get for keepFor. Errors are not cached.
func kept(get func(ctx context.Context) ([]byte, error)) func(ctx context.Context) ([]byte, error) {
	var mu sync.Mutex
	var value []byte
	var until time.Time
	return func(ctx context.Context) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		if time.Now().Before(until) {
			return value, nil
		}
		fresh, err := get(ctx)
		if err != nil {
			return nil, err
		}
		value, until = fresh, time.Now().Add(keepFor)
		return value, nil
	}
}

func readKey(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // the file was only read
	return io.ReadAll(io.LimitReader(file, maxKeyBytes))
}

// Connect returns h itself, because calls are independent.
func (h *https) Connect() Line { return h }

// Close does nothing.
func (h *https) Close() error { return nil }

// Do sends a call as a signed request. A response other than 200 is a fault.
func (h *https) Do(ctx context.Context, c *Call, stream []byte, limit int64) (*Bytes, error) {
	head, held, err := frameOf(ctx, c, stream)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	body := func() io.Reader { return io.MultiReader(bytes.NewReader(head), bytes.NewReader(stream)) }
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, body())
	if err != nil {
		// The body is read twice: by the signature and by the request.
		return nil, err
	}
	req.ContentLength = int64(len(head) + len(stream))
	req.Header.Set("Content-Type", ContentType)
	req.Header.Set("Accept", arrowipc.ContentTypeStream)
	tracing.PassOn(ctx, req.Header)
	if err := h.sign(req, body()); err != nil {
		return nil, &Fault{Type: Refused, Message: "the key of the executor cannot be used", Lost: true, Err: err}
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return nil, &Fault{Type: Unreachable, Message: "the executor did not answer", Retryable: true, Lost: true, Err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		// An executor may quote variables of the function in its answer.
		resp.Status = concealer(c.Environment).Hide(resp.Status)
		return nil, faultOf(ctx, resp)
	}
	if kind := resp.Header.Get("Content-Type"); kind != arrowipc.ContentTypeStream {
		return nil, malformed("the executor answered with the content type %.80q; it must be %s", concealer(c.Environment).Hide(kind), arrowipc.ContentTypeStream)
	}
	return ReadReply(ctx, resp.Body, limit)
}

// sign adds the time and the signature to a request.
func (h *https) sign(req *http.Request, body io.Reader) error {
	key, err := h.key(req.Context())
	if err != nil {
		return err
	}
	if key = bytes.TrimSpace(key); len(key) < minKeyBytes {
		return fmt.Errorf("has %d bytes; it needs %d", len(key), minKeyBytes)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, body); err != nil {
		return err
	}
	now, digest := strconv.FormatInt(time.Now().Unix(), 10), hex.EncodeToString(sum.Sum(nil))
	req.Header.Set(TimeHeader, now)
	req.Header.Set(DigestHeader, digest)
	req.Header.Set("Authorization", Scheme+" "+Sign(key, req.Method, req.URL.EscapedPath(), now, digest))
	return nil
}

// Sign returns the signature of a request, in hexadecimal. digest is the digest of the body.
func Sign(key []byte, method, path, now, digest string) string {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s\n%s\n%s\n%s", method, path, now, digest)
	return hex.EncodeToString(mac.Sum(nil))
}

// faultOf returns the fault of a response that is no stream.
func faultOf(ctx context.Context, resp *http.Response) *Fault {
	status := resp.StatusCode
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &Fault{Type: Overloaded, Message: "the executor answered with the status " + resp.Status, Retryable: true, Lost: true, After: retryAfter(resp.Header)}
	case http.StatusRequestEntityTooLarge:
		return &Fault{Type: TooLarge, Message: "the executor takes no calls as large as this"}
	case http.StatusUnprocessableEntity, http.StatusInternalServerError:
		data, err := ReadReply(ctx, resp.Body, maxFaultBytes)
		if err != nil {
			return malformed("the error of the executor cannot be read: %v", err)
		}
		defer data.Release()
		return ReadFault(data.Data)
	}
	message := fmt.Sprintf("the executor answered with the status %.80s", resp.Status)
	if status >= 300 && status < 400 {
		message += "; redirects are not followed"
	}
	return &Fault{Type: Refused, Message: message, Lost: true}
}

// retryAfter returns the requested pause of a response, or 0 if it is absent or not in seconds.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.ParseUint(h.Get("Retry-After"), 10, 31)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
