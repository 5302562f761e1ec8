package main

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"

	"tiltyard/shared/boot"
)

// A greeting is what the server prints when it is ready.
type greeting struct {
	env  *boot.Env
	url  string
	made bool   // the token was generated for this run
	code string // signs in to the console; empty: none
}

// print prints the address of the server and how to connect, in lines that can be copied. It does
// not repeat a token that the user has set. It prints a token that was generated for this run,
// because the token appears nowhere else.
func (g greeting) print(w io.Writer, terminal bool) {
	console := g.url + "/console/"
	if g.code != "" {
		console += "#code=" + g.code
	}
	if terminal {
		g.printShort(w, console)
		return
	}
	token, source := "...", "as configured"
	if g.made {
		token, source = g.env.Token, "made for this run; set TILTYARD_TOKEN to choose one"
	}
	fmt.Fprintf(w, "tiltyard serves %[1]s at %[2]s (token: %[3]s)\n"+
		"console: %[6]s\n"+
		"python: import lancedb; db = lancedb.connect(\"db://local\", api_key=%[4]q, host_override=%[2]q)\n"+
		"python: import lance_namespace; ns = lance_namespace.connect(\"rest\", {\"uri\": %[2]q, \"header.x-api-key\": %[4]q})\n"+
		"node: const lancedb = await import(\"@lancedb/lancedb\"); const db = await lancedb.connect(\"db://local\", { apiKey: %[4]q, hostOverride: %[2]q })\n"+
		"shell: curl -H 'x-api-key: %[4]s' %[2]s/v1/table/\n"+
		"shell: TILTYARD_URL=%[2]s TILTYARD_TOKEN=%[4]s %[5]s table list\n",
		g.env.Objects.Home().URI, g.url, source, token, program(), console)
}

// printShort prints three lines for people, and a token that was generated.
func (g greeting) printShort(w io.Writer, console string) {
	note := ""
	if g.code != "" {
		note = "  (signs in, once, within 10 minutes)"
	}
	fmt.Fprintf(w, "Console  %s%s\nTables   %s\nStop     Ctrl-C\n", console, note, place(g.env.Objects.Home().URI))
	if g.made {
		fmt.Fprintf(w, "Token    %s  (for clients at %s, in this run; set TILTYARD_TOKEN to choose one)\n", g.env.Token, g.url)
	}
}

// place returns the path of a directory, or the URI of a bucket.
func place(uri string) string {
	if u, err := url.Parse(uri); err == nil && u.Scheme == "file" {
		return u.Path
	}
	return uri
}

// program returns the command by which the program was called, for copying to a shell. The program need not be in PATH.
func program() string {
	if called := os.Args[0]; !strings.ContainsAny(called, " '\"\\$`\t\n") {
		return called
	}
	return "tiltyard"
}

// reachable returns the address for clients on this machine.
func reachable(at net.Addr) string {
	host, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return at.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
