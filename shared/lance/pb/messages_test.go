package pb

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
)

// A wireMessage is a pointer to a message that is both read and written.
type wireMessage interface {
	Unmarshal(b []byte) error
	Marshal(e *Encoder)
}

// everyMessage makes one of each message that is both read and written.
func everyMessage() []wireMessage {
	messages := []wireMessage{
		new(Any), new(Field), new(Timestamp), new(WriterVersion), new(DataFormat), new(BasePath), new(Manifest),
		new(Fragment), new(DataFile), new(DeletionFile), new(RewriteGroup), new(RewrittenIndex), new(FileReplacement),
		new(UpdateMap), new(UpdateMapEntry), new(KeyExistenceFilter), new(KeyHashes), new(BloomFilter),
		new(IndexSection), new(IndexMetadata), new(IndexFile), new(RowIDSequence), new(RowVersionSequence),
		new(Transaction), new(FileDescriptor), new(ColumnMetadata),
	}
	for number := range 16 {
		if op := newOperation(100 + protowire.Number(number)); reflect.TypeOf(op) != reflect.TypeFor[*OpaqueOperation]() {
			messages = append(messages, op)
		}
	}
	return messages
}

// A message of random values is read as it was written, and keeps a field that it does not
// know.
func TestMessagesAreReadAsTheyWereWritten(t *testing.T) {
	for _, empty := range everyMessage() {
		typ := reflect.TypeOf(empty).Elem()
		t.Run(typ.Name(), func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			for range 200 {
				want, got := reflect.New(typ), reflect.New(typ)
				fill(random, want.Elem(), 0)
				if err := got.Interface().(wireMessage).Unmarshal(message(want.Interface().(wireMessage).Marshal)); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want.Interface(), got.Interface()); diff != "" {
					t.Fatalf("(-written +read):\n%s", diff)
				}
			}
		})
	}
}

// fill sets a value to a random one that a reader can return: no list is empty but not nil,
// of the members of a oneof one is set, and lists that belong together are equally long.
func fill(random *rand.Rand, v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Struct:
		fillStruct(random, v, depth)
	case reflect.Pointer:
		if random.IntN(3) > 0 && depth < 6 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(random, v.Elem(), depth+1)
		}
	case reflect.Slice:
		n := random.IntN(4)
		if n == 0 || depth > 5 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			element := v.Index(i)
			if element.Kind() == reflect.Pointer {
				element.Set(reflect.New(element.Type().Elem()))
				element = element.Elem()
			}
			fill(random, element, depth+1)
			if element.Kind() == reflect.Slice && element.IsNil() {
				element.Set(reflect.MakeSlice(element.Type(), 0, 0))
			}
		}
	case reflect.Map:
		if n := random.IntN(3); n > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(random, key, depth+1)
			if value.Kind() == reflect.Pointer {
				value.Set(reflect.New(value.Type().Elem()))
				fill(random, value.Elem(), depth+1)
			} else {
				fill(random, value, depth+1)
			}
			if value.Kind() != reflect.Slice || !value.IsNil() {
				v.SetMapIndex(key, value)
			} else {
				v.SetZero()
			}
		}
	case reflect.Interface:
		if v.Type() == reflect.TypeFor[Operation]() {
			v.Set(reflect.ValueOf(&Restore{Version: random.Uint64()}))
		}
	case reflect.String:
		v.SetString([]string{"", "a", "é", "_transactions/x"}[random.IntN(4)])
	case reflect.Bool:
		v.SetBool(random.IntN(2) == 0)
	case reflect.Float64:
		v.SetFloat(random.Float64())
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(uint64(random.IntN(256)))
		}
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(int32(random.Uint32())) >> random.IntN(32))
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(random.Uint64() >> random.IntN(64))
	}
}

func fillStruct(random *rand.Rand, v reflect.Value, depth int) {
	switch m := v.Addr().Interface().(type) {
	case *U64Segment:
		*m = U64Segment{Kind: SegmentRange, Start: random.Uint64N(100), End: 100 + random.Uint64N(100)}
		return
	case *Page, *ColumnMetadata:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Name != "BufferOffsets" && f.Name != "BufferSizes" && f.Name != "Encoding" {
				fill(random, v.Field(i), depth+1)
			}
		}
		return
	}
	chosen := false
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch {
		case f.Name == "Unknown":
			if random.IntN(2) == 0 {
				v.Field(i).SetBytes([]byte{0xC0, 0xBB, 1, 1}) // field 3000
			}
		case len(f.Tag.Get("pb")) > 6 && f.Tag.Get("pb")[1:] == ",oneof":
			if !chosen {
				chosen = true
				v.Field(i).Set(reflect.New(f.Type.Elem()))
				fill(random, v.Field(i).Elem(), depth+1)
			}
		default:
			fill(random, v.Field(i), depth+1)
		}
	}
}

// Of any bytes, what a reader accepts is written and read again as the same.
func FuzzMessages(f *testing.F) {
	random := rand.New(rand.NewPCG(3, 4))
	for i, m := range everyMessage() {
		fill(random, reflect.ValueOf(m).Elem(), 0)
		f.Add(uint8(i), message(m.Marshal))
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		all := everyMessage()
		first := all[int(which)%len(all)]
		if first.Unmarshal(b) != nil {
			return
		}
		written := message(first.Marshal)
		second := reflect.New(reflect.TypeOf(first).Elem()).Interface().(wireMessage)
		if err := second.Unmarshal(written); err != nil {
			t.Fatalf("read what was written: %v", err)
		}
		if again := message(second.Marshal); !bytes.Equal(written, again) {
			t.Errorf("%T was written as %x, and after a second reading as %x", first, written, again)
		}
	})
}
