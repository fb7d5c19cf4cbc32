package viewtest

import "tidemill/state/column"

// formsOf returns the operators and functions that give a type.
func formsOf(t column.Type) []form {
	switch {
	case t.Kind == column.Bool:
		return boolForms
	case t.Kind == column.HugeInt:
		return intForms
	case t.Kind == column.Int64:
		return append(append([]form{}, intForms...), bigintForms...)
	case t.Integer():
		return intForms
	case t.Floating():
		if t.Kind == column.Double {
			return append(append([]form{}, floatForms...), doubleForms...)
		}
		return floatForms
	case t.Kind == column.Decimal:
		return decimalForms(t)
	case t.Kind == column.Varchar:
		return textForms
	case t.Kind == column.Date:
		return dateForms
	case t.Kind == column.Timestamp:
		return timestampForms
	case t.Kind == column.Blob:
		return []form{{sql: "encode($1)", args: "VARCHAR"}, {sql: "$1 || $2", args: "BLOB|BLOB"}}
	case t.Kind == column.Interval:
		return []form{{sql: "$1 - $2", args: "TIMESTAMP|TIMESTAMP", fallible: true}, {sql: "to_days($1)", args: "INTEGER", fallible: true}}
	case t.Kind == column.TimestampS, t.Kind == column.TimestampMS:
		return []form{{sql: "CAST($1 AS " + t.String() + ")", args: "TIMESTAMP", fallible: true}}
	}
	return nil
}

var boolForms = []form{
	{sql: "$1 = $2", args: "ANY|1"}, {sql: "$1 <> $2", args: "ANY|1"}, {sql: "$1 < $2", args: "ANY|1"}, {sql: "$1 >= $2", args: "ANY|1"},
	{sql: "$1 > $2", args: "NUM|1"}, {sql: "$1 <= $2", args: "NUM|1"}, {sql: "$1 > $2", args: "BIGINT|1"}, {sql: "$1 <> $2", args: "VARCHAR|1"},
	{sql: "$1 BETWEEN $2 AND $3", args: "ANY|1|1"},
	{sql: "$1 IS NULL", args: "ANY"}, {sql: "$1 IS NOT NULL", args: "ANY"},
	{sql: "$1 IS DISTINCT FROM $2", args: "ANY|1"}, {sql: "$1 IS NOT DISTINCT FROM $2", args: "ANY|1"},
	{sql: "$1 IN ($2, $3)", args: "ANY|1|1"}, {sql: "$1 NOT IN ($2, $3)", args: "ANY|1|1"},
	{sql: "$1 IN (1, 2, 3)", args: "INTEGER"}, {sql: "$1 IN ('a', 'b', '42')", args: "VARCHAR"},
	{sql: "NOT $1", args: "BOOLEAN"},
	{sql: "$1 AND $2", args: "BOOLEAN|BOOLEAN"}, {sql: "$1 OR $2", args: "BOOLEAN|BOOLEAN"},
	{sql: "$1 LIKE 'a%'", args: "VARCHAR"}, {sql: "$1 LIKE '%b'", args: "VARCHAR"}, {sql: "$1 LIKE '%a_%'", args: "VARCHAR"},
	{sql: "$1 ILIKE '%É%'", args: "VARCHAR"}, {sql: "contains($1, $2)", args: "VARCHAR|VARCHAR"}, {sql: "starts_with($1, $2)", args: "VARCHAR|VARCHAR"},
	{sql: "regexp_matches($1, '^[0-9]+$')", args: "VARCHAR"},
	{sql: "$1 ~ '.*[a-c].*'", args: "VARCHAR", fallible: true}, {sql: "$1 NOT LIKE $2", args: "VARCHAR|VARCHAR", fallible: true}, {sql: "suffix($1, $2)", args: "VARCHAR|VARCHAR"},
	{sql: "isinf($1)", args: "DOUBLE"}, {sql: "$1 NOT BETWEEN $2 AND $3", args: "NUM|1|1"}, {sql: "CAST($1 AS BOOLEAN)", args: "VARCHAR", fallible: true},
	{sql: "isnan($1)", args: "DOUBLE"}, {sql: "isfinite($1)", args: "DOUBLE"},
}

var intForms = []form{
	{sql: "$1 + $2", args: "#|#", fallible: true}, {sql: "$1 - $2", args: "#|#", fallible: true}, {sql: "$1 * $2", args: "#|#", fallible: true},
	{sql: "$1 // $2", args: "#|#", fallible: true}, {sql: "$1 % $2", args: "#|#", fallible: true}, {sql: "abs($1)", args: "#", fallible: true},
	{sql: "-$1", args: "#", fallible: true}, {sql: "$1 & $2", args: "#|#"}, {sql: "$1 | $2", args: "#|#"}, {sql: "xor($1, $2)", args: "#|#"},
	{sql: "CAST($1 AS #)", args: "VARCHAR", fallible: true}, {sql: "CAST($1 AS #)", args: "NUM", fallible: true},
	{sql: "TRY_CAST($1 AS #)", args: "VARCHAR"}, {sql: "TRY_CAST($1 AS #)", args: "NUM"},
}

