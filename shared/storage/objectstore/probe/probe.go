// Package probe tests whether a store gives the guarantees on which commits depend. Many servers with the
// S3 protocol ignore the conditions of writes, or do not evaluate them atomically. On such a store
// acknowledged commits get lost, without any other symptom.
//
// A probe makes some fifty small requests, most of them in parallel, and one upload of 9 MiB. It works in a
// folder of its own below [Folder], and removes its objects afterwards.
package probe

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/storage/objectstore"
)

// Folder is the folder of the objects of probes, in that of the catalog.
const Folder = "_catalog/probes/"

// A Fault is a guarantee that a store does not give.
type Fault struct {
	Guarantee string // a name from [Guarantees]
	Seen      string // the observed behaviour
}

// Error returns the guarantee and the observed behaviour.
func (f *Fault) Error() string { return f.Guarantee + ": " + f.Seen }

// Faults returns the faults in an error of Run.
func Faults(err error) []*Fault {
	var one *Fault
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*Fault
		for _, err := range joined.Unwrap() {
			all = append(all, Faults(err)...)
		}
		return all
	}
	if errors.As(err, &one) {
		return []*Fault{one}
	}
	return nil
}

// A guarantee is one test of a probe, in a folder of its own. A violation is a Fault; any other error means
// that the store could not be tested.
type guarantee struct {
	name string
	try  func(context.Context, bench) error
}

var guarantees = []guarantee{
	{"a put if absent replaces nothing", putIfAbsent},
	{"a put if unchanged replaces no other object", putIfMatch},
	{"a delete if unchanged deletes no other object", deleteIfMatch},
	{"one of several puts if absent wins", racingPutIfAbsent},
	{"one of several puts if unchanged wins", racingPutIfMatch},
	{"one of several deletes if unchanged wins", racingDeleteIfMatch},
	{"an upload in parts becomes one object", uploadInParts},
	{"lists are complete and in the order of keys", listOrder},
}

// Guarantees returns the names of the tested guarantees.
func Guarantees() []string {
	names := make([]string, len(guarantees))
	for i, g := range guarantees {
		names[i] = g.name
	}
	return names
}

// cleaningTime bounds the removal of the objects, which also runs after the end of the context.
const cleaningTime = 30 * time.Second

// triesOfEach is the number of attempts at a guarantee with an unknown outcome: a server that has just
// started may lose answers.
const triesOfEach = 3

// Run tests all guarantees of a store. The error joins a [Fault] for each violated guarantee, and the
// errors of the guarantees that could not be tested. None of them names the store.
func Run(ctx context.Context, s objectstore.Store) (err error) {
	if _, _, err := s.Get(ctx, Folder+"absent"); err != nil && !errors.Is(err, objectstore.ErrNotExist) {
		return err // nothing else can be learnt, either
	}
	run := Folder + strings.ToLower(rand.Text()) + "/"
	made := &maker{Store: s}
	defer func() {
		ctx, done := context.WithTimeout(context.WithoutCancel(ctx), cleaningTime)
		defer done()
		err = errors.Join(err, made.remove(ctx))
	}()
	found := make([]error, len(guarantees))
	var tries sync.WaitGroup
	for i, g := range guarantees {
		tries.Go(func() {
			for n := range triesOfEach {
				found[i] = g.try(ctx, bench{made, fmt.Sprintf("%s%d-%d/", run, i, n), g.name})
				if !errors.Is(found[i], objectstore.ErrUnknownOutcome) || Faults(found[i]) != nil {
					break
				}
			}
			if found[i] != nil && Faults(found[i]) == nil {
				found[i] = fmt.Errorf("%s: it could not be tried: %w", g.name, found[i])
			}
		})
	}
	tries.Wait()
	return errors.Join(found...)
}

// A maker is a store that records the keys of all puts, because listings of a faulty store may omit them.
type maker struct {
	objectstore.Store
	mu   sync.Mutex
	keys []string
}

func (m *maker) note(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.keys, key) {
		m.keys = append(m.keys, key)
	}
}

func (m *maker) Put(ctx context.Context, key string, data []byte, cond objectstore.Condition) (objectstore.Info, error) {
	m.note(key)
	return m.Store.Put(ctx, key, data, cond)
}

func (m *maker) Create(ctx context.Context, key string) (objectstore.Writer, error) {
	m.note(key)
	return m.Store.Create(ctx, key)
}

// remove deletes the recorded objects that still exist.
func (m *maker) remove(ctx context.Context) error {
	var deletes errgroup.Group
	deletes.SetLimit(racers)
	for _, key := range m.keys {
		deletes.Go(func() error { return m.Delete(ctx, key, objectstore.Condition{}) })
	}
	if err := deletes.Wait(); err != nil {
		return fmt.Errorf("delete the objects of the probe: %w", err)
	}
	return nil
}

