package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"

	"tidemill/runtime/logrec"
)

// keepSeqs is how many of a producer's appends are remembered with their commits. An older repeat is still
// known for one, but not which commit it had.
const keepSeqs = 1024

// idleMicros is after how long a producer that sent nothing is forgotten, by the clock of commits.
const idleMicros = 7 * 24 * 3600 * 1_000_000

// producers is who appended, and its count. It is a function of the log: the clock is the commits'.
type producers struct {
	byName map[string]*producer
	dirty  map[string]bool
}

// producer is stored as JSON under its name in a checkpoint.
type producer struct {
	Last   uint64 `json:"last"`
	Micros int64  `json:"micros"`
	Recent []seen `json:"recent"` // ascending seq, at most keepSeqs
}

type seen struct {
	Seq    uint64 `json:"s"`
	Commit uint64 `json:"c"`
	Hash   uint64 `json:"h"`
	Rows   int    `json:"n"`

	Rejected int `json:"r,omitempty"`
}

func newProducers() *producers {
	return &producers{byName: map[string]*producer{}, dirty: map[string]bool{}}
}

// get returns the producer as it is at a time; nil when it is not known or has been idle for too long.
func (p *producers) get(name string, micros int64) *producer {
	pr := p.byName[name]
	if pr == nil || micros-pr.Micros > idleMicros {
		return nil
	}
	return pr
}

// verdict is what is to happen with an append.
type verdict struct {
	duplicate bool
	seen      seen // of the first; Commit is 0 when it is no longer remembered
	err       error
}

// check says whether an append follows the producer's last, which is pending's if it has one.
func (p *producers) check(r *appendRequest, micros int64, pending map[string][]*appendRequest) verdict {
	if r.Producer == "" {
		return verdict{}
	}
	pr := p.get(r.Producer, micros)
	last := uint64(0)
	if pr != nil {
		last = pr.Last
	}
	if q := pending[r.Producer]; len(q) > 0 {
		last = q[len(q)-1].Seq
	}
	switch {
	case r.Prev != nil && r.Seq > last && *r.Prev != last, r.Prev == nil && r.Seq > last+1:
		return verdict{err: &SeqError{Producer: r.Producer, Seq: r.Seq, Last: last, Prev: r.Prev}}
	case r.Seq > last:
		return verdict{}
	}
	v := verdict{duplicate: true}
	for _, q := range pending[r.Producer] {
		if q.Seq == r.Seq {
			v.seen = seen{Seq: q.Seq, Hash: q.Hash, Rows: q.accepted, Rejected: q.rejected}
		}
	}
	if pr != nil {
		i := sort.Search(len(pr.Recent), func(i int) bool { return pr.Recent[i].Seq >= r.Seq })
		if i < len(pr.Recent) && pr.Recent[i].Seq == r.Seq {
			v.seen = pr.Recent[i]
		}
	}
	if v.seen.Seq != 0 && v.seen.Hash != r.Hash {
		return verdict{err: fmt.Errorf("producer %s, seq %d: %w", r.Producer, r.Seq, ErrSeqReused)}
	}
	return v
}

// note records an append of commit.
func (p *producers) note(e *logrec.Entry, commit uint64, micros int64) {
	if e.Producer == "" {
		return
	}
	pr := p.get(e.Producer, micros)
	if pr == nil {
		pr = &producer{}
		p.byName[e.Producer] = pr
	}
	pr.Last, pr.Micros = e.Seq, micros
	s := seen{Seq: e.Seq, Commit: commit, Hash: e.Hash, Rows: e.Rows}
	if e.Accepted != 0 || e.Rejected != 0 {
		s.Rows, s.Rejected = int(e.Accepted), int(e.Rejected)
	}
	pr.Recent = append(pr.Recent, s)
	if len(pr.Recent) >= 2*keepSeqs {
		pr.Recent = append(pr.Recent[:0], pr.Recent[len(pr.Recent)-keepSeqs:]...)
	}
	p.dirty[e.Producer] = true
}

const producerMeta = "producer/"

func (pr *producer) encode() []byte {
	kept := *pr
	if n := len(kept.Recent); n > keepSeqs {
		kept.Recent = kept.Recent[n-keepSeqs:]
	}
	b, err := json.Marshal(&kept)
	if err != nil {
		panic(err) // numbers always encode
	}
	return b
}

func decodeProducer(b []byte) (*producer, error) {
	pr := &producer{}
	return pr, json.Unmarshal(b, pr)
}

// ProducerState is how far a producer has come.
type ProducerState struct {
	Last   uint64 // seq of its last append that is acknowledged; 0 when none is known
	Commit uint64 // that append's commit
}

// Producer returns how far a producer has come, as of the newest commit: a client that lost its place asks
// before it goes on. A producer that never appended, or has been silent for seven days, is at 0.
func (e *Engine) Producer(ctx context.Context, name string) (ProducerState, error) {
	var s ProducerState
	err := e.do(ctx, func() error {
		if pr := e.producers.get(name, e.now()); pr != nil {
			s = ProducerState{Last: pr.Last, Commit: pr.Recent[len(pr.Recent)-1].Commit}
		}
		return nil
	})
	return s, err
}
