package idempotency

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"

	"github.com/google/uuid"
)

// A Digest is the body of a request that is a stream: it is hashed while it is read, and what
// it says is known at its end. All methods but Read and ReadAll are those of a nil one, too,
// which stands for no stream. It is for one goroutine at a time.
type Digest struct {
	body io.Reader
	hash hash.Hash
	sum  string // in hexadecimal; "" before the end
	want string // what sum must be; "" for anything
	end  error  // what Read returns when it is not nil
}

// NewDigest returns the body of a request, which it reads from body.
func NewDigest(body io.Reader) *Digest { return &Digest{body: body, hash: sha256.New()} }

// Read implements io.Reader. In place of io.EOF it returns [ErrOtherRequest] when an earlier
// request of the same key was another.
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

// ReadAll reads what is left of the stream.
func (d *Digest) ReadAll() error {
	_, err := io.Copy(io.Discard, d)
	return err
}

// check reads the stream to its end; the error is ErrOtherRequest when its sum is not sum.
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

// expect makes the stream end with an error when its sum is not sum; "" expects nothing.
func (d *Digest) expect(sum string) {
	if d != nil {
		d.want = sum
	}
}

// known returns the sum, or "" while the stream has not been read to its end.
func (d *Digest) known() string {
	if d == nil {
		return ""
	}
	return d.sum
}

// name returns an id that is made of another one and what the stream says.
func (d *Digest) name(id string) string {
	base, err := uuid.Parse(id)
	if d.known() == "" || err != nil {
		return id
	}
	return uuid.NewSHA1(base, []byte(d.sum)).String()
}
