package all_test

import (
	"net/http"
	"testing"

	"tiltyard/shared/objectstore/memstore"
)

// Another process drops a table that this one remembers, and makes one of the same name. The work on a tag
// begins on the table that is gone, and ends on the one that the name stands for now.
func TestATagIsMadeInTheTableThatTheNameStandsFor(t *testing.T) {
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
