package commitlog

import (
	"errors"
	"fmt"
)

var (
	// ErrFailed is returned by every call that writes once a write or a sync has failed. The first cause is
	// wrapped beside it. Open the directory again, best after looking at the disk.
	ErrFailed = errors.New("commit log has failed and must be opened again")

	// ErrClosed is returned by every call after Close.
	ErrClosed = errors.New("commit log is closed")

	// ErrOrder is returned by Append if its sequence number is not Last()+1. Nothing was written.
	ErrOrder = errors.New("record is out of order")

	// ErrTooLarge is returned by Append for more than MaxPayloadBytes. Nothing was written.
	ErrTooLarge = errors.New("record is too large")

	// ErrNoSegment is returned by Append if a new segment was needed and could not be made; the cause, such
	// as syscall.ENOSPC, is wrapped beside it. Nothing was appended, and the same Append may be tried again.
	ErrNoSegment = errors.New("cannot make the next log segment")

	// ErrTrimmed is returned by Read, and by a Reader that was overtaken by Trim, for a record that is gone.
	ErrTrimmed = errors.New("record has been trimmed")

	// ErrVersion is returned by Open for an intact segment of a format this program does not know.
	ErrVersion = errors.New("unknown commit log format")
)

// CorruptionError says that a file of the log does not hold what was acknowledged. Nothing has been changed.
type CorruptionError struct {
	File   string // path of the file
	Offset int64  // where in the file the damage starts
	Reason string // what was found
	Hint   string // what the operator can do
}

// Error names the file, the place and the remedy.
func (e *CorruptionError) Error() string {
	return fmt.Sprintf("commit log %s is damaged at offset %d: %s (%s)", e.File, e.Offset, e.Reason, e.Hint)
}

const (
	hintRestore = "restore this file from a backup or a replica; do not delete it, later records depend on it"
	hintMissing = "restore the missing files from a backup or a replica; the others are intact"
)
