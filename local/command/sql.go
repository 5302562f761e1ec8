package command

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol/queryapi"
)

// newSQLCommand runs a statement in SQL.
func newSQLCommand(s *session) *cobra.Command {
	var parameters []string
	cmd := s.command("sql STATEMENT", "Run an SQL statement", exactly(1), func(r *run) error {
		req := &queryapi.StatementRequest{Query: r.args[0]}
		if r.args[0] == "-" {
			text, err := io.ReadAll(r.cmd.InOrStdin())
			if err != nil {
				return err
			}
			req.Query = string(text)
		}
		var err error
		if req.Parameters, err = statementParameters(r.cmd, parameters); err != nil {
			return err
		}
		rows, err := patiently(r, func() (*client.Rows, error) { return r.client.ExecuteStatement(r.ctx, req) })
		if err != nil {
			return err
		}
		return s.showRows(r.cmd, rows, true, "LIMIT")
	})
	cmd.Long = `Run an SQL statement; - reads it from standard input. A statement reads one table:

  [EXPLAIN [ANALYZE]] SELECT columns FROM table [VERSION AS OF n] [BRANCH 'name']
  [WHERE condition] [ORDER BY column [DESC], ...] [LIMIT n] [OFFSET n]

ORDER BY distance(column, vector) LIMIT n finds the nearest rows, and WHERE match(column, 'words') those
with words. $name in the statement is a value of --param. Rows come in the forms of query.`
	cmd.Example = `  tiltyard sql 'SELECT id, price FROM sales.orders WHERE price > 10 ORDER BY price DESC LIMIT 5'
  tiltyard sql 'SELECT id FROM points ORDER BY distance(vector, $q) LIMIT 3' --param q='[0.1, 0.2]'
  tiltyard sql 'SELECT id FROM points ORDER BY distance(vector, $q) LIMIT 3' --param q=@query.npy
  tiltyard sql "SELECT title FROM docs WHERE match(body, 'fish') ORDER BY score() DESC LIMIT 3"
  tiltyard sql 'EXPLAIN ANALYZE SELECT count(*) FROM docs' -o json`
	cmd.Flags().StringArrayVar(&parameters, "param", nil, "NAME=VALUE, the value of $NAME: JSON, or a text if it is not JSON; @FILE has a vector, as JSON or .npy")
	return cmd
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
