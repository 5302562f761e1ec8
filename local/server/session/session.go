// Package session signs in to the console of a local server by a code that the server prints, in place of its token.
//
// The code opens one session, within [codeAge] of its issue. The session has a token of its own, which [Sessions] verifies
// for the handler of all operations, as it does any other token: requests with it have the principal, and so the rights and
// the audit lines, of the server's token. Codes and sessions are in memory only. Begin with [Sessions.Open].
package session

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"sync"
	"time"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
)

// A session ends without a request for idleTime, and in any case after wholeTime.
const (
	codeAge   = 10 * time.Minute
	idleTime  = 30 * time.Minute
	wholeTime = 12 * time.Hour
)

// At most maxGuesses wrong codes are compared within guessTime; then all codes are refused for its rest.
const (
	maxGuesses = 10
	guessTime  = time.Minute
)

// maxSessions bounds the memory of sessions. The oldest one ends for another.
const maxSessions = 64

// Sessions are the sessions of one principal. It is safe for concurrent use.
type Sessions struct {
	principal *auth.Principal
	now       func() time.Time

	mu       sync.Mutex
	code     [sha256.Size]byte // hash of the code, until codeEnd
	codeEnd  time.Time         // zero if there is no code
	open     map[[sha256.Size]byte]*times
	guesses  int // wrong ones since guessing
	guessing time.Time
}

// times are the begin of a session and its last request.
type times struct{ begin, last time.Time }

// New returns sessions of a principal, of which none is open, and no code.
func New(principal *auth.Principal, now func() time.Time) *Sessions {
	return &Sessions{principal: principal, now: now, open: map[[sha256.Size]byte]*times{}}
}

// NewCode returns a random code of 130 bits, which opens one session. It replaces a former code.
func (s *Sessions) NewCode() string {
	code := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.code, s.codeEnd = sha256.Sum256([]byte(code)), s.now().Add(codeAge)
	return code
}

// Open spends the code and returns the token of a new session. The error is Unauthenticated for another code, and
// Throttling after many of them.
func (s *Sessions) Open(code string) (token string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if now.Sub(s.guessing) >= guessTime {
		s.guesses, s.guessing = 0, now
	}
	if s.guesses >= maxGuesses {
		return "", &protocol.Error{Code: protocol.Throttling, Message: "too many wrong codes; try again in a minute", Detail: anotherWay}
	}
	hash := sha256.Sum256([]byte(code))
	if same := subtle.ConstantTimeCompare(hash[:], s.code[:]) == 1; !same || !now.Before(s.codeEnd) {
		s.guesses++
		return "", &protocol.Error{Code: protocol.Unauthenticated, Message: "the code does not sign in: it is unknown, spent or too old", Detail: anotherWay}
	}
	s.codeEnd = time.Time{}
	s.removeEnded(now)
	token = rand.Text()
	s.open[sha256.Sum256([]byte(token))] = &times{begin: now, last: now}
	return token, nil
}

// anotherWay is the detail of a refused code.
const anotherWay = "a code signs in once, within 10 minutes; restart the server on a terminal to get another link, or sign in with the token of the server"

// removeEnded forgets the sessions that have ended, and the oldest one if there are too many.
func (s *Sessions) removeEnded(now time.Time) {
	var oldest [sha256.Size]byte
	for hash, t := range s.open {
		if t.ended(now) {
			delete(s.open, hash)
			continue
		}
		if first, ok := s.open[oldest]; !ok || t.begin.Before(first.begin) {
			oldest = hash
		}
	}
	if len(s.open) >= maxSessions {
		delete(s.open, oldest)
	}
}

func (t *times) ended(now time.Time) bool {
	return now.Sub(t.last) >= idleTime || now.Sub(t.begin) >= wholeTime
}

// Verify implements auth.Verifier. It counts as a request of the session.
func (s *Sessions) Verify(_ context.Context, token string) (*auth.Principal, error) {
	hash := sha256.Sum256([]byte(token))
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.open[hash]
	switch now := s.now(); {
	case !ok:
		return nil, &protocol.Error{Code: protocol.Unauthenticated, Message: "the token is not known"}
	case t.ended(now):
		delete(s.open, hash)
		return nil, &protocol.Error{Code: protocol.Unauthenticated, Message: "the session has ended"}
	default:
		t.last = now
	}
	return s.principal, nil
}

// Accepts reports that sessions are no credentials which a principal keeps: the token of the server is.
func (s *Sessions) Accepts(context.Context, *auth.Principal) (bool, error) { return false, nil }

// End ends all sessions if they are of the principal, and spends the code.
func (s *Sessions) End(principal *auth.Principal) {
	if principal.String() != s.principal.String() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.open)
	s.codeEnd = time.Time{}
}

var _ auth.Verifier = (*Sessions)(nil)
