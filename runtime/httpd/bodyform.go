package httpd

import (
	"bytes"
	"mime"
	"net/http"
	"strings"

	"tidemill/runtime/decode"
)

// bodyForm is how an append's rows are written.
type bodyForm int

const (
	formUnknown bodyForm = iota // decided by the first bytes
	formJSON                    // NDJSON or a JSON array: the decoder tells them apart
	formCSV
	formArrow // a stream or a file: the decoder tells them apart
)

const typeArrow = "application/vnd.apache.arrow.stream"

// formNames are the values of the parameter format.
var formNames = map[string]bodyForm{"ndjson": formJSON, "json": formJSON, "csv": formCSV, "arrow": formArrow}

// formTypes are the media types. What curl sends when it is told nothing counts as nothing.
var formTypes = map[string]bodyForm{
	"": formUnknown, "application/x-www-form-urlencoded": formUnknown, "application/octet-stream": formUnknown,
	"application/x-ndjson": formJSON, "application/jsonl": formJSON, "application/ndjson": formJSON, "application/json": formJSON,
	"text/csv": formCSV, "application/csv": formCSV,
	typeArrow: formArrow, "application/vnd.apache.arrow.file": formArrow,
}

// readForm settles the form of the body: by the parameter format, the Content-Type, or parameters that only CSV
// has. Else it is left to the first bytes.
func (a *appendTo) readForm(contentType string) error {
	if a.form == formUnknown {
		form, ok := formTypes[contentType]
		if !ok {
			media, p, err := mime.ParseMediaType(contentType)
			if form, ok = formTypes[media]; err != nil || !ok {
				return unsupportedBody(contentType)
			}
			if form == formCSV && strings.EqualFold(p["header"], "absent") { // RFC 4180
				a.csv.NoHeader = true
			}
			if set := p["charset"]; set != "" && !strings.EqualFold(set, "utf-8") && !strings.EqualFold(set, "us-ascii") {
				return &Problem{Status: http.StatusUnsupportedMediaType, Slug: "unknown-type", SQLState: "0A000",
					Detail: "bodies in the character set " + cut(set) + " are not read here", Hint: "send UTF-8"}
			}
		}
		a.form = form
	}
	if a.csvGiven && a.form == formUnknown {
		a.form = formCSV
	}
	if a.rel == nil && a.form == formUnknown {
		a.form = formJSON
	}
	return a.checkForm()
}

// checkForm refuses parameters that say nothing about the body's form, once that is known.
func (a *appendTo) checkForm() error {
	switch {
	case a.rel == nil && a.form != formJSON:
		return badRequest("rows for several tables are NDJSON or a JSON array, and the body is not", "send application/x-ndjson, or each table's rows to /append/{table}")
	case a.form == formUnknown:
	case a.csvGiven && a.form != formCSV:
		return badRequest("header, columns, delimiter, quote and null are about CSV, and the body is not", "send Content-Type: text/csv, or leave them out")
	case a.form == formArrow && (a.reading.Epoch != 0 || a.reading.Blob != 0):
		return badRequest("epoch and blob are about text, and the body is Arrow", "leave them out: Arrow's types say it")
	}
	return nil
}

func unsupportedBody(contentType string) error {
	return &Problem{Status: http.StatusUnsupportedMediaType, Slug: "unknown-type", SQLState: "0A000",
		Detail: "bodies of type " + cut(contentType) + " are not read here",
		Hint:   "send application/x-ndjson, application/json (an array of objects), text/csv or " + typeArrow}
}

// sniff decides the form by the first bytes: CSV shows by a header whose first field is a column.
func (a *appendTo) sniff(body []byte) (bodyForm, error) {
	if bytes.HasPrefix(body, []byte{0xff, 0xff, 0xff, 0xff}) || bytes.HasPrefix(body, []byte("ARROW1")) {
		return formArrow, nil
	}
	b := bytes.TrimLeft(body, " \t\r\n")
	if len(b) > 0 && (b[0] == '{' || b[0] == '[') {
		return formJSON, nil
	}
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	if end := bytes.IndexAny(b[:min(len(b), 1<<10)], ",\r\n"); a.rel != nil && end > 0 {
		first := string(bytes.Trim(b[:end], `"`))
		for _, f := range a.rel.Fields {
			if f.Name == first {
				return formCSV, nil
			}
		}
	}
	return 0, &Problem{Status: http.StatusBadRequest, Slug: "bad-body", SQLState: "22P02", Placed: true,
		Detail: "the body is none of JSON, CSV with a header of the table's columns, and Arrow by its first bytes",
		Hint:   "say what it is with Content-Type or format=ndjson, csv or arrow"}
}

// csvParam takes one of the parameters of CSV.
func (a *appendTo) csvParam(name, v string) error {
	a.csvGiven = true
	switch name {
	case "header":
		switch v {
		case "1", "true":
			a.csv.NoHeader = false
		case "0", "false":
			a.csv.NoHeader = true
		default:
			return badRequest("header is %q", "give 1 when the first line names the columns, 0 when it is a row", cut(v))
		}
	case "columns":
		a.csv.Columns = strings.Split(v, ",")
	case "null":
		a.csv.Null = v
	case "delimiter":
		if v == `\t` || v == "tab" {
			v = "\t"
		}
		if len(v) != 1 || v[0] >= 0x80 || v == "\n" || v == "\r" || v == `"` {
			return badRequest("delimiter is %q", "give one ASCII character, percent-encoded, such as delimiter=%3B for a semicolon or delimiter=tab", cut(v))
		}
		a.csv.Delimiter = v[0]
	case "quote":
		switch {
		case v == "":
			a.csv.Quote = decode.NoQuote
		case len(v) == 1 && v[0] < 0x80 && v != "\n" && v != "\r":
			a.csv.Quote = v[0]
		default:
			return badRequest("quote is %q", "give one ASCII character, or nothing when no field is quoted", cut(v))
		}
	}
	if a.csv.Delimiter != 0 && a.csv.Delimiter == a.csv.Quote || a.csv.Quote == ',' && a.csv.Delimiter == 0 {
		return badRequest("delimiter and quote are the same", "give two characters")
	}
	return nil
}