var bigintForms = []form{
	{sql: "length($1)", args: "VARCHAR"}, {sql: "strlen($1)", args: "VARCHAR"}, {sql: "instr($1, $2)", args: "VARCHAR|VARCHAR"},
	{sql: "year($1)", args: "DATE"}, {sql: "month($1)", args: "TIMESTAMP"}, {sql: "day($1)", args: "DATE"}, {sql: "hour($1)", args: "TIMESTAMP"},
	{sql: "date_part('week', $1)", args: "TIMESTAMP"}, {sql: "date_part('dow', $1)", args: "DATE"}, {sql: "extract(minute FROM $1)", args: "TIMESTAMP"},
	{sql: "date_diff('day', $1, $2)", args: "DATE|DATE", fallible: true}, {sql: "date_diff('hour', $1, $2)", args: "TIMESTAMP|TIMESTAMP", fallible: true},
	{sql: "$1 - $2", args: "DATE|DATE", fallible: true}, {sql: "epoch_ms($1)", args: "TIMESTAMP", fallible: true}, {sql: "levenshtein($1, $2)", args: "VARCHAR|VARCHAR", fallible: true},
	{sql: "ord($1)", args: "VARCHAR"}, {sql: "bit_count($1)", args: "BIGINT"}, {sql: "datesub('month', $1, $2)", args: "TIMESTAMP|TIMESTAMP", fallible: true},
	{sql: "epoch_us($1)", args: "TIMESTAMP", fallible: true}, {sql: "date_part('year', $1)", args: "TIMESTAMP", fallible: true}, {sql: "$1 << $2", args: "BIGINT|BIGINT", fallible: true}, {sql: "$1 >> $2", args: "BIGINT|BIGINT", fallible: true},
	{sql: "jaro_similarity($1, $2)", args: "VARCHAR|VARCHAR", fallible: true}, {sql: "octet_length($1)", args: "BLOB", fallible: true}, {sql: "epoch($1)", args: "DATE", fallible: true},
	{sql: "quarter($1)", args: "DATE"}, {sql: "dayofyear($1)", args: "DATE"}, {sql: "second($1)", args: "TIMESTAMP"},
}

var floatForms = []form{
	{sql: "$1 + $2", args: "#|#", exact: false, fallible: true}, {sql: "$1 - $2", args: "#|#", fallible: true}, {sql: "$1 * $2", args: "#|#", fallible: true},
	{sql: "$1 / $2", args: "#|#", fallible: true}, {sql: "-$1", args: "#", exact: true}, {sql: "abs($1)", args: "#", exact: true},
	{sql: "CAST($1 AS #)", args: "VARCHAR", fallible: true}, {sql: "CAST($1 AS #)", args: "BIGINT", fallible: true}, {sql: "CAST($1 AS #)", args: "DECIMAL(9,2)", fallible: true},
	{sql: "floor($1)", args: "#"}, {sql: "ceil($1)", args: "#"}, {sql: "round($1)", args: "#", fallible: true}, {sql: "TRY_CAST($1 AS #)", args: "VARCHAR"},
}

var doubleForms = []form{
	{sql: "sqrt($1)", args: "DOUBLE", fallible: true}, {sql: "ln($1)", args: "DOUBLE", fallible: true}, {sql: "exp($1)", args: "DOUBLE", fallible: true},
	{sql: "round($1, 2)", args: "DOUBLE", fallible: true}, {sql: "epoch($1)", args: "TIMESTAMP", fallible: true}, {sql: "$1 / $2", args: "BIGINT|BIGINT", fallible: true},
	{sql: "CAST($1 AS DOUBLE)", args: "NUM", fallible: true}, {sql: "pow($1, 2)", args: "DOUBLE", fallible: true},
}

func decimalForms(t column.Type) []form {
	T := t.String()
	return []form{
		{sql: "CAST($1 + $2 AS " + T + ")", args: "#|#", fallible: true}, {sql: "CAST($1 - $2 AS " + T + ")", args: "#|#", fallible: true},
		{sql: "CAST($1 * $2 AS " + T + ")", args: "#|DECIMAL(4,1)", fallible: true}, {sql: "-$1", args: "#", fallible: true}, {sql: "abs($1)", args: "#", fallible: true},
		{sql: "CAST($1 AS " + T + ")", args: "NUM", fallible: true}, {sql: "CAST($1 AS " + T + ")", args: "VARCHAR", fallible: true},
		{sql: "TRY_CAST($1 AS " + T + ")", args: "VARCHAR"},
	}
}

