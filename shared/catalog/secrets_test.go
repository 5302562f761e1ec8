package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/secretbox"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// wantKind checks the code of an error about a secret, and that its kind distinguishes it from the
// same error about a table.
func wantKind(t *testing.T, what string, err error, code protocol.Code, kind string) {
	t.Helper()
	var known *protocol.Error
	if !errors.As(err, &known) || known.Code != code || known.Kind != kind {
		t.Errorf("%s: got %v, want code %v of the kind %q", what, err, code, kind)
	}
}

func TestSecretsAreCreatedAlteredAndDropped(t *testing.T) {
	c := open(t, memstore.New())
	clock := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	c.names.Now = func() time.Time { return clock }
	mustCreate(t, c, "n")
	mustTable(t, c, "n/s") // names of secrets are their own
	ctx, id := t.Context(), split("n/s")

	_, err := c.Secrets.Get(ctx, id)
	wantKind(t, "a missing secret", err, protocol.TableNotFound, protocol.SecretNotFound)
	wantKind(t, "alter a missing secret", c.Secrets.Alter(ctx, id, secretbox.Sealed{}), protocol.TableNotFound, protocol.SecretNotFound)
	wantKind(t, "drop a missing secret", c.Secrets.Drop(ctx, id), protocol.TableNotFound, protocol.SecretNotFound)
	wantCode(t, "create without a parent", c.Secrets.Create(ctx, split("m/s"), secretbox.Sealed{}), "NamespaceNotFound")

	if err := c.Secrets.Create(ctx, id, secretbox.Sealed{Key: "first"}); err != nil {
		t.Fatal(err)
	}
	wantKind(t, "create again", c.Secrets.Create(ctx, id, secretbox.Sealed{Key: "other"}), protocol.TableAlreadyExists, protocol.SecretAlreadyExists)
	made, err := c.Secrets.Get(ctx, id)
	if err != nil || made.Sealed.Key != "first" || !made.Created.Equal(clock) || !made.Updated.Equal(clock) {
		t.Errorf("got %+v, %v", made, err)
	}
	for n := range 3 { // the clock stands still, and updated_at moves all the same
		if err := c.Secrets.Alter(ctx, id, secretbox.Sealed{Key: fmt.Sprint(n)}); err != nil {
			t.Fatal(err)
		}
		altered, err := c.Secrets.Get(ctx, id)
		want := clock.Add(time.Duration(n+1) * time.Millisecond)
		if err != nil || altered.Sealed.Key != fmt.Sprint(n) || altered.UID != made.UID || !altered.Created.Equal(clock) || !altered.Updated.Equal(want) {
			t.Errorf("after alter %d: got %+v, %v; want it updated at %v", n, altered, err, want)
		}
	}
	if _, err := c.Namespaces.Drop(ctx, split("n"), false); !protocol.HasCode(err, protocol.NamespaceNotEmpty) {
		t.Errorf("drop of a namespace with a table and a secret: got %v, want NamespaceNotEmpty", err)
	}
	if _, err := c.DropTable(ctx, id); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Namespaces.Drop(ctx, split("n"), false); !protocol.HasCode(err, protocol.NamespaceNotEmpty) {
		t.Errorf("drop of a namespace with a secret: got %v, want NamespaceNotEmpty", err)
	}
	if err := c.Secrets.Drop(ctx, id); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Namespaces.Drop(ctx, split("n"), false); err != nil {
		t.Error(err)
	}
}