// A bench is the environment for the test of one guarantee.
type bench struct {
	objectstore.Store
	folder    string
	guarantee string
}

// fault returns the error of a store that does not give the guarantee.
func (b bench) fault(format string, args ...any) error {
	return &Fault{b.guarantee, fmt.Sprintf(format, args...)}
}

// refused returns nil if err is the refusal of a write whose condition does not hold.
func (b bench) refused(what string, err error) error {
	switch {
	case err == nil:
		return b.fault("%s was not refused", what)
	case errors.Is(err, objectstore.ErrPrecondition):
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// done returns nil if err is not the refusal of a write whose condition holds.
func (b bench) done(what string, err error) error {
	if errors.Is(err, objectstore.ErrPrecondition) {
		return b.fault("%s was refused", what)
	}
	return err
}

// holds returns nil if the object has this content.
func (b bench) holds(ctx context.Context, key, want string) error {
	got, _, err := b.Get(ctx, key)
	switch {
	case errors.Is(err, objectstore.ErrNotExist):
		return b.fault("the object is gone")
	case err == nil && string(got) != want:
		return b.fault("the object has changed")
	}
	return err
}

var ifAbsent = objectstore.Condition{IfAbsent: true}

func ifMatch(etag string) objectstore.Condition { return objectstore.Condition{IfMatch: etag} }

// twoVersions puts an object and then another one, with the content newest, and returns both ETags.
func (b bench) twoVersions(ctx context.Context, key, newest string) (first, second string, err error) {
	before, err := b.put(ctx, key, "first", ifAbsent)
	if err != nil {
		return "", "", err
	}
	after, err := b.put(ctx, key, newest, ifMatch(before.ETag))
	return before.ETag, after.ETag, err
}

// put puts an object under a condition that holds, or without it if the store refuses that. A condition is
// safer, because a slow put may be sent twice: without a condition, the second request could arrive after
// the racing writes, and let another one of them win.
func (b bench) put(ctx context.Context, key, content string, cond objectstore.Condition) (objectstore.Info, error) {
	info, err := b.Put(ctx, key, []byte(content), cond)
	if errors.Is(err, objectstore.ErrPrecondition) {
		return b.Put(ctx, key, []byte(content), objectstore.Condition{})
	}
	return info, err
}

// putIfAbsent tests that a put with If-None-Match succeeds only without an object.
func putIfAbsent(ctx context.Context, b bench) error {
	key := b.folder + "k"
	_, err := b.Put(ctx, key, []byte("first"), ifAbsent)
	if err := b.done("a put where nothing is", err); err != nil {
		return err
	}
	_, err = b.Put(ctx, key, []byte("second"), ifAbsent)
	if err := b.refused("the second put", err); err != nil {
		return err
	}
	return b.holds(ctx, key, "first")
}

// putIfMatch tests that a put with If-Match succeeds exactly for the ETag of the current object.
func putIfMatch(ctx context.Context, b bench) error {
	key := b.folder + "k"
	stale, newest, err := b.twoVersions(ctx, key, "second")
	if err != nil {
		return err
	}
	_, err = b.Put(ctx, key, []byte("third"), ifMatch(stale))
	if err := b.refused("a put with the ETag of an earlier object", err); err != nil {
		return err
	}
	_, err = b.Put(ctx, b.folder+"absent", []byte("third"), ifMatch(newest))
	if err := b.refused("a put with an ETag where nothing is", err); err != nil {
		return err
	}
	if err := b.holds(ctx, key, "second"); err != nil {
		return err
	}
	_, err = b.Put(ctx, key, []byte("third"), ifMatch(newest))
	if err := b.done("a put with the ETag of the object", err); err != nil {
		return err
	}
	return b.holds(ctx, key, "third")
}

// deleteIfMatch tests that a delete with If-Match succeeds exactly for the ETag of the current object.
func deleteIfMatch(ctx context.Context, b bench) error {
	key := b.folder + "k"
	stale, newest, err := b.twoVersions(ctx, key, "second")
	if err != nil {
		return err
	}
	if err := b.refused("a delete with the ETag of an earlier object", b.Delete(ctx, key, ifMatch(stale))); err != nil {
		return err
	}
	if err := b.refused("a delete with an ETag where nothing is", b.Delete(ctx, b.folder+"absent", ifMatch(newest))); err != nil {
		return err
	}
	if err := b.holds(ctx, key, "second"); err != nil {
		return err
	}
	return b.done("a delete with the ETag of the object", b.Delete(ctx, key, ifMatch(newest)))
}

// racers is the number of concurrent writers.
const racers = 8

// race runs racers writes concurrently. It returns the winners; the others have lost, or do not know their
// outcome.
func (b bench) race(write func(i int) error) (winners []int, err error) {
	results := make([]error, racers)
	var start, all sync.WaitGroup
	start.Add(1)
	for i := range racers {
		all.Go(func() {
			start.Wait()
			results[i] = write(i)
		})
	}
	start.Done()
	all.Wait()
	for i, result := range results {
		switch {
		case result == nil:
			winners = append(winners, i)
		case !errors.Is(result, objectstore.ErrPrecondition) && !errors.Is(result, objectstore.ErrUnknownOutcome):
			return nil, result
		}
	}
	return winners, nil
}

// alone returns nil if at most one writer has won.
func (b bench) alone(winners []int) error {
	if len(winners) > 1 {
		return b.fault("%d of %d writers at once were told that they have won", len(winners), racers)
	}
	return nil
}

// kept returns nil if the object is the winner's, or if there is no winner.
func (b bench) kept(ctx context.Context, key string, winners []int) error {
	if len(winners) == 0 {
		return nil
	}
	return b.holds(ctx, key, racer(winners[0]))
}

func racer(i int) string { return fmt.Sprintf("racer %d", i) }

func racingPutIfAbsent(ctx context.Context, b bench) error {
	return b.racePuts(ctx, ifAbsent)
}

func racingPutIfMatch(ctx context.Context, b bench) error {
	info, err := b.put(ctx, b.folder+"k", "start", ifAbsent)
	if err != nil {
		return err
	}
	return b.racePuts(ctx, ifMatch(info.ETag))
}

// racePuts tests that at most one of concurrent puts with the same condition succeeds, and that its object
// is kept.
func (b bench) racePuts(ctx context.Context, cond objectstore.Condition) error {
	key := b.folder + "k"
	winners, err := b.race(func(i int) error {
		_, err := b.Put(ctx, key, []byte(racer(i)), cond)
		return err
	})
	if err := cmp.Or(err, b.alone(winners)); err != nil {
		return err
	}
	return b.kept(ctx, key, winners)
}

// racingDeleteIfMatch tests that of concurrent deletes and puts with the same ETag only one takes effect.
func racingDeleteIfMatch(ctx context.Context, b bench) error {
	key := b.folder + "k"
	// A slow put if absent may be sent twice, and its second request carried out after a delete. The object
	// of the race is therefore another one, which no late request makes again.
	_, etag, err := b.twoVersions(ctx, key, "start")
	if err != nil {
		return err
	}
	winners, err := b.race(func(i int) error {
		if i%2 == 0 {
			return b.Delete(ctx, key, ifMatch(etag))
		}
		_, err := b.Put(ctx, key, []byte(racer(i)), ifMatch(etag))
		return err
	})
	if err != nil {
		return err
	}
	// If slow deletes are sent again, several of them may report success. But a put must not win beside
	// them.
	puts := slices.DeleteFunc(slices.Clone(winners), func(i int) bool { return i%2 == 0 })
	if len(puts) == 0 {
		return nil
	}
	return cmp.Or(b.alone(winners), b.kept(ctx, key, puts))
}

// uploadBytes is large enough for stores to use a multipart upload.
const uploadBytes = 9 << 20

// uploadInParts tests that a multipart upload is read back unchanged, with the ETag from its completion.
func uploadInParts(ctx context.Context, b bench) error {
	key := b.folder + "k"
	data := make([]byte, uploadBytes)
	_, _ = rand.Read(data)
	w, err := b.Create(ctx, key)
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return errors.Join(b.fault("%v", err), w.Abort())
	}
	made, err := w.Commit()
	if err != nil {
		return b.fault("%v", err)
	}
	got, read, err := b.Get(ctx, key)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, data) || read.ETag != made.ETag {
		return b.fault("%d bytes were written, and %d others are read", len(data), len(got))
	}
	return nil
}

// listed are names that servers with folders list in the wrong order. Here they are in the right order.
var listed = []string{"B", "a-/x", "a.", "a/b", "a/c", "a0", "b"}

// listOrder tests that pages of a listing are in bytewise key order and complete.
func listOrder(ctx context.Context, b bench) error {
	var puts errgroup.Group
	for _, name := range listed {
		puts.Go(func() error {
			_, err := b.Put(ctx, b.folder+name, nil, objectstore.Condition{})
			return err
		})
	}
	if err := puts.Wait(); err != nil {
		return err
	}
	var got []string
	opts := objectstore.ListOptions{Prefix: b.folder, Limit: 3}
	for range listed {
		page, err := b.List(ctx, opts)
		if err != nil {
			return err
		}
		for _, o := range page.Objects {
			got = append(got, strings.TrimPrefix(o.Key, b.folder))
		}
		if !page.More {
			break
		}
		opts.StartAfter = page.Last()
	}
	if !slices.Equal(got, listed) {
		return b.fault("%q were listed as %q", listed, got)
	}
	return nil
}
