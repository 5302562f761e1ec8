package inverted

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/index"
	"tiltyard/shared/index/inverted/fst"
	"tiltyard/shared/process/memory"
)

// A partitionWriter writes the files of a partition from some collectors. Documents keep the order of the
// collectors; terms are numbered in byte order.
type partitionWriter struct {
	out        index.Output
	names      partition
	coding     coding
	placed     bool
	metadata   map[string]string // of the invert file
	collectors []*collector
	starts     []uint32 // the number of the first document of each
	corpus     corpus
	total      int64 // terms of all documents
	held       memory.Hold

	// Sizes written so far:
	postings int64 // documents of all lists
	bytes    int64 // of the lists
	terms    int64 // bytes of the automaton
}

// A termOf is a term of a collector.
type termOf struct {
	collector int32
	number    uint32
}

// termOfBytes is the size of a termOf, and the approximate memory of its state in the automaton.
const termOfBytes = 8 + 8

const (
	// chunkPostings is the approximate number of postings that are written together.
	chunkPostings = 1 << 16
	// postingBytes is the approximate memory of a posting until it is written.
	postingBytes = 8
)

// write writes the three files of the partition: posting lists first, then the terms, then the documents.
func (w *partitionWriter) write(ctx context.Context) error {
	documents, terms := uint32(0), 0
	for _, c := range w.collectors {
		w.starts = append(w.starts, documents)
		documents += uint32(len(c.rows))
		w.total += c.total
		terms += len(c.terms)
	}
	w.corpus = corpus{documents: int(documents), average: float32(w.total) / float32(documents)}
	defer w.held.Release()
	if err := w.held.Resize(ctx, termOfBytes*int64(terms)); err != nil {
		return err
	}
	all := w.sortedTerms(terms)
	tokens, err := w.writeLists(ctx, all)
	if err != nil {
		return err
	}
	w.terms = int64(len(tokens.automaton))
	if err := writeTokens(ctx, w.out, w.names, tokens); err != nil {
		return err
	}
	return w.writeDocuments(ctx)
}

// sortedTerms returns the terms of all collectors in the order of their bytes, and the same term of
// several in the order of these.
func (w *partitionWriter) sortedTerms(count int) []termOf {
	all := make([]termOf, 0, count)
	for i, c := range w.collectors {
		for number := range c.terms {
			all = append(all, termOf{int32(i), uint32(number)})
		}
	}
	slices.SortFunc(all, func(a, b termOf) int {
		return cmp.Or(strings.Compare(w.text(a), w.text(b)), cmp.Compare(a.collector, b.collector))
	})
	return all
}

func (w *partitionWriter) text(t termOf) string { return w.collectors[t.collector].terms[t.number] }

// tokens is the content of the tokens file.
type tokens struct {
	automaton []byte
	count     uint32
	bytes     uint64 // of all terms
}

// writeLists writes the posting lists, encoding several in parallel.
func (w *partitionWriter) writeLists(ctx context.Context, all []termOf) (tokens, error) {
	schema := listSchema(w.placed, w.metadata)
	file, err := w.out.Create(ctx, w.names.name("invert"), schema)
	if err != nil {
		return tokens{}, err
	}
	var t tokens
	terms := fst.NewBuilder()
	encoders := make([]*listEncoder, runtime.GOMAXPROCS(0))
	for i := range encoders {
		encoders[i] = newListEncoder(w.coding, w.corpus, w.placed)
	}
	for before := w.held.Bytes(); len(all) > 0; {
		group, within := errgroup.WithContext(ctx)
		used, need := encoders[:0:0], before
		for _, e := range encoders {
			chunk, postings := w.chunk(all)
			w.postings += postings
			if all = all[len(chunk):]; len(chunk) == 0 {
				break
			}
			if need += postings * postingBytes; need > w.held.Bytes() {
				if err := w.held.Resize(ctx, need); err != nil {
					return t, errors.Join(err, group.Wait())
				}
			}
			used = append(used, e)
			group.Go(func() error { return w.encode(within, e, chunk) })
			w.name(terms, &t, chunk)
		}
		if err := group.Wait(); err != nil {
			return t, err
		}
		need = before + terms.Bytes()
		for _, e := range used {
			need, w.bytes = need+e.bytes(), w.bytes+e.bytes()
		}
		if err := w.held.Resize(ctx, need); err != nil {
			return t, err
		}
		for _, e := range used {
			if err := file.Write(ctx, e.rows(schema)); err != nil {
				return t, err
			}
		}
	}
	t.automaton = terms.Finish()
	return t, file.Close(ctx)
}

