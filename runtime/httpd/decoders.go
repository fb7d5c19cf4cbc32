package httpd

import (
	"sync"

	"tidemill/runtime"
	"tidemill/runtime/decode"
	"tidemill/views/catalog"
)

// tableDecoders are the decoders of one version of a table. Decoders remember the shape of the bodies
// that they have read, so they are kept; as many are made as bodies are decoded at once.
type tableDecoders struct {
	version uint32
	ndjson  sync.Pool // of *decode.NDJSON
	csv     sync.Pool // of *decode.CSV
	arrow   sync.Pool // of *decode.Arrow
}

func newTableDecoders(rel *catalog.Relation) *tableDecoders {
	opt := runtime.DecodeOptions(rel)
	d := &tableDecoders{version: rel.Version}
	d.ndjson.New = func() any { return decode.NewNDJSON(rel.Fields, opt) }
	d.csv.New = func() any { return decode.NewCSV(rel.Fields, opt) }
	d.arrow.New = func() any { return decode.NewArrow(rel.Fields, opt) }
	return d
}

// decodersOf returns the decoders of a table. When it makes some it forgets those of tables that are gone.
func (s *Server) decodersOf(rel *catalog.Relation) *tableDecoders {
	if d, ok := s.decoders.Load(rel.ID); ok && d.(*tableDecoders).version == rel.Version {
		return d.(*tableDecoders)
	}
	d := newTableDecoders(rel)
	s.decoders.Store(rel.ID, d)
	cat := s.engine.Catalog()
	s.decoders.Range(func(id, _ any) bool {
		if cat.ByID(id.(uint32)) == nil {
			s.decoders.Delete(id)
		}
		return true
	})
	return d
}

// A decoder goes back only when Decode returns: after a panic nobody knows what it remembers.
func (d *tableDecoders) decodeJSON(body []byte, how decode.Reading) (*decode.Rows, error) {
	dec := d.ndjson.Get().(*decode.NDJSON)
	dec.Reading = how
	rows, err := dec.Decode(body)
	d.ndjson.Put(dec)
	return rows, err
}

func (d *tableDecoders) decodeCSV(body []byte, how decode.Reading, form decode.CSVForm) (*decode.Rows, error) {
	dec := d.csv.Get().(*decode.CSV)
	dec.Reading, dec.Form = how, form
	rows, err := dec.Decode(body)
	d.csv.Put(dec)
	return rows, err
}

// decodeArrow takes body over.
func (d *tableDecoders) decodeArrow(body []byte, how decode.Reading) (*decode.Rows, error) {
	dec := d.arrow.Get().(*decode.Arrow)
	dec.Reading = how
	rows, err := dec.Decode(body)
	d.arrow.Put(dec)
	return rows, err
}
