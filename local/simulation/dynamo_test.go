package simulation_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// A table is the part of DynamoDB that the records use: items under a folder and a name,
// with the conditions that dynamorecord asks for and no others.
type table struct {
	items map[string]item // by folder and name
}

// An item is an item as DynamoDB writes it: {"name": {"S": "x"}, "expires": {"N": "7"}}.
type item map[string]map[string]string

func newTable() *table { return &table{items: map[string]item{}} }

// A tableRequest is the part of the four requests that matters.
type tableRequest struct {
	Item, Key                 item
	ConditionExpression       string
	ExpressionAttributeValues item
	ExclusiveStartKey         item
	Limit                     int
}

// keyOf joins folder and name with what sorts before everything that they hold.
func keyOf(i item) string { return i["folder"]["S"] + "\x00" + i["name"]["S"] }

// serve carries out one request to the table.
func (t *table) serve(r *sent) answer {
	var in tableRequest
	if err := json.Unmarshal(r.body, &in); err != nil {
		panic(err)
	}
	switch r.operation() {
	case "GetItem":
		return told(map[string]any{"Item": t.items[keyOf(in.Key)]})
	case "PutItem":
		if !t.holds(in, in.Item) {
			return t.conditionFailed(keyOf(in.Item))
		}
		t.items[keyOf(in.Item)] = in.Item
		return told(map[string]any{})
	case "DeleteItem":
		if !t.holds(in, in.Key) {
			return t.conditionFailed(keyOf(in.Key))
		}
		delete(t.items, keyOf(in.Key))
		return told(map[string]any{})
	case "Query":
		return t.query(in)
	}
	panic("the simulated DynamoDB does not know " + r.operation())
}

// operation is the name of a request to DynamoDB.
func (r *sent) operation() string {
	_, name, _ := strings.Cut(r.header.Get("X-Amz-Target"), ".")
	return name
}

// holds judges the condition of a write to an item.
func (t *table) holds(in tableRequest, key item) bool {
	there, exists := t.items[keyOf(key)]
	switch in.ConditionExpression {
	case "":
		return true
	case "attribute_not_exists(folder) OR expires <= :now":
		expires, err := strconv.ParseInt(there["expires"]["N"], 10, 64)
		now, _ := strconv.ParseInt(in.ExpressionAttributeValues[":now"]["N"], 10, 64)
		return !exists || err == nil && expires <= now
	case "#write = :version":
		return exists && there["write"]["S"] == in.ExpressionAttributeValues[":version"]["S"]
	}
	panic("the simulated DynamoDB does not know the condition " + in.ConditionExpression)
}

func (t *table) conditionFailed(key string) answer {
	a := told(map[string]any{
		"__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException", "message": "simulated", "Item": t.items[key],
	})
	a.status = http.StatusBadRequest
	return a
}

func (t *table) query(in tableRequest) answer {
	folder, after := in.ExpressionAttributeValues[":folder"]["S"], in.ExclusiveStartKey["name"]["S"]
	var found []item
	for _, i := range t.items {
		if i["folder"]["S"] == folder && i["name"]["S"] > after {
			found = append(found, i)
		}
	}
	slices.SortFunc(found, func(a, b item) int { return strings.Compare(keyOf(a), keyOf(b)) })
	out := map[string]any{}
	if in.Limit > 0 && len(found) >= in.Limit {
		found = found[:in.Limit]
		last := found[len(found)-1]
		out["LastEvaluatedKey"] = item{"folder": last["folder"], "name": last["name"]}
	}
	out["Items"], out["Count"] = found, len(found)
	return told(out)
}

func told(body any) answer {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	a := answered(http.StatusOK, string(text))
	a.header.Set("Content-Type", "application/x-amz-json-1.0")
	return a
}

// refused is an error as DynamoDB words it.
func refused(status int, kind string) answer {
	a := told(map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + kind, "message": "simulated"})
	a.status = status
	return a
}
