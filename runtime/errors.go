package runtime

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed is returned by every call after Close, and by those that Close cut short.
	ErrClosed = errors.New("the engine is closed")
	// ErrLocked is returned by Open when another process has the directory.
	ErrLocked = errors.New("the directory is in use by another process")
	// ErrNotOurs is returned by Open for a directory that holds something else; nothing was changed.
	ErrNotOurs = errors.New("the directory does not belong to Tidemill")
	// ErrNewerFormat is returned by Open for a directory of a later version; nothing was changed.
	ErrNewerFormat = errors.New("the directory was written by a later version")
	// ErrBusy is returned when an append cannot be admitted in time; the same request may be sent again.
	ErrBusy = errors.New("too much is in flight")
	// ErrDiskFull is returned for a change whose log record found no room, or while a checkpoint finds none;
	// nothing of it was applied, and it may be sent again once there is room.
	ErrDiskFull = errors.New("the disk is full")
	// ErrSchemaChanged is returned for an append whose rows were read by a definition that has been
	// replaced since; the body must be sent again.
	ErrSchemaChanged = errors.New("the table was replaced while the append was on its way")
	// ErrSeqReused is returned for a repeated seq of a producer with another body.
	ErrSeqReused = errors.New("this seq was used for another body")
)

// SeqError is returned for an append whose seq or prev does not follow the producer's last.
type SeqError struct {
	Producer string
	Seq      uint64
	Last     uint64  // the producer's last seq, 0 for none
	Prev     *uint64 // what the request said it was, if it did
}

// Error says which seq is expected.
func (e *SeqError) Error() string {
	if e.Prev != nil {
		return fmt.Sprintf("producer %s is at seq %d, not at %d as prev says", e.Producer, e.Last, *e.Prev)
	}
	return fmt.Sprintf("producer %s sent seq %d, but its next is %d", e.Producer, e.Seq, e.Last+1)
}

// FailedError is returned by every call that writes once the engine has stopped: a write or a sync
// failed, or the state on disk could not be read. Reads of what is published go on.
type FailedError struct{ Cause error }

// Error names the cause and the remedy.
func (e *FailedError) Error() string {
	return fmt.Sprintf("the engine has stopped accepting changes and must be restarted: %v", e.Cause)
}

// Unwrap returns the cause.
func (e *FailedError) Unwrap() error { return e.Cause }
