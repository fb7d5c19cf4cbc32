package decode

// Reading says how one body is to be read. The zero value refuses a body for its first bad row, takes no
// numbers for times, and reads blobs as SQL prints them.
type Reading struct {
	OnError OnError
	// Epoch is the unit of numbers in columns of timestamps; without one they are refused.
	Epoch Epoch
	Blob  BlobForm
}

// OnError says what a bad row does to the body that it stands in.
type OnError uint8

const (
	// OnErrorAll refuses the body.
	OnErrorAll OnError = iota
	// OnErrorRow leaves the row out; it is in Rows.Bad. In NDJSON a bad row ends with its line, in CSV with
	// its record.
	OnErrorRow
	// OnErrorStop ends the body before the row: the rows before it are returned together with the error.
	OnErrorStop
)

// Epoch is a unit in which times are counted from 1970-01-01 UTC.
type Epoch uint8

// The units of Epoch; the zero value is none.
const (
	EpochSeconds Epoch = 1 + iota
	EpochMillis
	EpochMicros
	EpochNanos
)

// digits is how many decimal digits of a second the unit has.
func (e Epoch) digits() int { return 3 * int(e-EpochSeconds) }

// BlobForm is how text stands for the bytes of a BLOB.
type BlobForm uint8

const (
	// BlobEscape is SQL's form: ASCII, other bytes as \xHH.
	BlobEscape BlobForm = iota
	// BlobBase64 is RFC 4648, with or without padding, in the standard or the URL alphabet.
	BlobBase64
	// BlobHex is two hexadecimal digits a byte.
	BlobHex
)

// BadRow is a row that OnErrorRow left out.
type BadRow struct {
	RowError
	Start int    // the byte in the body where the row starts; -1 when rows have no bytes of their own
	Raw   []byte // the row as it was sent, without its line end; of Arrow the values that could be read, as JSON
}

// badRowBytes is what a BadRow costs beside Raw, about.
const badRowBytes = 256
