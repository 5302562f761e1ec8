package command_test

import (
	"testing"

	"tiltyard/shared/service/all/alltest"
)

func TestShellsCompleteNames(t *testing.T) {
	server := setUp(t)
	must(t, "ns", "create", "sales")
	must(t, "insert", "points", points(t), "--create")
	must(t, "insert", "sales/orders", points(t), "--create")
	if _, stderr, code := tiltyard(t, alltest.Token, "login", "work", "--url", server.URL); code != 0 {
		t.Fatal(stderr)
	}
	const noFiles, noFilesNoSpace, files, noSpace = ":4\n", ":6\n", ":0\n", ":2\n"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"query", ""}, "sales/\npoints\n" + noFilesNoSpace},
		{[]string{"query", "p"}, "points\n" + noFiles},
		{[]string{"query", "sales/"}, "sales/orders\n" + noFiles},
		{[]string{"query", "none/"}, noFiles},
		{[]string{"ns", "show", "s"}, "sales\n" + noFiles},
		{[]string{"table", "drop-columns", "points", "n"}, "name\n" + noFilesNoSpace},
		{[]string{"query", "points", "--columns", "id,"}, "id,id\nid,name\nid,vector\n" + noFilesNoSpace},
		{[]string{"query", "points", "--order-by", "id,-v"}, "id,-vector\n" + noFilesNoSpace},
		{[]string{"insert", "points", ""}, files},
		{[]string{"cp", "poi"}, "points\n" + files},
		{[]string{"cp", "points", "sal"}, "sales/\n" + noSpace},
		{[]string{"find", "--namespace", ""}, "sales\n" + noFiles},
		{[]string{"table", "list", "--context", ""}, "work\n" + noFiles},
		{[]string{"version", "restore", "po"}, "points\n" + noFiles},
		{[]string{"query", "--url", "http://127.0.0.1:1", ""}, noFiles},
	} {
		if stdout, stderr, code := tiltyard(t, "", append([]string{"__complete"}, c.args...)...); code != 0 || stdout != c.want {
			t.Errorf("%v: exit code %d, %q, want %q; %s", c.args, code, stdout, c.want, stderr)
		}
	}
}
