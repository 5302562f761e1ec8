package command_test

import (
	"strings"
	"testing"

	"tiltyard/local/command"
)

func TestInsertCreatesATableOfCSVAndJSON(t *testing.T) {
	setUp(t)
	for name, c := range map[string]struct{ format, in, columns, first string }{
		"csv": {
			"csv", "id,price,when,day,ok,zip,v,tags,note,none\n1,1.5,2024-02-29 01:02:03,2024-02-29,true,01234,\"[1, 2]\",\"[\"\"a\"\"]\",x,\n+2, 3,2024-02-29T01:02:03+02:00,2024-03-01,False,5,\"[3,4]\",[],,\n",
			"columns: id int64, price float64, when timestamp, day date32, ok bool, zip utf8, v vector[2], tags list<utf8>, note utf8, none utf8\n",
			`{"day":"2024-02-29","id":1,"none":null,"note":"x","ok":true,"price":1.5,"tags":["a"],"v":[1,2],"when":"2024-02-29T01:02:03Z","zip":"01234"}`,
		},
		"semicolons": {"csv", "\ufeff;a;b\n1;1,5;NaN\n", "columns: column_1 int64, a utf8, b float64\n", `{"a":"1,5","b":"NaN","column_1":1}`},
		"json": {
			"jsonl", `{"id":1,"at":"2024-02-29T01:02:03.123456","o":{"x":1,"y":{"z":"t"}},"n":[1,2.5],"mixed":1,"big":9007199254740993}
{"late":true,"id":2,"n":[],"mixed":"two","o":{"x":null},"at":"2024-02-29T01:02:03Z"}`,
			"columns: id int64, at timestamp[us], o struct<x int64, y struct<z utf8>>, n list<float64>, mixed utf8, big int64, late bool\n",
			`{"at":"2024-02-29T01:02:03.123456Z","big":9007199254740993,"id":1,"late":null,"mixed":"1","n":[1,2.5],"o":{"x":1,"y":{"z":"t"}}}`,
		},
		"array":          {"jsonl", `[{"a":"7"}, {"a":8, "b":[[1]]}]`, "columns: a int64, b utf8\n", `{"a":7,"b":null}`},
		"too large":      {"jsonl", `{"a":9223372036854775808}`, "columns: a float64\n", `{"a":9223372036854776000}`},
		"one-dimension":  {"jsonl", `{"a":[1]}`, "columns: a list<float64>\n", `{"a":[1]}`},
		"unequal":        {"jsonl", `{"a":[1,2]} {"a":[1]}`, "columns: a list<float64>\n", `{"a":[1,2]}`},
		"vector or null": {"jsonl", `{"a":[1,2]} {"a":null}`, "columns: a vector[2]\n", `{"a":[1,2]}`},
	} {
		t.Run(name, func(t *testing.T) {
			table := "t_" + strings.NewReplacer(" ", "_", "-", "_").Replace(name)
			_, stderr, code := tiltyard(t, c.in, "insert", table, "--create", "--format", c.format)
			if code != 0 || stderr != c.columns {
				t.Fatalf("exit code %d, %swant %s", code, stderr, c.columns)
			}
			stdout, _, _ := tiltyard(t, "", "query", table, "-o", "json", "--limit", "1")
			if stdout != c.first+"\n" {
				t.Errorf("the first row is\n%swant\n%s", stdout, c.first)
			}
		})
	}
}

func TestInsertNamesTheValueThatDoesNotFit(t *testing.T) {
	setUp(t)
	numbers := strings.Repeat("1\n", 2000)
	for name, c := range map[string]struct {
		format, in string
		flags      []string
		want       string
		code       int
	}{
		"csv":            {"csv", "a\n" + numbers + "x\n", nil, `line 2002: column a: "x" is not int64`, command.ExitFailed},
		"way out":        {"csv", "a\n" + numbers + "x\n", nil, "--type 'a=TYPE'", command.ExitFailed},
		"json":           {"jsonl", strings.Repeat(`{"a":[1,2]}`, 2000) + `{"a":[1]}`, nil, "row 2001: column a: [1] is not vector[2]", command.ExitFailed},
		"late field":     {"jsonl", strings.Repeat(`{"a":1}`, 2000) + `{"b":1}`, nil, "--type 'b=TYPE' adds it", command.ExitFailed},
		"late member":    {"jsonl", strings.Repeat(`{"a":{"x":1}}`, 2000) + `{"a":{"y":1}}`, nil, `column a: {"y":1} is not struct<x int64>`, command.ExitFailed},
		"no time":        {"csv", "a\n2024-02-31T01:02:03\n", nil, "is not timestamp", command.ExitFailed},
		"twice":          {"csv", "a,a\n", nil, `the header has "a" twice`, command.ExitFailed},
		"empty":          {"jsonl", "", nil, "it has no columns", command.ExitFailed},
		"unknown type":   {"csv", "a\n1\n", []string{"--type", "a=number"}, `--type: "number" is no type; the types are bool`, command.ExitUsage},
		"unknown column": {"csv", "a\n1\n", []string{"--type", "b=utf8"}, `no column of the file`, command.ExitUsage},
		"no name":        {"csv", "a\n1\n", []string{"--type", "utf8"}, "COLUMN=", command.ExitUsage},
		"bad vector":     {"csv", "a\n1\n", []string{"--type", "a=vector[x]"}, "vector[768]", command.ExitUsage},
		"arrow":          {"arrow", "", []string{"--type", "a=utf8"}, "--type is for", command.ExitUsage},
	} {
		t.Run(name, func(t *testing.T) {
			_, stderr, code := tiltyard(t, c.in, append([]string{"insert", "t", "--create", "--format", c.format}, c.flags...)...)
			if code != c.code || !strings.Contains(stderr, c.want) {
				t.Errorf("exit code %d, %s; want %d, %s", code, stderr, c.code, c.want)
			}
			if _, _, code := tiltyard(t, "", "table", "show", "t"); code != command.ExitNotFound {
				t.Error("there is a table")
			}
		})
	}
}

func TestTypeFlagSetsTheTypeOfAColumn(t *testing.T) {
	setUp(t)
	_, stderr, code := tiltyard(t, `{"a":1} {"a":2,"b":[1,2,3]}`, "insert", "t", "--create", "--format", "jsonl",
		"--type", "a=utf8", "--type", "b=list<float32>", "--type", "c=timestamp[ns]")
	if want := "columns: a utf8, b list<float32>, c timestamp[ns]\n"; code != 0 || stderr != want {
		t.Fatalf("exit code %d, %s; want %s", code, stderr, want)
	}
	stdout, _, _ := tiltyard(t, "", "query", "t", "-o", "json")
	if want := `{"a":"1","b":null,"c":null}` + "\n" + `{"a":"2","b":[1,2,3],"c":null}` + "\n"; stdout != want {
		t.Errorf("the rows are\n%s, want\n%s", stdout, want)
	}
}
