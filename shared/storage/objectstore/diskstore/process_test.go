package diskstore

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"tiltyard/shared/storage/objectstore"
)

// The tests of this file start the test binary again as other processes on the same
// directory. A child reads orders from its input and answers each with one line.
const (
	childRole = "DISKSTORE_TEST_CHILD" // the role that the process is to play
	childRoot = "DISKSTORE_TEST_ROOT"

	processes = 8
	perChild  = 8
)

func TestMain(m *testing.M) {
	roles := map[string]func(*Store, string) string{"race": raceOnce, "count": countOnce, "churn": churn}
	role := os.Getenv(childRole)
	if role == "" {
		os.Exit(m.Run())
	}
	s, err := Open(os.Getenv(childRoot))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		fmt.Println(roles[role](s, orders.Text()))
	}
}

// A child is a process that was started on a store.
type child struct {
	cmd     *exec.Cmd
	orders  io.WriteCloser
	answers *bufio.Reader
}

func startChild(t *testing.T, role, root string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childRole+"="+role, childRoot+"="+root)
	cmd.Stderr = os.Stderr
	orders, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = orders.Close()
		_ = cmd.Wait()
	})
	return &child{cmd, orders, bufio.NewReader(answers)}
}

func startChildren(t *testing.T, role, root string) []*child {
	children := make([]*child, processes)
	for i := range children {
		children[i] = startChild(t, role, root)
		children[i].order(t, "warm-up") // all are ready when the race begins
		children[i].answer(t)
	}
	return children
}

func (c *child) order(t *testing.T, text string) {
	t.Helper()
	if _, err := fmt.Fprintln(c.orders, text); err != nil {
		t.Fatal(err)
	}
}

func (c *child) answer(t *testing.T) string {
	t.Helper()
	line, err := c.answers.ReadString('\n')
	if err != nil {
		t.Fatalf("answer of a child: %v", err)
	}
	return strings.TrimSuffix(line, "\n")
}

// together runs perChild goroutines and joins their results.
func together(run func(i int) string) string {
	said := make([]string, perChild)
	var group sync.WaitGroup
	for i := range perChild {
		group.Go(func() { said[i] = run(i) })
	}
	group.Wait()
	return strings.Join(strings.Fields(strings.Join(said, " ")), " ")
}

// raceOnce puts key if absent from many goroutines, and answers which of them won.
func raceOnce(s *Store, key string) string {
	return together(func(i int) string {
		me := fmt.Sprintf("%d-%d", os.Getpid(), i)
		value := strings.Repeat(me+"\n", 500)
		_, err := s.Put(context.Background(), key, []byte(value), objectstore.Condition{IfAbsent: true})
		switch {
		case err == nil:
			return me
		case errors.Is(err, objectstore.ErrPrecondition):
			return ""
		}
		return strconv.Quote(err.Error())
	})
}

func TestProcessesRacePutIfAbsent(t *testing.T) {
	s := open(t)
	children := startChildren(t, "race", s.root.Name())
	for round := range 30 {
		key := fmt.Sprintf("t/round-%d/_versions/1.manifest", round)
		for _, c := range children {
			c.order(t, key)
		}
		var winners []string
		for _, c := range children {
			winners = append(winners, strings.Fields(c.answer(t))...)
		}
		if len(winners) != 1 {
			t.Fatalf("round %d: got winners %q, want one", round, winners)
		}
		data, _, err := s.Get(t.Context(), key)
		if err != nil || string(data) != strings.Repeat(winners[0]+"\n", 500) {
			t.Fatalf("round %d: got %.40q, %v, want what %s wrote", round, data, err, winners[0])
		}
	}
	wantNoTemp(t, s)
}

// countOnce adds one to a number, from each goroutine until it has won once, and answers
// the numbers that it wrote. The first to come puts it if it is absent.
func countOnce(s *Store, key string) string {
	return together(func(int) string {
		for {
			data, info, err := s.Get(context.Background(), key)
			cond := objectstore.Condition{IfMatch: info.ETag}
			if errors.Is(err, objectstore.ErrNotExist) {
				data, cond, err = []byte("0"), objectstore.Condition{IfAbsent: true}, nil
			}
			if err != nil {
				return strconv.Quote(err.Error())
			}
			n, err := strconv.Atoi(string(data))
			if err != nil {
				return strconv.Quote(err.Error())
			}
			next := strconv.Itoa(n + 1)
			_, err = s.Put(context.Background(), key, []byte(next), cond)
			switch {
			case err == nil:
				return next
			case !errors.Is(err, objectstore.ErrPrecondition):
				return strconv.Quote(err.Error())
			}
		}
	})
}

