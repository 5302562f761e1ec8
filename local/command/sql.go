package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol/queryapi"
)

// newSQLCommand runs a statement in SQL, or those that somebody types.
func newSQLCommand(s *session) *cobra.Command {
	var parameters []string
	cmd := s.command("sql [STATEMENT]", "Run an SQL statement", atMost(1), func(r *run) error {
		values, err := statementParameters(r.cmd, parameters)
		if err != nil {
			return err
		}
		if len(r.args) == 0 {
			return s.typedStatements(r, values)
		}
		text := r.args[0]
		if text == "-" {
			all, err := io.ReadAll(r.cmd.InOrStdin())
			if err != nil {
				return err
			}
			text = string(all)
		}
		return s.statement(r, text, values)
	})
	cmd.Long = `Run an SQL statement; - reads it from standard input. Without a statement, a prompt on the terminal runs those
that are typed. A query is

  [EXPLAIN [ANALYZE]] SELECT columns FROM table [VERSION AS OF n] [BRANCH 'name']
  [WHERE condition] [ORDER BY column [DESC], ...] [LIMIT n] [OFFSET n]

ORDER BY distance(column, vector) LIMIT n finds the nearest rows, and WHERE match(column, 'words') those
with words. Other statements change rows, tables, columns, indices, views, tags and branches, or show them: INSERT, UPDATE,
DELETE, CREATE, ALTER, DROP, REFRESH, OPTIMIZE, SHOW, DESCRIBE. $name in the statement is a value of --param. Rows come in the forms of query.`
	cmd.Example = `  tiltyard sql 'SELECT id, price FROM sales.orders WHERE price > 10 ORDER BY price DESC LIMIT 5'
  tiltyard sql 'SELECT id FROM points ORDER BY distance(vector, $q) LIMIT 3' --param q='[0.1, 0.2]'
  tiltyard sql 'SELECT id FROM points ORDER BY distance(vector, $q) LIMIT 3' --param q=@query.npy
  tiltyard sql "SELECT title FROM docs WHERE match(body, 'fish') ORDER BY score() DESC LIMIT 3"
  tiltyard sql 'INSERT INTO sales.big SELECT * FROM sales.orders WHERE price > 1000'
  tiltyard sql 'SELECT u.name, count(*) AS n FROM orders o JOIN users u ON o.user_id = u.id GROUP BY u.name ORDER BY n DESC'
  tiltyard sql 'EXPLAIN ANALYZE SELECT title FROM docs WHERE id > 3'`
	cmd.Flags().StringArrayVar(&parameters, "param", nil, "NAME=VALUE, the value of $NAME: JSON, or a text if it is not JSON; @FILE has a vector, as JSON or .npy")
	return cmd
}

// statement runs a statement and shows its rows.
func (s *session) statement(r *run, text string, values map[string]json.RawMessage) error {
	req := &queryapi.StatementRequest{Query: text, Parameters: values}
	rows, err := patiently(r, func() (*client.Rows, error) { return r.client.ExecuteStatement(r.ctx, req) })
	if err != nil {
		return err
	}
	if (s.form == "" || s.form == formTable) && isCommand(text) {
		return s.told(r.cmd, rows)
	}
	return s.showRows(r.cmd, rows, true, "LIMIT")
}

// commandWords are the first words of statements whose answers are told in words, or are a text.
var commandWords = map[string]bool{
	"EXPLAIN": true, "CREATE": true, "DROP": true, "ALTER": true, "REFRESH": true, "OPTIMIZE": true, "INSERT": true, "UPDATE": true, "DELETE": true, "MERGE": true,
}

// isCommand reports whether the answer of a statement is no table.
func isCommand(text string) bool {
	words := strings.Fields(text)
	return len(words) > 0 && commandWords[strings.ToUpper(words[0])]
}

// told says what a statement has changed, or writes the plan of a query.
func (s *session) told(cmd *cobra.Command, rows *client.Rows) error {
	defer rows.Close()
	for batch, err := range rows.Batches() {
		if err != nil {
			return err
		}
		if batch.NumCols() != 1 || batch.NumRows() != 1 {
			continue
		}
		value := batch.Column(0).ValueStr(0)
		switch name := batch.ColumnName(0); {
		case name == "count" && value == "1":
			value = "1 row"
		case name == "count":
			value += " rows"
		case name == "job_id":
			value = "job " + value + " does it; tiltyard job wait " + value
		}
		fmt.Fprintln(cmd.OutOrStdout(), printable(strings.TrimRight(value, "\n"), batch.ColumnName(0) == "plan"))
	}
	return nil
}

// typedStatements runs the statements that somebody types on a terminal, each within --timeout.
func (s *session) typedStatements(r *run, values map[string]json.RawMessage) error {
	in, ok := r.cmd.InOrStdin().(*os.File)
	if !ok || !terminal(in) {
		return usagef("give a STATEMENT, or - to read it from standard input")
	}
	type console struct {
		io.Reader
		io.Writer
	}
	r.ctx = r.cmd.Context() // people take their time
	p := newPrompt(console{in, r.cmd.OutOrStdout()}, rawTerminal(in), func() []string { return statementNames(r) })
	say(r.cmd, "A statement ends with a semicolon. Tab completes names; exit ends.")
	for {
		text, err := p.read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if text == "" {
			continue
		}
		err = s.bounded(r.cmd, func(ctx context.Context) error {
			one := *r
			one.ctx = ctx
			return s.statement(&one, text, values)
		})
		if err != nil {
			say(r.cmd, "%v", err)
		}
	}
}

// statementParameters returns the values of --param.
func statementParameters(cmd *cobra.Command, given []string) (map[string]json.RawMessage, error) {
	values := make(map[string]json.RawMessage, len(given))
	for _, text := range given {
		name, value, ok := strings.Cut(text, "=")
		if name = strings.TrimPrefix(name, "$"); !ok || name == "" {
			return nil, usagef("--param %s: write NAME=VALUE", text)
		}
		if _, twice := values[name]; twice {
			return nil, usagef("--param %s is given twice", name)
		}
		raw := []byte(value)
		switch {
		case strings.HasPrefix(value, "@"):
			vector, err := parseVector(cmd, "--param "+name, value)
			if err != nil {
				return nil, err
			}
			if len(vector.Vectors) != 1 {
				return nil, usagef("--param %s has %d vectors, not one", name, len(vector.Vectors))
			}
			if raw, err = json.Marshal(vector.Vectors[0]); err != nil {
				return nil, err
			}
		case !json.Valid(raw):
			raw, _ = json.Marshal(value) // cannot fail for a string
		}
		values[name] = raw
	}
	return values, nil
}