func TestSecretsAreListedByThemselves(t *testing.T) {
	c := open(t, memstore.New())
	mustCreate(t, c, "n", "n/in")
	mustTable(t, c, "n/table")
	want := []string{"A", "a", "a.b", "a_b", "b-c"}
	for _, name := range want {
		if err := c.Secrets.Create(t.Context(), []string{"n", name}, secretbox.Sealed{}); err != nil {
			t.Fatal(err)
		}
	}
	for limit := 1; limit <= len(want)+1; limit++ {
		var got []string
		for after := ""; ; {
			names, next, err := c.Lists.Names(t.Context(), lists.Secrets, split("n"), after, limit)
			if err != nil || len(names) > limit {
				t.Fatalf("by %d: got %q, %v", limit, names, err)
			}
			got = append(got, names...)
			if after = next; after == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("by %d: got %q, want %q", limit, got, want)
		}
	}
	if names, _, err := c.Lists.Names(t.Context(), lists.Secrets, split("n/in"), "", lists.NoLimit); err != nil || len(names) != 0 {
		t.Errorf("an empty namespace: got %q, %v", names, err)
	}
	if tables, _, err := c.Lists.Names(t.Context(), lists.Tables, split("n"), "", lists.NoLimit); err != nil || !slices.Equal(tables, []string{"table"}) {
		t.Errorf("tables: got %q, %v", tables, err)
	}
	if ids, err := c.Lists.All(t.Context()); err != nil || len(ids) != 1 {
		t.Errorf("all tables: got %q, %v", ids, err)
	}
	_, _, err := c.Lists.Names(t.Context(), lists.Secrets, split("m"), "", lists.NoLimit)
	wantCode(t, "a missing namespace", err, "NamespaceNotFound")
}

// A cascade in one request drops secrets, also those deep below.
func TestDroppedNamespacesTakeTheirSecretsAlong(t *testing.T) {
	store := memstore.New()
	c := open(t, store)
	plant(t, c)
	if _, err := c.Namespaces.Drop(t.Context(), []string{"p"}, true); err != nil {
		t.Fatal(err)
	}
	if left := wantNoOrphans(t, store, "the end"); left != 0 {
		t.Errorf("%d records are left", left)
	}
	if _, err := c.Secrets.Get(t.Context(), split("q/t0")); err != nil {
		t.Errorf("the secret of the neighbour: %v", err)
	}
}

// Another writer changes the record before each of the first writes.
func TestSecretsThatChangeMeanwhileAreReadAgain(t *testing.T) {
	for what, change := range map[string]func(*Catalog) error{
		"alter": func(c *Catalog) error { return c.Secrets.Alter(t.Context(), split("s"), secretbox.Sealed{Key: "last"}) },
		"drop":  func(c *Catalog) error { return c.Secrets.Drop(t.Context(), split("s")) },
	} {
		inner := memstore.New()
		other := open(t, inner)
		if err := other.Secrets.Create(t.Context(), split("s"), secretbox.Sealed{Key: "first"}); err != nil {
			t.Fatal(err)
		}
		var races atomic.Int32
		racing := faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
			if strings.Contains(fmt.Sprint(call), keys.Secret(split("s"))) && races.Add(1)%2 == 0 && races.Load() <= 4 {
				if err := other.Secrets.Alter(t.Context(), split("s"), secretbox.Sealed{Key: "between"}); err != nil {
					t.Error(err)
				}
			}
			return faultstore.Fault{}
		})
		if err := change(open(t, racing)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if races.Load() < 6 {
			t.Errorf("%s: %d requests were sent, so nothing was raced", what, races.Load())
		}
		record, err := other.Secrets.Get(t.Context(), split("s"))
		if what == "drop" {
			wantKind(t, what, err, protocol.TableNotFound, protocol.SecretNotFound)
		} else if err != nil || record.Sealed.Key != "last" {
			t.Errorf("%s: got %+v, %v", what, record, err)
		}
	}
}

