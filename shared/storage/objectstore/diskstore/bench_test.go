package diskstore

import (
	"context"
	"fmt"
	"testing"

	"tiltyard/shared/storage/objectstore"
)

func BenchmarkPut(b *testing.B) {
	data := make([]byte, 4096)
	conds := map[string]objectstore.Condition{"always": {}, "if-absent": {IfAbsent: true}}
	for name, cond := range conds {
		b.Run(name, func(b *testing.B) {
			s := open(b)
			for i := 0; b.Loop(); i++ {
				if _, err := s.Put(context.Background(), fmt.Sprintf("t.lance/_versions/%d", i), data, cond); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("if-match", func(b *testing.B) {
		s := open(b)
		info := mustPut(b, s, "catalog/record.json", "x")
		for b.Loop() {
			var err error
			info, err = s.Put(context.Background(), "catalog/record.json", data, objectstore.Condition{IfMatch: info.ETag})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("if-absent, lost", func(b *testing.B) {
		s := open(b)
		mustPut(b, s, "t.lance/_versions/1", "x")
		for b.Loop() {
			if _, err := s.Put(context.Background(), "t.lance/_versions/1", data, objectstore.Condition{IfAbsent: true}); err == nil {
				b.Fatal("got nil, want ErrPrecondition")
			}
		}
	})
}

func BenchmarkLock(b *testing.B) {
	s := open(b)
	for b.Loop() {
		unlock, err := s.locks.lock(context.Background(), "t.lance/_versions/1")
		if err != nil {
			b.Fatal(err)
		}
		unlock()
	}
}

func BenchmarkGet(b *testing.B) {
	s := open(b)
	mustPut(b, s, "t.lance/_versions/1.manifest", string(make([]byte, 4096)))
	for b.Loop() {
		if _, _, err := s.Get(context.Background(), "t.lance/_versions/1.manifest"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGetMissing(b *testing.B) {
	s := open(b)
	mustPut(b, s, "t.lance/_versions/1.manifest", "x")
	for b.Loop() {
		if _, _, err := s.Get(context.Background(), "t.lance/_versions/2.manifest"); err == nil {
			b.Fatal("got nil, want ErrNotExist")
		}
	}
}

func BenchmarkGetRanges(b *testing.B) {
	s := open(b)
	mustPut(b, s, "t.lance/data/x.lance", string(make([]byte, 16<<20)))
	cases := []struct {
		count  int
		length int64
	}{{1, 4096}, {4, 4096}, {64, 4096}, {16, 1 << 20}}
	for _, c := range cases {
		b.Run(fmt.Sprintf("%dx%d", c.count, c.length), func(b *testing.B) {
			var ranges []objectstore.Range
			for i := range c.count {
				ranges = append(ranges, objectstore.Range{Offset: int64(i) * (16 << 20) / int64(c.count), Length: c.length})
			}
			b.SetBytes(int64(c.count) * c.length)
			for b.Loop() {
				if _, _, err := s.GetRanges(context.Background(), "t.lance/data/x.lance", ranges...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkList(b *testing.B) {
	s := open(b)
	for i := range 1000 {
		mkdir(b, s, fmt.Sprintf("tables/%d.lance/_versions", i))
		writeFile(b, fmt.Sprintf("%s/tables/%d.lance/_versions/1.manifest", s.root.Name(), i), "x")
	}
	mkdir(b, s, "t.lance/_versions")
	for i := range 1000 {
		writeFile(b, fmt.Sprintf("%s/t.lance/_versions/%020d.manifest", s.root.Name(), i), "x")
	}
	cases := map[string]objectstore.ListOptions{
		"1000 versions":           {Prefix: "t.lance/_versions/"},
		"newest of 1000 versions": {Prefix: "t.lance/_versions/", Limit: 1},
		"1000 folders":            {Prefix: "tables/", Delimiter: "/"},
		"10 of 1000 folders":      {Prefix: "tables/", Delimiter: "/", Limit: 10},
	}
	for name, opts := range cases {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.List(context.Background(), opts); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
