package httpd

import (
	"net/http"
	"strconv"
	"strings"
)

// format is how an answer's rows are written.
type format int

const (
	formatJSON format = iota // an array of objects
	formatNDJSON
	formatCSV
	formatArrow
	formatParquet
)

const typeParquet = "application/vnd.apache.parquet"

var formatNames = map[string]format{"json": formatJSON, "ndjson": formatNDJSON, "csv": formatCSV, "arrow": formatArrow, "parquet": formatParquet}

var formatTypes = [...][]string{formatJSON: typeJSON, formatNDJSON: {"application/x-ndjson"}, formatCSV: {"text/csv; charset=utf-8; header=present"},
	formatArrow: {typeArrow}, formatParquet: {typeParquet}}

// mediaFormats are the media types and ranges of an Accept header that mean one of ours.
var mediaFormats = map[string]format{
	"application/json": formatJSON, "*/*": formatJSON, "application/*": formatJSON,
	"application/x-ndjson": formatNDJSON, "application/ndjson": formatNDJSON, "application/jsonl": formatNDJSON,
	"text/csv": formatCSV, "text/*": formatCSV,
	typeArrow: formatArrow, typeParquet: formatParquet,
}

// acceptedFormat chooses by an Accept header: the highest quality, then the more particular, then the first.
func acceptedFormat(accept []string) (format, error) {
	best, quality, ranged, found := formatJSON, 0.0, false, false
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			media, rest, _ := strings.Cut(part, ";")
			media = strings.ToLower(strings.TrimSpace(media))
			f, ok := mediaFormats[media]
			if !ok {
				continue
			}
			q := qualityOf(rest)
			wild := strings.HasSuffix(media, "*")
			if q > quality || q == quality && q > 0 && ranged && !wild {
				best, quality, ranged, found = f, q, wild, true
			}
		}
	}
	if !found && len(accept) > 0 {
		return 0, &Problem{Status: http.StatusNotAcceptable, Slug: "not-acceptable", SQLState: "0A000",
			Detail: "no answer can be given as " + cut(strings.Join(accept, ", ")),
			Hint:   "accept application/json, application/x-ndjson, text/csv, " + typeArrow + " or " + typeParquet}
	}
	return best, nil
}

func qualityOf(params string) float64 {
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(name, "q") {
			q, err := strconv.ParseFloat(value, 64)
			if err != nil || q < 0 || q > 1 {
				return 0
			}
			return q
		}
	}
	return 1
}
