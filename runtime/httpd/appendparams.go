package httpd

import (
	"strings"
	"time"
	"unicode/utf8"

	"tidemill/runtime/decode"
)

// maxProducer bounds a producer's name: it is kept, and stands in every log record.
const maxProducer = 255

// appendNames are the query parameters of an append.
var appendNames = []string{"producer", "seq", "prev", "format", "on_error", "epoch", "blob", "header", "columns", "delimiter", "quote", "null", "stream", "linger_ms"}

var (
	epochNames = map[string]decode.Epoch{"s": decode.EpochSeconds, "ms": decode.EpochMillis, "us": decode.EpochMicros, "ns": decode.EpochNanos}
	blobNames  = map[string]decode.BlobForm{"escape": decode.BlobEscape, "base64": decode.BlobBase64, "hex": decode.BlobHex}
	errorNames = map[string]decode.OnError{"all": decode.OnErrorAll, "row": decode.OnErrorRow}
)

// choose finds the value of a parameter that has few.
func choose[V any](name, v string, from map[string]V, hint string) (V, error) {
	out, ok := from[v]
	if !ok {
		return out, badRequest("%s is %q", hint, name, cut(v))
	}
	return out, nil
}

// readParams reads the query string.
func (a *appendTo) readParams(query string) error {
	var prev uint64
	a.linger = defaultLinger
	hasPrev, lingers := false, false
	for p := (params{rest: query}); ; {
		i, v, ok, err := p.next(appendNames...)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		switch name := appendNames[i]; name {
		case "producer":
			if v == "" || len(v) > maxProducer || !utf8.ValidString(v) || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				return badRequest("producer is %q", "give a name of 1 to 255 bytes of UTF-8 without control characters", cut(v))
			}
			a.producer = v
		case "seq":
			a.seq, err = number("seq", v, 1)
		case "prev":
			prev, err = number("prev", v, 0)
			hasPrev = true
		case "format":
			a.form, err = choose(name, v, formNames, "give ndjson, json, csv or arrow")
		case "on_error":
			a.reading.OnError, err = choose(name, v, errorNames, "give all to refuse a body for one bad row, row to keep the good ones")
		case "epoch":
			a.reading.Epoch, err = choose(name, v, epochNames, "give the unit of numbers that stand for times: s, ms, us or ns")
		case "blob":
			a.reading.Blob, err = choose(name, v, blobNames, "give escape, base64 or hex")
		case "stream":
			a.stream, err = choose(name, v, map[string]bool{"1": true, "0": false, "true": true, "false": false}, "give 1 for an append that goes on")
		case "linger_ms":
			var ms uint64
			if ms, err = number(name, v, 0); err == nil && ms > uint64(maxLinger/time.Millisecond) {
				err = badRequest("linger_ms is %s", "give milliseconds, 1000 at most", v)
			}
			a.linger, lingers = time.Duration(ms)*time.Millisecond, true
		default:
			err = a.csvParam(name, v)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case lingers && !a.stream:
		return badRequest("linger_ms means nothing without stream=1", "leave it out")
	case a.producer == "" && (a.seq != 0 || hasPrev):
		return badRequest("seq and prev mean nothing without a producer", "name the producer that counts")
	case a.producer != "" && a.seq == 0:
		return badRequest("producer %s sends no seq", "count its appends from 1: seq=1, seq=2, and so on", cut(a.producer))
	case hasPrev && prev >= a.seq:
		return badRequest("prev is %d and seq is %d", "prev is the producer's last seq, so it is below the new one", prev, a.seq)
	case hasPrev:
		a.prev = &prev
	}
	return nil
}
