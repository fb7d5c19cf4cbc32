package column

import "errors"

// ErrMalformed is wrapped by every error of DecodeColumns: the bytes are not a payload of this
// format version, or a length or value in them contradicts another. The caller knows the file and
// offset and adds them.
var ErrMalformed = errors.New("malformed columns")

// ErrNotLossless is wrapped by the errors of FromArrow and ToArrow that name a value which the other
// side's type cannot hold exactly.
var ErrNotLossless = errors.New("value does not fit")
