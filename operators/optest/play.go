package optest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemill/operators"
	"tidemill/operators/zset"
	"tidemill/operators/zset/zsettest"
	"tidemill/state"
	"tidemill/state/column"
)

// variant is a way to play a history. The first one's state is what the others' is held against.
type variant struct {
	name  string
	size  int // rows a batch, 0 for all
	churn churn
	order int // of inputs: 0 first to last, 1 last to first, 2 in turns

	reopen   bool // closed and opened in the middle
	void     bool // each commit is begun, given other rows besides, and voided before
	evict    bool // after each commit the state is written and all of it evicted
	late     bool // a checkpoint is durable only after the next commit, every other one never
	unwanted bool // nobody reads the output
	unread   bool // nobody reads the relation before the end
}

var variants = []variant{
	{name: "all rows"},
	{name: "batches of 1", size: 1},
	{name: "batches of 2", size: 2},
	{name: "batches of 7", size: 7},
	{name: "retracted later", churn: later},
	{name: "retracted later, by 1", churn: later, size: 1},
	{name: "retracted at once", churn: same},
	{name: "retracted at once, by 7", churn: same, size: 7},
	{name: "retracted first", churn: reverse},
	{name: "retracted first, by 1", churn: reverse, size: 1},
	{name: "inputs backwards", order: 1},
	{name: "inputs backwards, by 1", order: 1, size: 1},
	{name: "inputs in turns", order: 2, size: 2},
	{name: "reopened", reopen: true},
	{name: "reopened, retracted later", reopen: true, churn: later, size: 2},
	{name: "voided", void: true},
	{name: "evicted", evict: true},
	{name: "evicted, unread", evict: true, unread: true, size: 7},
	{name: "evicted and voided", evict: true, void: true, churn: later, size: 7},
	{name: "late checkpoints", late: true},
	{name: "late checkpoints and voided", late: true, void: true, churn: same},
	{name: "unwanted", unwanted: true, unread: true},
	{name: "unwanted, evicted", unwanted: true, evict: true, size: 2},
}

// play is one variant of one history.
type play struct {
	t    *testing.T
	c    *Case
	v    variant
	rand *rand.Rand

	fs        vfs.FS
	db        *state.DB
	op        Operator
	commit    uint64
	born      bool
	published atomic.Uint64
	flying    *state.Checkpoint

	in       []zsettest.Integral
	out, bad zsettest.Integral
	keys     map[string][]column.Column // that ever had a row
	types    []column.Type              // of the key, once there was a row
}

func (p *play) run(h history) string {
	p.fs, p.in, p.keys = vfs.NewMem(), make([]zsettest.Integral, len(p.c.Inputs)), map[string][]column.Column{}
	p.open()
	for i, deltas := range h {
		if p.v.void {
			p.step(p.mistaken(deltas, h[(i+1)%len(h)]), true)
		}
		p.step(deltas, false)
		p.check(i == len(h)-1)
		p.between(i)
		if p.v.reopen && i%3 == 2 {
			p.close()
			p.open()
			p.check(true)
		}
	}
	p.land(true)
	p.checkpoint()
	dump := p.dump()
	p.must(p.db.Close())
	return dump
}

func (p *play) open() {
	var err error
	p.db, err = state.Open(state.Options{Dir: "state", FS: p.fs})
	p.must(err)
	p.op, err = p.c.Open(p.db)
	p.must(err)
}

func (p *play) close() {
	p.checkpoint()
	p.must(p.db.Close())
}

// mistaken is a commit with the rows of another one besides.
func (p *play) mistaken(deltas, others []*zset.Batch) []*zset.Batch {
	out := make([]*zset.Batch, len(deltas))
	for k := range out {
		out[k] = zset.Concat(others[k], deltas[k])
	}
	return out
}

// step makes one commit, or begins it and voids it.
func (p *play) step(deltas []*zset.Batch, void bool) {
	p.commit++
	bad := &operators.Rejects{}
	p.must(p.op.Begin(p.commit, !p.born))
	for _, b := range p.batches(deltas) {
		p.must(p.op.Add(b.input, b.batch, bad))
	}
	out, err := p.op.Finish(!p.v.unwanted, bad)
	p.must(err)
	if void {
		p.op.Void()
		return
	}
	p.op.Publish()
	p.born = true
	p.published.Store(p.commit)
	for k, b := range deltas {
		p.must(p.in[k].Add(b))
	}
	p.must(p.bad.Add(bad.Batch()))
	if !p.v.unwanted {
		p.must(p.out.Add(out))
	}
}

type inputBatch struct {
	input int
	batch *zset.Batch
}

// batches returns a commit's deltas in the variant's batches and order.
func (p *play) batches(deltas []*zset.Batch) []inputBatch {
	var lists [][]inputBatch
	for k, d := range deltas {
		var list []inputBatch
		for _, b := range cut(d, p.v.size) {
			list = append(list, inputBatch{k, b})
		}
		if p.v.order == 1 {
			lists = append([][]inputBatch{list}, lists...)
		} else {
			lists = append(lists, list)
		}
	}
	var out []inputBatch
	if p.v.order != 2 {
		for _, list := range lists {
			out = append(out, list...)
		}
		return out
	}
	for i, more := 0, true; more; i++ {
		more = false
		for _, list := range lists {
			if i < len(list) {
				out, more = append(out, list[i]), true
			}
		}
	}
	return out
}

// between does what the variant does after commit i.
func (p *play) between(i int) {
	switch {
	case p.v.evict:
		p.checkpoint()
		p.evict()
	case p.v.late:
		p.land(i%2 == 0)
		p.flying = p.collect()
		p.evict()
	}
}

func (p *play) collect() *state.Checkpoint {
	cp := p.db.NewCheckpoint(p.commit)
	for _, c := range p.op.Caches() {
		c.Collect(cp)
	}
	return cp
}

// land ends the checkpoint in flight: it is durable, or it failed.
func (p *play) land(durable bool) {
	cp := p.flying
	if cp == nil {
		return
	}
	p.flying = nil
	if durable {
		p.must(cp.Commit(context.Background()))
	}
	for _, c := range p.op.Caches() {
		if durable {
			c.Cleaned(cp)
		} else {
			c.Abandoned(cp)
		}
	}
}

func (p *play) checkpoint() {
	p.flying = p.collect()
	p.land(true)
}

func (p *play) evict() {
	for _, c := range p.op.Caches() {
		c.Evict(0)
	}
}

// dump returns the state as text.
func (p *play) dump() string {
	ids, err := p.db.Keyspaces()
	p.must(err)
	var b strings.Builder
	for _, id := range ids {
		if id == 0 {
			continue
		}
		p.must(p.db.Keyspace(id).Scan(nil, nil, func(key, val []byte) bool {
			fmt.Fprintf(&b, "%d %x %x\n", id, key, val)
			return true
		}))
	}
	return b.String() + "end"
}

func (p *play) must(err error) {
	p.t.Helper()
	if err != nil {
		p.fatalf("%v", err)
	}
}

func (p *play) fatalf(format string, args ...any) {
	p.t.Helper()
	p.t.Fatalf("%s, commit %d: %s", p.v.name, p.commit, fmt.Sprintf(format, args...))
}
