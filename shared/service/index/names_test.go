package index_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/service/data"
	"tiltyard/shared/service/index"
	"tiltyard/shared/service/servicetest"
)

// namedColumns are columns whose indices have names that differ from the paths of the columns.
var namedColumns = func() *arrow.Schema {
	number, text := arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String
	optional := func(name string, t arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: t, Nullable: true}
	}
	return arrow.NewSchema([]arrow.Field{
		optional("id", number), optional("user-id", number), optional("text", text), optional("user-text", text),
		optional("s", arrow.StructOf(optional("in", text), optional("dot.ted", text), optional("sp ace", text))),
		optional("l", arrow.ListOf(text)), optional("v", arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)),
	}, nil)
}()

// The names are those that pylance 14.0.2 gives; the clients of LanceDB have other names for indices of texts.
func TestDefaultNamesOfIndices(t *testing.T) {
	type create struct{ column, kind, name string }
	const replace, keep = true, false
	lancedb := func(steps ...create) (requests []indexapi.CreateRequest) {
		for _, s := range steps {
			requests = append(requests, indexapi.CreateRequest{Common: protocol.Common{Dialect: protocol.DialectLanceDB}, Column: s.column, Type: s.kind, Name: s.name})
		}
		return requests
	}
	asking := func(replaces bool, steps ...create) (requests []indexapi.CreateRequest) {
		for _, s := range steps {
			requests = append(requests, indexapi.CreateRequest{Column: s.column, Type: s.kind, Name: s.name, Replace: &replaces})
		}
		return requests
	}
	elements := asking(replace, create{"l", "FTS", ""}, create{"l", "FTS", ""})
	elements[1].DocumentGranularity = "list_element"
	for _, c := range []struct {
		name  string
		asked []indexapi.CreateRequest
		want  string // what is listed, and whether the last request was refused
	}{
		{"a name with a hyphen", asking(keep, create{"user-id", "BTREE", ""}), "user-id_idx BTREE"},
		{"in backticks", asking(keep, create{"`user-id`", "BTREE", ""}), "user-id_idx BTREE"},
		{"a member", asking(keep, create{"s.in", "BTREE", ""}), "s.in_idx BTREE"},
		{"a space", asking(keep, create{"s.`sp ace`", "BTREE", ""}), "s.sp ace_idx BTREE"},
		{"a dot", asking(keep, create{"s.`dot.ted`", "BTREE", ""}), "s.`dot.ted`_idx BTREE"},
		{"texts", asking(keep, create{"user-text", "FTS", ""}), "`user-text`_idx FTS"},
		{"texts of LanceDB", lancedb(create{"`user-text`", "FTS", ""}), "user-text_idx FTS"},
		{"elements", elements, "l_idx FTS, l_list_element_idx FTS"},
		{"other kinds", asking(replace, create{"id", "BTREE", ""}, create{"id", "BITMAP", ""}, create{"id", "ZONEMAP", ""}),
			"id_idx BTREE, id_idx_2 BITMAP, id_idx_3 ZONEMAP"},
		{"other kinds without replace", asking(keep, create{"id", "BTREE", ""}, create{"id", "BITMAP", ""}), "id_idx BTREE, id_idx_2 BITMAP"},
		{"texts and another kind", lancedb(create{"text", "FTS", ""}, create{"text", "BTREE", ""}, create{"text", "FTS", ""}), "text_idx FTS, text_idx_2 BTREE"},
		{"the same kind", asking(replace, create{"id", "BTREE", ""}, create{"id", "BTREE", ""}), "id_idx BTREE"},
		{"the same kind without replace", asking(keep, create{"id", "BTREE", ""}, create{"id", "BTREE", ""}), "id_idx BTREE, refused"},
		{"vectors of another kind", asking(replace, create{"v", "IVF_FLAT", ""}, create{"v", "IVF_SQ", ""}), "v_idx IVF_SQ"},
		{"vectors of another kind without replace", asking(keep, create{"v", "IVF_FLAT", ""}, create{"v", "IVF_SQ", ""}), "v_idx IVF_FLAT, refused"},
		{"names of another column", asking(replace, create{"user-id", "BTREE", "id_idx"}, create{"text", "BTREE", "id_idx_2"}, create{"id", "BTREE", ""}, create{"id", "BTREE", ""}),
			"id_idx BTREE, id_idx_2 BTREE, id_idx_3 BTREE"},
		{"a chosen name of another column", asking(replace, create{"user-id", "BTREE", "x"}, create{"id", "BTREE", "x"}), "x BTREE, refused"},
		{"a chosen name of another kind", asking(replace, create{"id", "BTREE", "x"}, create{"id", "BITMAP", "x"}), "x BITMAP"},
		{"a chosen name without replace", asking(keep, create{"id", "BTREE", "x"}, create{"id", "BITMAP", "x"}), "x BTREE, refused"},
		{"a chosen name, then none", asking(keep, create{"id", "BTREE", "x"}, create{"id", "BTREE", ""}), "id_idx BTREE, x BTREE"},
		{"a name of Lance's own", asking(keep, create{"id", "BTREE", "__lance_mem_wal"}), "refused"},
	} {
		house := servicetest.Open(t)
		if _, err := data.New(house.Tables, arrowipc.Limits{}).Create(t.Context(), &dataapi.CreateTableRequest{
			Common: servicetest.Named("t"), Upload: servicetest.UploadOf(t, namedColumns, `[{"id":1,"text":"x","v":[1,2]},{"id":2,"v":[3,4]}]`),
		}); err != nil {
			t.Fatal(err)
		}
		service := index.New(house.Tables)
		var got []string
		for i, req := range c.asked {
			req.ID, req.Delimiter = []string{"t"}, protocol.DefaultDelimiter
			if _, err := service.Create(t.Context(), &req); err != nil {
				if i < len(c.asked)-1 || !strings.HasSuffix(c.want, "refused") {
					t.Errorf("%s: %v", c.name, err)
				}
				got = []string{"refused"}
			}
		}
		listed, err := service.List(t.Context(), &indexapi.ListRequest{Common: servicetest.Named("t")})
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range listed.Indexes {
			got = slices.Insert(got, i, fmt.Sprint(x.Name, " ", x.Type))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.name, diff)
		}
	}
}

// Clients divide texts into words by the details of an index.
func TestDetailsOfTextIndicesHaveTheStopWords(t *testing.T) {
	house := servicetest.Open(t)
	house.Create(t, "t", `[{"id":1,"name":"of the lance"}]`)
	service := index.New(house.Tables)
	req := &indexapi.CreateRequest{Common: servicetest.Named("t"), Column: "name", Type: "FTS"}
	req.CustomStopWords = []string{"lance"}
	if _, err := service.Create(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	listed, err := service.List(t.Context(), &indexapi.ListRequest{Common: servicetest.Named("t")})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"custom_stop_words":["lance"]`, `"lance_tokenizer":"text"`, `"max_token_length":40`} {
		if details := listed.Indexes[0].Details; !strings.Contains(details, want) {
			t.Errorf("the details are %s, want %s in them", details, want)
		}
	}
}

func TestCreateRequestRefusesANegativeTokenLength(t *testing.T) {
	longest := -1
	for _, kind := range []string{"BTREE", "FTS", "IVF_PQ"} {
		req := &indexapi.CreateRequest{Column: "x", Type: kind}
		req.MaxTokenLength.Value = &longest
		servicetest.WantCode(t, kind, req.Validate(), protocol.InvalidInput)
	}
}
