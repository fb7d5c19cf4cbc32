package runtime

import "time"

// rhythm keeps producers that wait for each answer in step, so that their appends share commits. Without it
// they fall into two groups: one is acknowledged and sends again while the other's commit runs, and
// each commit, with its fsync, carries half of them.
//
// After a commit it expects back those that it acknowledged, beside those that waited. The next commit waits
// for as many, a third of a commit's time at the most, and no longer than the committer had nothing to do but wait for
// the disk: where operators have as much to do as the disk, two groups are right, as one's rows are read while
// the other's are evaluated. A producer alone is never waited for, and a producer that stays away is missed
// once: the next commit expects only those that came.
type rhythm struct {
	expected int
	took     time.Duration // the last commit
	idle     time.Duration // of which it only waited for the disk
	timer    *time.Timer   // running in a commit that waits
}

const (
	// waitShare is the part of a commit's time that gathering may wait. Half would make a missing producer
	// costly; a tenth is too short for a client to send again.
	waitShare = 3
	maxWait   = 2 * time.Millisecond
)

func (r *rhythm) begin() { r.timer = nil }

// next returns a request that is there or, while fewer appends than expected have come, one that comes in time;
// nil for none.
func (r *rhythm) next(requests <-chan request, taken int) request {
	select {
	case q := <-requests:
		return q
	default:
	}
	if taken == 0 || taken >= r.expected {
		return nil
	}
	if r.timer == nil {
		r.timer = time.NewTimer(min(r.took/waitShare, r.idle, maxWait))
	}
	select {
	case q := <-requests:
		return q
	case <-r.timer.C:
		r.expected = taken
		return nil
	}
}

// end says what a commit was: how many appends it took, how many wait behind it, its time, and how much of that went to
// waiting for the disk alone.
func (r *rhythm) end(taken, waiting int, took, idle time.Duration) {
	r.expected, r.took, r.idle = taken+waiting, took, idle
}