// A change of a secret that fails at any request leaves it as it was or as it shall be, and a repetition
// leads there.
func TestChangesOfSecretsSurviveACrashAnywhere(t *testing.T) {
	id := split("n/s")
	for _, change := range []struct {
		name, before, want string // keys of the value; "" is no secret
		do                 func(context.Context, *Catalog) error
		done               string // the code that a repetition may answer when the first took place
	}{
		{"create", "", "new", func(ctx context.Context, c *Catalog) error {
			return c.Secrets.Create(ctx, id, secretbox.Sealed{Key: "new"})
		}, "TableAlreadyExists"},
		{"alter", "old", "new", func(ctx context.Context, c *Catalog) error {
			return c.Secrets.Alter(ctx, id, secretbox.Sealed{Key: "new"})
		}, ""},
		{"drop", "old", "", func(ctx context.Context, c *Catalog) error { return c.Secrets.Drop(ctx, id) }, "TableNotFound"},
	} {
		value := func(store objectstore.Store) string {
			record, err := open(t, store).Secrets.Get(t.Context(), id)
			if err != nil && code(err) != "TableNotFound" {
				t.Fatal(err)
			}
			if err != nil {
				return ""
			}
			return record.Sealed.Key
		}
		for _, fault := range []faultstore.Fault{{Crash: true}, {Crash: true, Lost: true}, {Lost: true}, {Err: objectstore.ErrUnknownOutcome}} {
			n, reached := 0, true
			for reached {
				n, reached = n+1, false
				inner := memstore.New()
				mustCreate(t, open(t, inner), "n")
				if change.before != "" {
					if err := open(t, inner).Secrets.Create(t.Context(), id, secretbox.Sealed{Key: change.before}); err != nil {
						t.Fatal(err)
					}
				}
				first := change.do(t.Context(), open(t, faultstore.New(inner, func(call faultstore.Call) faultstore.Fault {
					if call.N != n {
						return faultstore.Fault{}
					}
					reached = true
					return fault
				})))
				if got := value(inner); got != change.want && (got != change.before || first == nil) {
					t.Errorf("%s, request %d of %+v: the value is %q after %v", change.name, n, fault, got, first)
				}
				if second := code(change.do(t.Context(), open(t, inner))); second != "" && second != change.done {
					t.Errorf("%s, request %d of %+v: the repetition answers %s", change.name, n, fault, second)
				}
				if got := value(inner); got != change.want {
					t.Errorf("%s, request %d of %+v: in the end the value is %q", change.name, n, fault, got)
				}
			}
			if n < 3 {
				t.Errorf("%s: only %d requests had a fault", change.name, n-1)
			}
		}
	}
}