// chunk returns the first terms of all, whose lists are written together, and the number of their postings.
// It does not split the parts of one list.
func (w *partitionWriter) chunk(all []termOf) (chunk []termOf, postings int64) {
	for i, t := range all {
		if postings >= chunkPostings && w.text(t) != w.text(all[i-1]) {
			return all[:i], postings
		}
		postings += int64(w.collectors[t.collector].lists[t.number].count)
	}
	return all, postings
}

// each calls f with the parts of the posting list of each term of a chunk.
func (w *partitionWriter) each(chunk []termOf, f func(term string, parts []termOf) error) error {
	for from := 0; from < len(chunk); {
		to, term := from+1, w.text(chunk[from])
		for to < len(chunk) && w.text(chunk[to]) == term {
			to++
		}
		if err := f(term, chunk[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// name gives the terms of a chunk their numbers.
func (w *partitionWriter) name(terms *fst.Builder, t *tokens, chunk []termOf) {
	_ = w.each(chunk, func(term string, _ []termOf) error {
		terms.Add(term)
		t.count++
		t.bytes += uint64(len(term))
		return nil
	})
}

// encode encodes the posting lists of a chunk.
func (w *partitionWriter) encode(ctx context.Context, e *listEncoder, chunk []termOf) error {
	steps := 0
	err := w.each(chunk, func(_ string, parts []termOf) error {
		holding := uint32(0)
		for _, p := range parts {
			holding += w.collectors[p.collector].lists[p.number].count
		}
		e.begin(holding)
		for _, p := range parts {
			c, start := w.collectors[p.collector], w.starts[p.collector]
			for r := c.reader(p.number); r.next(); {
				if steps++; steps%contextSteps == 0 && ctx.Err() != nil {
					return ctx.Err()
				}
				e.document(start+r.document, r.frequency, c.lengths[r.document])
				if w.placed {
					for range r.frequency {
						e.place(uint32(r.places.varint()))
					}
				}
				e.endDocument()
			}
		}
		e.end()
		return nil
	})
	return cmp.Or(err, e.err)
}

// writeTokens writes the terms of a partition.
func writeTokens(ctx context.Context, out index.Output, names partition, t tokens) error {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: automatonColumn, Type: arrow.BinaryTypes.LargeBinary},
		{Name: "_token_next_id", Type: arrow.PrimitiveTypes.Uint32},
		{Name: "_token_total_length", Type: arrow.PrimitiveTypes.Uint64},
	}, nil)
	automaton := binaries{data: t.automaton, ends: []int64{int64(len(t.automaton))}}
	return writeFile(ctx, out, names.name("tokens"), array.NewRecordBatch(schema, []arrow.Array{
		automaton.array(), uint32s([]uint32{t.count}), uint64s([]uint64{t.bytes}),
	}, 1))
}

// writeDocuments writes the documents.
func (w *partitionWriter) writeDocuments(ctx context.Context) error {
	if err := w.held.Resize(ctx, documentBytes*int64(w.corpus.documents)); err != nil {
		return err
	}
	rows, lengths := make([]uint64, 0, w.corpus.documents), make([]uint32, 0, w.corpus.documents)
	var elements []uint32
	for _, c := range w.collectors {
		rows, lengths, elements = append(rows, c.rows...), append(lengths, c.lengths...), append(elements, c.elements...)
	}
	schema := documentSchema(w.total, elements != nil)
	columns := []arrow.Array{uint64s(rows), uint32s(lengths)}
	if elements != nil {
		columns = append(columns, uint32s(elements))
	}
	return writeFile(ctx, w.out, w.names.name("docs"), array.NewRecordBatch(schema, columns, int64(len(rows))))
}

// totalKey is the key in the metadata of the docs file for the number of terms of all documents.
const totalKey = "total_tokens"

// documentSchema returns the schema of the docs file. total is the number of terms of all documents.
func documentSchema(total int64, elements bool) *arrow.Schema {
	metadata := arrow.NewMetadata([]string{totalKey}, []string{strconv.FormatInt(total, 10)})
	fields := []arrow.Field{{Name: "_rowid", Type: arrow.PrimitiveTypes.Uint64}, {Name: "_num_tokens", Type: arrow.PrimitiveTypes.Uint32}}
	if elements {
		fields = append(fields, arrow.Field{Name: elementColumn, Type: arrow.PrimitiveTypes.Uint32})
	}
	return arrow.NewSchema(fields, &metadata)
}

// writeFile writes a file with one batch of rows.
func writeFile(ctx context.Context, out index.Output, name string, rows arrow.RecordBatch) error {
	file, err := out.Create(ctx, name, rows.Schema())
	if err != nil {
		return err
	}
	if err := file.Write(ctx, rows); err != nil {
		return err
	}
	return file.Close(ctx)
}
