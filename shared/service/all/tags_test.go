package all_test

import (
	"net/http"
	"testing"

	"tiltyard/shared/storage/objectstore/memstore"
)

// Another process drops a table that this one remembers, and makes one of the same name. The work on a tag
// begins on the table that is gone, and ends on the one that the name stands for now.
func TestTagIsMadeInTheTableOfTheName(t *testing.T) {
	store := memstore.New()
	in, other := serve(t, "memory://test", store), serve(t, "memory://test", store)
	in.ok("/v1/table/t/create", stream(t, 0, 3))
	in.ok("/v1/table/t/tags/create", `{"tag":"first","version":1}`)
	other.ok("/v1/table/t/drop", "{}")
	in.fails("/v1/table/t/tags/create", `{"tag":"second","version":1}`, http.StatusNotFound, 4, "does not exist")

	for _, replacement := range []string{"second", "third"} {
		other.ok("/v1/table/t/create", stream(t, 0, 3))
		in.ok("/v1/table/t/tags/create", `{"tag":"`+replacement+`","version":1}`)
		other.ok("/v1/table/t/drop", "{}")
		other.ok("/v1/table/t/create", stream(t, 0, 3))
		other.ok("/v1/table/t/insert", stream(t, 3, 3))
		in.ok("/v1/table/t/tags/create", `{"tag":"`+replacement+`","version":2}`)
		other.ok("/v1/table/t/drop", "{}")
		other.ok("/v1/table/t/create", stream(t, 0, 3))
		other.ok("/v1/table/t/tags/create", `{"tag":"moved","version":1}`)
		other.ok("/v1/table/t/insert", stream(t, 3, 3))
		in.ok("/v1/table/t/tags/update", `{"tag":"moved","version":2}`)
		tags := other.ok("/v1/table/t/tags/list", "{}")["tags"].(map[string]any)
		if got, there := tags["moved"].(map[string]any); !there || len(tags) != 1 || got["version"] != 2.0 {
			t.Errorf("the table has the tags %v, want moved at version 2", tags)
		}
		other.ok("/v1/table/t/drop", "{}")
	}
}

// Another process renames a table that this one remembers, and makes one of the old name. A tag of that name
// never reaches the renamed table, which is there and has the version.
func TestTagIsNotMadeInARenamedTable(t *testing.T) {
	store := memstore.New()
	in, other := serve(t, "memory://test", store), serve(t, "memory://test", store)
	tagsOf := func(table string) map[string]any {
		return other.ok("/v1/table/"+table+"/tags/list", "{}")["tags"].(map[string]any)
	}
	in.ok("/v1/table/t/create", stream(t, 0, 3))
	in.ok("/v1/table/t/insert", stream(t, 3, 3))
	in.ok("/v1/table/t/tags/create", `{"tag":"kept","version":1}`)
	other.ok("/v1/table/t/rename", `{"new_table_name":"u"}`)
	in.fails("/v1/table/t/tags/create", `{"tag":"new","version":1}`, http.StatusNotFound, 4, "does not exist")

	in.ok("/v1/table/u/tags/list", "{}") // so that this process remembers u
	other.ok("/v1/table/u/rename", `{"new_table_name":"v"}`)
	other.ok("/v1/table/u/create", stream(t, 0, 3))
	in.ok("/v1/table/u/tags/create", `{"tag":"new","version":1}`)
	in.fails("/v1/table/u/tags/update", `{"tag":"kept","version":1}`, http.StatusNotFound, 8, "has no tag")
	if renamed, made := tagsOf("v"), tagsOf("u"); len(renamed) != 1 || renamed["kept"] == nil || len(made) != 1 || made["new"] == nil {
		t.Errorf("the renamed table has the tags %v, want kept; the other has %v, want new", renamed, made)
	}
}
