package runtime

import "time"

// rhythm keeps producers that wait for each answer in step, so that their appends share commits. Without it
// they fall into two groups: one is acknowledged and sends again while the other's commit runs, and
// each commit, with its fsync, carries half of them.
//
// After a commit it expects back those that it acknowledged, beside those that waited. The next commit waits
// for as many, a third of a commit's time at the most. Where operators take longer than the disk it does not wait: two
// groups are right, as one's rows are read while the other's are evaluated. A producer alone is never
// waited for, and a producer that stays away is missed once: the next commit expects only those that came.
type rhythm struct {
	expected int
	took     time.Duration // the last commit
	steps    time.Duration // of operators, a moving average
	syncs    time.Duration // of the disk, a moving average
	timer    *time.Timer   // running in a commit that waits
}

const (
	// waitShare is the part of a commit's time that gathering may wait. Half would make a missing producer
	// costly; a tenth is too short for a client to send again.
	waitShare = 3
	maxWait   = 2 * time.Millisecond
	// averaged is over about how many commits: single syncs may take ten times the usual.
	averaged = 16
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
	if taken == 0 || taken >= r.expected || r.steps > r.syncs {
		return nil
	}
	if r.timer == nil {
		r.timer = time.NewTimer(min(r.took/waitShare, maxWait))
	}
	select {
	case q := <-requests:
		return q
	case <-r.timer.C:
		r.expected = taken
		return nil
	}
}

// end says what a commit was: how many appends it took, how many wait behind it, and its time.
func (r *rhythm) end(taken, waiting int, took time.Duration) {
	r.expected, r.took = taken+waiting, took
}

// spent says what operators and the disk, side by side, took of a commit's time.
func (r *rhythm) spent(step, sync time.Duration) {
	r.steps += (step - r.steps) / averaged
	r.syncs += (sync - r.syncs) / averaged
}