func TestProcessesRacePutIfMatch(t *testing.T) {
	s := open(t)
	children := startChildren(t, "count", s.root.Name())
	const rounds = 5
	for round := range rounds {
		for _, c := range children {
			c.order(t, "counter")
		}
		seen := make(map[string]bool)
		for _, c := range children {
			for _, n := range strings.Fields(c.answer(t)) {
				if _, err := strconv.Atoi(n); err != nil || seen[n] {
					t.Errorf("round %d: got %s (written before: %v), want a new number", round, n, seen[n])
				}
				seen[n] = true
			}
		}
		if want := processes * perChild; len(seen) != want {
			t.Errorf("round %d: got %d numbers, want %d", round, len(seen), want)
		}
		want := strconv.Itoa((round + 1) * processes * perChild)
		if data, _, err := s.Get(t.Context(), "counter"); err != nil || string(data) != want {
			t.Fatalf("round %d: got counter %q, %v, want %s", round, data, err, want)
		}
	}
}

const churnKeys = 5

// churn writes for ever, one key after another, and prints each written generation. It also creates and
// deletes a key of its own.
func churn(s *Store, _ string) string {
	ctx := context.Background()
	for generation := 1; ; generation++ {
		key, value := churnKey(generation%churnKeys), sealed(generation, rand.IntN(40_000))
		var err error
		if generation%3 == 0 {
			err = stream(ctx, s, key, value)
		} else {
			_, err = s.Put(ctx, key, value, objectstore.Condition{})
		}
		switch {
		case err != nil:
		case generation%4 == 0:
			_, err = s.Put(ctx, comingAndGoing, value, objectstore.Condition{IfAbsent: true})
			if errors.Is(err, objectstore.ErrPrecondition) {
				err = nil // left by the process before
			}
		case generation%4 == 2:
			err = s.Delete(ctx, comingAndGoing, objectstore.Condition{})
		}
		if err != nil {
			return strconv.Quote(err.Error())
		}
		fmt.Println(generation)
	}
}

const comingAndGoing = "own/folder/k"

func churnKey(i int) string { return fmt.Sprintf("t%d/data/k", i%2) + strconv.Itoa(i) }

func stream(ctx context.Context, s *Store, key string, value []byte) error {
	w, err := s.Create(ctx, key)
	if err != nil {
		return err
	}
	if _, err := w.Write(value); err != nil {
		return err
	}
	_, err = w.Commit()
	return err
}

// sealed returns bytes that contain their generation and a proof of completeness.
func sealed(generation, size int) []byte {
	body := fmt.Appendf(nil, "%d %s", generation, strings.Repeat("x", size))
	sum := sha256.Sum256(body)
	return append(sum[:], body...)
}

// unseal returns the generation of whole sealed bytes.
func unseal(data []byte) (generation int, ok bool) {
	if len(data) < sha256.Size || sha256.Sum256(data[sha256.Size:]) != [sha256.Size]byte(data) {
		return 0, false
	}
	n, err := fmt.Sscanf(string(data[sha256.Size:]), "%d ", &generation)
	return generation, n == 1 && err == nil
}

func TestKilledWriterLeavesWholeObjects(t *testing.T) {
	s := open(t)
	left := 0
	for range 20 {
		c := startChild(t, "churn", s.root.Name())
		c.order(t, "go")
		last := 0
		for range 3 + rand.IntN(30) {
			answer := c.answer(t)
			generation, err := strconv.Atoi(answer)
			if err != nil {
				t.Fatalf("writer: %s", answer)
			}
			last = generation
		}
		// An answer comes when a put has ended; some work takes us into the middle of one.
		sha256.Sum256(make([]byte, rand.IntN(1<<20)))
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.cmd.Wait()
		checkSurvivors(t, s, last)
		left = len(names(t, s, tempDir))
	}
	t.Logf("%d unfinished files were left", left)
	// A new process can write, whatever the dead ones have left behind.
	for i := range churnKeys {
		mustPut(t, s, churnKey(i), "alive")
	}
}

// checkSurvivors checks that every answered write up to the generation last exists, and that every
// object is complete.
func checkSurvivors(t *testing.T, s *Store, last int) {
	t.Helper()
	for i := range churnKeys {
		// The newest generation of this key up to last; none if it is not above 0.
		answered := last - (last-i+churnKeys)%churnKeys
		data, _, err := s.Get(t.Context(), churnKey(i))
		if answered <= 0 && errors.Is(err, objectstore.ErrNotExist) {
			continue
		}
		generation, whole := unseal(data)
		if err != nil || !whole {
			t.Fatalf("key %d: got %d bytes, %v, want a whole object or none", i, len(data), err)
		}
		if answered > 0 && generation < answered {
			t.Errorf("key %d: got generation %d, want %d or later", i, generation, answered)
		}
	}
	data, _, err := s.Get(t.Context(), comingAndGoing)
	if _, whole := unseal(data); !whole && !errors.Is(err, objectstore.ErrNotExist) {
		t.Errorf("key that comes and goes: got %d bytes, %v, want a whole object or none", len(data), err)
	}
	page, err := s.List(t.Context(), objectstore.ListOptions{})
	if err != nil || len(page.Objects) > churnKeys+1 {
		t.Errorf("List: got %d objects, %v, want at most %d", len(page.Objects), err, churnKeys+1)
	}
}