func TestSweepTakesOrphanedSecretsAway(t *testing.T) {
	store := memstore.New()
	c := open(t, store)
	mustCreate(t, c, "kept", "gone")
	for _, id := range []string{"kept/s", "gone/s"} {
		if err := c.Secrets.Create(t.Context(), split(id), secretbox.Sealed{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Delete(t.Context(), keys.Namespace(split("gone")), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	c.names.Now = func() time.Time { return time.Now().Add(48 * time.Hour) }
	if deleted, err := c.Sweeper.Sweep(t.Context(), 0); err != nil || deleted != 1 {
		t.Errorf("a sweep took %d records (%v), want 1", deleted, err)
	}
	if _, err := c.Secrets.Get(t.Context(), split("kept/s")); err != nil {
		t.Error(err)
	}
}

// sealAgain seals with the key new, except the values of the key lost.
func sealAgain(_ context.Context, id []string, sealed secretbox.Sealed) (secretbox.Sealed, bool, error) {
	switch sealed.Key {
	case "lost":
		return sealed, false, errors.New("there is no such key")
	case "new":
		return sealed, false, nil
	}
	return secretbox.Sealed{Key: "new", Ciphertext: []byte(strings.Join(id, "/"))}, true, nil
}

// plantSecrets makes two secrets of the key old and one of each other key, with a table of the same name.
func plantSecrets(t *testing.T, c *Catalog) {
	t.Helper()
	mustCreate(t, c, "n", "n/m")
	mustTable(t, c, "n/old1")
	for _, id := range []string{"old0", "n/old1", "n/new", "n/m/lost"} {
		name := keys.Display(split(id)[len(split(id))-1:])
		if err := c.Secrets.Create(t.Context(), split(id), secretbox.Sealed{Key: strings.TrimRight(name, "01")}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSecretsAreSealedAgain(t *testing.T) {
	c := open(t, memstore.New())
	plantSecrets(t, c)
	before, err := c.Secrets.Get(t.Context(), split("n/old1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{2, 0} {
		resealed, all, err := c.Secrets.Reseal(t.Context(), sealAgain)
		if resealed != want || all != 4 || err == nil || !strings.Contains(err.Error(), "secret n$m$lost stays") {
			t.Errorf("%d of %d are sealed again, want %d: %v", resealed, all, want, err)
		}
	}
	after, err := c.Secrets.Get(t.Context(), split("n/old1"))
	if err != nil || after.Sealed.Key != "new" || string(after.Sealed.Ciphertext) != "n/old1" {
		t.Errorf("got %+v, %v", after, err)
	}
	before.Sealed = after.Sealed
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("more than the seal has changed: %s", diff)
	}
}

// Wherever it stops, each value is whole, and a repetition seals the rest.
func TestSealingAgainSurvivesCrashes(t *testing.T) {
	for at := 0; ; at++ {
		inner := memstore.New()
		plantSecrets(t, open(t, inner))
		calls := 0
		failing := faultstore.New(inner, func(faultstore.Call) faultstore.Fault {
			calls++
			return faultstore.Fault{Crash: calls == at/2+1, Lost: calls == at/2+1 && at%2 == 1}
		})
		_, _, _ = open(t, failing).Secrets.Reseal(t.Context(), sealAgain)
		c := open(t, inner)
		for _, id := range []string{"old0", "n/old1"} {
			if record, err := c.Secrets.Get(t.Context(), split(id)); err != nil || record.Sealed.Key == "new" != (string(record.Sealed.Ciphertext) == id) {
				t.Errorf("crash %d: secret %s is %+v, %v", at, id, record, err)
			}
		}
		if _, all, err := c.Secrets.Reseal(t.Context(), sealAgain); all != 4 || err == nil {
			t.Errorf("crash %d: %d secrets, %v", at, all, err)
		}
		for _, id := range []string{"old0", "n/old1"} {
			if record, err := c.Secrets.Get(t.Context(), split(id)); err != nil || record.Sealed.Key != "new" {
				t.Errorf("crash %d: secret %s is %+v, %v in the end", at, id, record, err)
			}
		}
		if calls < at/2+1 {
			if at < 8 {
				t.Errorf("there were %d calls", calls)
			}
			return
		}
	}
}

// A value that an owner replaces, or drops, while it is sealed again is not brought back.
func TestSealingAgainLosesToOwners(t *testing.T) {
	for what, change := range map[string]func(*Catalog) error{
		"alter": func(c *Catalog) error {
			return c.Secrets.Alter(t.Context(), split("old"), secretbox.Sealed{Key: "new", Nonce: []byte("theirs")})
		},
		"drop": func(c *Catalog) error { return c.Secrets.Drop(t.Context(), split("old")) },
	} {
		c := open(t, memstore.New())
		if err := c.Secrets.Create(t.Context(), split("old"), secretbox.Sealed{Key: "old"}); err != nil {
			t.Fatal(err)
		}
		changed := false
		_, _, err := c.Secrets.Reseal(t.Context(), func(ctx context.Context, id []string, sealed secretbox.Sealed) (secretbox.Sealed, bool, error) {
			if !changed {
				changed = true
				if err := change(c); err != nil {
					t.Error(err)
				}
			}
			return sealAgain(ctx, id, sealed)
		})
		record, found := c.Secrets.Get(t.Context(), split("old"))
		if err != nil || what == "drop" && found == nil || what == "alter" && string(record.Sealed.Nonce) != "theirs" {
			t.Errorf("%s: got %+v, %v, %v", what, record, found, err)
		}
	}
}
