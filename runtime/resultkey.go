package runtime

import (
	"fmt"
	"strings"
	"time"

	"tidemill/views/plan/token"
)

// normalise writes a statement in one way: comments and runs of white space become one space, a semicolon at the end
// goes, and the values of parameters follow. The rest stays as it is, case included: names of columns come from
// it. A line break between two texts stays one, because it joins them.
func normalise(sql string, toks []token.Token, params []any) string {
	toks = withoutSemicolons(sql, toks)
	var b strings.Builder
	b.Grow(len(sql) + 16*len(params))
	end := 0
	for i, t := range toks {
		if i > 0 && t.Start > end {
			gap := byte(' ')
			if t.Kind == token.String && toks[i-1].Kind == token.String && strings.ContainsAny(sql[end:t.Start], "\n\r") {
				gap = '\n'
			}
			b.WriteByte(gap)
		}
		b.WriteString(sql[t.Start:t.End])
		end = t.End
	}
	for _, p := range params {
		writeParam(&b, p)
	}
	return b.String()
}

// withoutSemicolons leaves out those around a statement.
func withoutSemicolons(sql string, toks []token.Token) []token.Token {
	for len(toks) > 0 && toks[len(toks)-1].Is(sql, ";") {
		toks = toks[:len(toks)-1]
	}
	for len(toks) > 0 && toks[0].Is(sql, ";") {
		toks = toks[1:]
	}
	return toks
}

// writeParam adds a value so that no two values, or lists of them, look the same: type, length, text.
func writeParam(b *strings.Builder, p any) {
	if n, ok := p.(Named); ok {
		fmt.Fprintf(b, "\x00$%d:%s", len(n.Name), strings.ToLower(n.Name))
		p = n.Value
	}
	var text string
	switch p := p.(type) {
	case []byte:
		text = string(p)
	case time.Time:
		text = p.UTC().Format(time.RFC3339Nano)
	default:
		text = fmt.Sprint(p)
	}
	fmt.Fprintf(b, "\x00%T%d:%s", p, len(text), text)
}

// volatileCalls are the functions whose value does not follow from the rows that a query reads. A test asks DuckDB
// for those that are not here. volatileNames are the ones that need no parentheses, and what samples; a column of such
// a name only keeps a query out of the cache.
var (
	volatileCalls = wordSet(`
		age current_catalog current_connection_id current_database current_date current_localtime current_localtimestamp
		current_query current_query_id current_role current_schema current_schemas current_setting current_time current_timestamp
		current_transaction_id current_user currval error gen_random_uuid get_current_time get_current_timestamp getenv getvariable
		in_search_path localtime localtimestamp nextval now random session_user setseed sleep_ms stats transaction_timestamp today
		txid_current user uuid uuidv4 uuidv7 version write_log`)
	volatileNames = wordSet(`current_catalog current_date current_role current_schema current_time current_timestamp current_user
		explain localtime localtimestamp sample session_user tablesample user`)
)

func wordSet(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

// isVolatile says whether a statement's answer is more than a function of the rows that it reads, by its words.
func isVolatile(sql string, toks []token.Token) bool {
	for i, t := range toks {
		name, ok := t.Name(sql)
		if !ok {
			continue
		}
		name = strings.ToLower(name)
		if volatileNames[name] || volatileCalls[name] && i+1 < len(toks) && toks[i+1].Is(sql, "(") {
			return true
		}
	}
	return false
}