var textForms = []form{
	{sql: "upper($1)", args: "VARCHAR"}, {sql: "lower($1)", args: "VARCHAR"}, {sql: "$1 || $2", args: "VARCHAR|VARCHAR"}, {sql: "concat($1, $2)", args: "VARCHAR|VARCHAR"},
	{sql: "substring($1, 2, 3)", args: "VARCHAR", fallible: true}, {sql: "left($1, 2)", args: "VARCHAR", fallible: true}, {sql: "right($1, 2)", args: "VARCHAR", fallible: true},
	{sql: "trim($1)", args: "VARCHAR"}, {sql: "replace($1, 'a', 'xy')", args: "VARCHAR"}, {sql: "reverse($1)", args: "VARCHAR"}, {sql: "md5($1)", args: "VARCHAR"},
	{sql: "lpad($1, 5, '*')", args: "VARCHAR", fallible: true}, {sql: "regexp_replace($1, '[0-9]', '#')", args: "VARCHAR", fallible: true}, {sql: "split_part($1, ' ', 1)", args: "VARCHAR", fallible: true},
	{sql: "regexp_extract($1, '[a-z]+')", args: "VARCHAR", fallible: true}, {sql: "concat_ws('-', $1, $2)", args: "VARCHAR|VARCHAR"}, {sql: "hex($1)", args: "VARCHAR"},
	{sql: "translate($1, 'ab', 'ba')", args: "VARCHAR", fallible: true}, {sql: "printf('%d|%s', $1, $2)", args: "BIGINT|VARCHAR", fallible: true}, {sql: "format('{}-{}', $1, $2)", args: "VARCHAR|BIGINT", fallible: true},
	{sql: "chr($1)", args: "INTEGER", fallible: true}, {sql: "to_base64($1)", args: "BLOB", fallible: true}, {sql: "rpad($1, 4, '.')", args: "VARCHAR", fallible: true}, {sql: "substr($1, -2)", args: "VARCHAR", fallible: true},
	{sql: "bar($1, 0, 10, 5)", args: "DOUBLE", fallible: true}, {sql: "monthname($1)", args: "TIMESTAMP", fallible: true}, {sql: "$1[2:3]", args: "VARCHAR", fallible: true},
	{sql: "strip_accents($1)", args: "VARCHAR", fallible: true}, {sql: "ltrim($1, 'a')", args: "VARCHAR", fallible: true}, {sql: "CAST($1 AS VARCHAR)", args: "TIMESTAMP", fallible: true},
	{sql: "strftime($1, '%Y-%m-%d')", args: "DATE", fallible: true}, {sql: "strftime($1, '%d.%m.%Y %H:%M:%S')", args: "TIMESTAMP", fallible: true},
	{sql: "CAST($1 AS VARCHAR)", args: "ANY", fallible: true}, {sql: "CAST($1 AS VARCHAR)", args: "BIGINT"}, {sql: "dayname($1)", args: "DATE"}, {sql: "repeat($1, 2)", args: "VARCHAR", fallible: true},
}

var dateForms = []form{
	{sql: "CAST($1 AS DATE)", args: "TIMESTAMP", fallible: true}, {sql: "$1 + 7", args: "DATE", fallible: true}, {sql: "$1 - 30", args: "DATE", fallible: true},
	{sql: "CAST(date_trunc('month', $1) AS DATE)", args: "DATE", fallible: true}, {sql: "last_day($1)", args: "DATE", fallible: true}, {sql: "CAST($1 AS DATE)", args: "VARCHAR", fallible: true},
	{sql: "TRY_CAST($1 AS DATE)", args: "VARCHAR"},
}

var timestampForms = []form{
	{sql: "date_trunc('hour', $1)", args: "TIMESTAMP", fallible: true}, {sql: "date_trunc('month', $1)", args: "TIMESTAMP", fallible: true}, {sql: "date_trunc('week', $1)", args: "TIMESTAMP", fallible: true},
	{sql: "$1 + INTERVAL 1 DAY", args: "TIMESTAMP", fallible: true}, {sql: "$1 - INTERVAL 1 MONTH", args: "TIMESTAMP", fallible: true}, {sql: "$1 + $2", args: "TIMESTAMP|INTERVAL", fallible: true},
	{sql: "time_bucket(INTERVAL 1 HOUR, $1)", args: "TIMESTAMP", fallible: true}, {sql: "CAST($1 AS TIMESTAMP)", args: "DATE", fallible: true}, {sql: "CAST($1 AS TIMESTAMP)", args: "VARCHAR", fallible: true},
	{sql: "CAST($1 AS TIMESTAMP)", args: "TIMESTAMP_NS", fallible: true}, {sql: "$1 + $2", args: "DATE|TIME", fallible: true},
}
