package state

import "errors"

// ErrNotOurs is returned by Open for a directory that holds something else than Tidemill state.
// Nothing in the directory was changed.
var ErrNotOurs = errors.New("directory does not hold Tidemill state")

// ErrNewerFormat is returned by Open for state that a later Tidemill wrote. Nothing in the
// directory was changed; open it with the version that wrote it.
var ErrNewerFormat = errors.New("state was written by a newer version of Tidemill")

// ErrClosed is returned by calls that come after Close.
var ErrClosed = errors.New("state is closed")

// ErrOrder is returned by Commit for a checkpoint whose position lies before that of an earlier
// one, and by the second Commit of one checkpoint: a caller's bug, found before anything is written.
var ErrOrder = errors.New("checkpoint out of order")

// ErrTooLarge is returned by Commit for a checkpoint beyond what one batch can hold. The bound on
// dirty bytes keeps checkpoints far below it.
var ErrTooLarge = errors.New("checkpoint is too large for one batch")

// ErrFailed wraps the first failure of the database's own writes. It is sticky: from then on
// nothing is written any more and every checkpoint is refused until the directory is opened again.
var ErrFailed = errors.New("state can no longer be written and must be reopened")

// ErrCorrupt is wrapped by errors about stored bytes that do not decode.
var ErrCorrupt = errors.New("stored state is corrupt")
