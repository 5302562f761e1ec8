package idempotency

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"

	"github.com/google/uuid"
)

// A Digest is a streamed request body that computes its SHA-256 sum while it is read. A nil Digest
// stands for no stream; only Read and ReadAll must not be called on it. A Digest is for one
// goroutine at a time.
type Digest struct {
	body io.Reader
	hash hash.Hash
	sum  string // in hexadecimal; "" before the end
	want string // the expected sum; "" for any
	end  error  // the result of Read when it is not nil
}

// NewDigest returns the digest of a body.
func NewDigest(body io.Reader) *Digest { return &Digest{body: body, hash: sha256.New()} }

// Read implements io.Reader. It returns [ErrOtherRequest] in place of io.EOF if an earlier request
// with the same key had another body.
func (d *Digest) Read(p []byte) (int, error) {
	if d.end != nil {
		return 0, d.end
	}
	n, err := d.body.Read(p)
	d.hash.Write(p[:n])
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	d.sum = hex.EncodeToString(d.hash.Sum(nil))
	if d.end = io.EOF; d.want != "" && d.want != d.sum {
		d.end = ErrOtherRequest
	}
	return n, d.end
}

// ReadAll reads the rest of the stream.
func (d *Digest) ReadAll() error {
	_, err := io.Copy(io.Discard, d)
	return err
}

// check reads the stream to its end. The error is ErrOtherRequest if its sum differs from the given
// one.
func (d *Digest) check(sum string) error {
	if d == nil {
		return nil
	}
	if err := d.ReadAll(); err != nil {
		return err
	}
	if d.sum != sum {
		return ErrOtherRequest
	}
	return nil
}

// expect makes the stream end with ErrOtherRequest if its sum differs from the given one; ""
// accepts any.
func (d *Digest) expect(sum string) {
	if d != nil {
		d.want = sum
	}
}

// known returns the sum in hexadecimal, or "" before the stream has been read to its end.
func (d *Digest) known() string {
	if d == nil {
		return ""
	}
	return d.sum
}

// name derives an id from another id and the sum of the stream. Without a sum it returns id
// unchanged.
func (d *Digest) name(id string) string {
	base, err := uuid.Parse(id)
	if d.known() == "" || err != nil {
		return id
	}
	return uuid.NewSHA1(base, []byte(d.sum)).String()
}
