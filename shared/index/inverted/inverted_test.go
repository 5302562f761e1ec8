package inverted

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/index/indextest"
	"tiltyard/shared/index/inverted/fst"
	"tiltyard/shared/lance"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// holder is a row that has a term: its id, the length of its text, and the positions of the term.
type holder struct {
	row, length int
	positions   []int
}

func (h *holder) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&h.row, &h.length, &h.positions})
}

// native returns the segments that native Lance has made by their names, who has their terms, and
// their files.
func native(t testing.TB) (segments map[string]indextest.Folder, terms map[string]map[string][]holder, files map[string][]byte) {
	t.Helper()
	archive, err := zip.OpenReader("testdata/native.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	store := memstore.New()
	segments, files = map[string]indextest.Folder{}, map[string][]byte{}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name == "terms.json" {
			if err := json.Unmarshal(data, &terms); err != nil {
				t.Fatal(err)
			}
			continue
		}
		files[f.Name] = data
		if _, err := store.Put(t.Context(), f.Name, data, objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
		segments[path.Dir(f.Name)] = indextest.Folder{Store: store, Prefix: path.Dir(f.Name)}
	}
	return segments, terms, files
}

func TestSegmentsHaveTheTermsOfTheirTexts(t *testing.T) {
	segments, terms, _ := native(t)
	for name, known := range terms {
		t.Run(name, func(t *testing.T) {
			r, err := Open(t.Context(), segments[name], Expected{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Partitions() != 2 {
				t.Errorf("%d partitions, want 2", r.Partitions())
			}
			positions := name != "plain" && name != "bare"
			asked := append(slices.Sorted(maps.Keys(known)), "nowhere")
			found, err := r.Find(t.Context(), asked, positions)
			if err != nil {
				t.Fatal(err)
			}
			got := make([][]holder, len(asked))
			for _, m := range found {
				err := m.Each(t.Context(), func(d *Document) error {
					for i, n := range d.Frequencies {
						if n == 0 {
							continue
						}
						row, _ := locate(t.Context(), t, m, d)
						h := holder{row: int(row), length: int(d.Length)}
						if positions {
							h.positions = slices.Clone(d.Positions[i])
						} else {
							h.positions = make([]int, n)
						}
						got[i] = append(got[i], h)
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			for i, term := range asked {
				compare(t, term, got[i], known[term], positions, name == "large")
			}
		})
	}
}

func compare(t *testing.T, term string, got, want []holder, positions, large bool) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d documents, want %d", term, len(got), len(want))
	}
	for i, w := range want {
		if large {
			w.length = int(rounded(uint32(w.length)))
		}
		g := got[i]
		if g.row != w.row || g.length != w.length || len(g.positions) != len(w.positions) || positions && !slices.Equal(g.positions, w.positions) {
			t.Errorf("%s: document %d is %v, want %v", term, i, g, w)
		}
	}
}

func TestTermsAreListed(t *testing.T) {
	segments, terms, _ := native(t)
	for name, segment := range segments {
		r, err := Open(t.Context(), segment, Expected{})
		if err != nil {
			t.Fatal(err)
		}
		all, last, falls := map[string]bool{}, "", 0
		err = r.Terms(t.Context(), func(term []byte) error {
			if string(term) <= last {
				falls++
			}
			all[string(term)], last = true, string(term)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != 125 || falls != r.Partitions()-1 {
			t.Errorf("%s: %d terms, want 125; out of order %d times, want %d", name, len(all), falls, r.Partitions()-1)
		}
		for term := range terms[name] {
			if !all[term] {
				t.Errorf("%s: no term %q", name, term)
			}
		}
	}
}

func TestMemoryOfASearchIsTaken(t *testing.T) {
	segments, _, _ := native(t)
	budget := memory.NewBudget(1<<30, 1<<30)
	share := budget.Open()
	defer share.Close()
	ctx := memory.WithShare(t.Context(), share)
	r, err := Open(ctx, segments["positions"], Expected{})
	if err != nil {
		t.Fatal(err)
	}
	opened := share.Held()
	if want := int64((idBytes + lengthBytes) * 600); opened < want {
		t.Errorf("an open segment of 600 documents holds %d bytes, want at least %d", opened, want)
	}
	found, err := r.Find(ctx, []string{"w1"}, true)
	if err != nil {
		t.Fatal(err)
	}
	if held := share.Held(); held <= opened {
		t.Errorf("lists that were read hold no memory")
	}
	before := share.Held()
	for _, m := range found {
		if err := m.Each(ctx, func(*Document) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if held := share.Held(); held != before {
		t.Errorf("a search that is over holds %d bytes", held-before)
	}
}

// TestDamagedSegmentsAreAnError changes bytes of files. The content read may differ, but each failure must
// be one of the errors after which rows are found without the index.
func TestDamagedSegmentsAreAnError(t *testing.T) {
	_, _, files := native(t)
	addElements(t, files)
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 400 {
		damage(t, files, r, round)
	}
}

func damage(t *testing.T, files map[string][]byte, r *rand.Rand, round int) {
	t.Helper()
	names := slices.Sorted(maps.Keys(files))
	victim := names[r.IntN(len(names))]
	data := slices.Clone(files[victim])
	for range 1 + r.IntN(4) {
		data[r.IntN(len(data))] = byte(r.UintN(256))
	}
	if r.IntN(8) == 0 {
		data = data[:r.IntN(len(data))]
	}
	search(t, files, victim, data, round)
}

// search searches a segment after the content of one file was replaced.
func search(t *testing.T, files map[string][]byte, victim string, data []byte, round int) {
	t.Helper()
	store := memstore.New()
	for name, bytes := range files {
		if path.Dir(name) != path.Dir(victim) {
			continue
		}
		if name == victim {
			bytes = data
		}
		if _, err := store.Put(t.Context(), name, bytes, objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	share := memory.NewBudget(64<<20, 64<<20).Open()
	defer share.Close()
	ctx := memory.WithShare(t.Context(), share)
	upTo := wholeUpTo{documents: wholeDocuments, termBytes: wholeTermBytes}
	if round%2 == 1 {
		upTo = wholeUpTo{} // terms and documents are paged
	}
	reader, err := open(ctx, indextest.Folder{Store: store, Prefix: path.Dir(victim)}, Expected{Elements: path.Dir(victim) == elementsFolder}, upTo)
	if err == nil {
		err = reader.Terms(ctx, func([]byte) error { return nil })
	}
	var found []*Matches
	if err == nil {
		positions := !strings.HasPrefix(victim, "plain/") && !strings.HasPrefix(victim, "bare/")
		found, err = reader.Find(ctx, []string{"w0", "w1", "日本語"}, positions)
	}
	for _, m := range found {
		var numbers []int64
		if err == nil {
			err = m.Each(ctx, func(d *Document) error {
				numbers = append(numbers, d.Number)
				return nil
			})
		}
		if err == nil {
			err = m.Locate(ctx, numbers, make([]uint64, len(numbers)), make([]uint32, len(numbers)))
		}
	}
	var refused *memory.Error
	if err != nil && !errors.Is(err, lance.ErrCorrupt) && !errors.Is(err, lance.ErrUnsupported) && !errors.As(err, &refused) {
		t.Errorf("round %d: %s: %v", round, victim, err)
	}
}

// elementsFolder has the files of a segment whose documents are elements of lists.
const elementsFolder = "elements"

// addElements adds a segment whose documents are list elements to files.
func addElements(t testing.TB, files map[string][]byte) {
	t.Helper()
	p := plain(128, true)
	p.DocumentGranularity = fulltext.ListElements
	out := indextest.NewOutput(t)
	partitionsOf(t.Context(), t, p, randomTexts(rand.New(rand.NewPCG(11, 12)), 600), []int{450, 150}, []uint64{0, 1}, out)
	if err := Describe(t.Context(), &p, []uint64{0, 1}, out); err != nil {
		t.Fatal(err)
	}
	for _, name := range out.Names() {
		data, _, err := out.Store.Get(t.Context(), path.Join(out.Prefix, name))
		if err != nil {
			t.Fatal(err)
		}
		files[path.Join(elementsFolder, name)] = data
	}
}

func FuzzSegment(f *testing.F) {
	_, _, files := native(f)
	addElements(f, files)
	names := slices.Sorted(maps.Keys(files))
	for i, name := range names {
		f.Add(byte(i), files[name])
		f.Add(byte(len(names)+i), files[name]) // with paged documents
	}
	f.Fuzz(func(t *testing.T, file byte, data []byte) {
		search(t, files, names[int(file)%len(names)], data, int(file)/len(names))
	})
}

func FuzzBlock(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 1, 1, 1, 1}, 2, true, true)
	f.Add([]byte{0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}, 1, false, true)
	f.Fuzz(func(t *testing.T, data []byte, n int, varint, small bool) {
		c := coding{block: maxBlock, varint: varint}
		if small {
			c.block = 128
		}
		b := block{documents: make([]uint32, 0, c.block), frequencies: make([]uint32, 0, c.block)}
		if n < 1 || n > c.block {
			return
		}
		if err := c.decode(data, n, &b); err != nil {
			return
		}
		s := positionStream{data: data, blocks: []uint32{0}, packed: varint}
		if positions, err := s.decode(0, b.frequencies, nil); err == nil && len(positions) > (group+1)*len(data) {
			t.Errorf("%d positions of %d bytes", len(positions), len(data))
		}
	})
}

func FuzzPagedAutomaton(f *testing.F) {
	segments, _, _ := native(f)
	for _, segment := range segments {
		f.Add(nativeTerms(f, segment), "w1")
	}
	f.Fuzz(func(t *testing.T, data []byte, term string) {
		a, err := fst.New(data)
		if err != nil {
			return
		}
		want, wantErr := a.Numbers(t.Context(), []string{term})
		paged := pagedOf(t, data, 0)
		got, gotErr := paged.Numbers(t.Context(), []string{term})
		if !slices.Equal(got, want) || (gotErr == nil) != (wantErr == nil) {
			t.Fatalf("%q in blocks: got %v, %v; want %v, %v", term, got, gotErr, want, wantErr)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		count := 0
		_ = a.Each(ctx, func([]byte) error {
			if count++; count > 1000 {
				return io.EOF
			}
			return nil
		})
	})
}
