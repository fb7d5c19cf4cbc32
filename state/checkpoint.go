package state

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// Checkpoint collects the entries of one batch. It is filled by one goroutine and then committed,
// once, by any one.
type Checkpoint struct {
	db       *DB
	position uint64
	fill     bool
	meta     part
	parts    []*part
	last     *part // of the latest Put or Delete: entries of a keyspace come together
	ranges   []keyRange
	spans    []span
	blocks   [][]byte
	bytes    int64
	done     bool
}

// part is the entries of one keyspace.
type part struct {
	id      uint32
	entries []entry
}

// entry is a key and a value in the checkpoint's blocks.
type entry struct {
	head       uint64 // the key's first eight bytes, so that most comparisons need no block
	at         uint64 // block << 32 | offset
	klen, vlen uint32
}

// deleted is the vlen of an entry without a value.
const deleted = ^uint32(0)

type keyRange struct {
	id     uint32
	lo, hi []byte
}

// maxBatchBytes is below Pebble's bound of 4 GiB, at which it panics.
const maxBatchBytes = 3 << 30

// NewCheckpoint begins a checkpoint at position, the last commit that it will hold. A checkpoint
// that is not committed may simply be dropped.
func (db *DB) NewCheckpoint(position uint64) *Checkpoint {
	return &Checkpoint{db: db, position: position, meta: part{id: metaKeyspace}}
}

// NewFill begins a batch without a position: it writes to keyspaces that nothing refers to yet (a
// new generation), which become live by the catalog entry of a later checkpoint.
func (db *DB) NewFill() *Checkpoint {
	return &Checkpoint{db: db, fill: true, meta: part{id: metaKeyspace}}
}

// Position returns the position that the checkpoint was begun with.
func (cp *Checkpoint) Position() uint64 { return cp.position }

// Bytes returns the size of what has been collected.
func (cp *Checkpoint) Bytes() int64 { return cp.bytes }

// Len returns the number of entries collected.
func (cp *Checkpoint) Len() int {
	n := len(cp.meta.entries) + len(cp.ranges) + len(cp.spans)
	for _, p := range cp.parts {
		n += len(p.entries)
	}
	return n
}

// Put sets key to val in the keyspace; it copies both. Of several entries of one key in a
// checkpoint the last wins.
func (cp *Checkpoint) Put(id uint32, key, val []byte) {
	cp.add(cp.part(id), key, val, uint32(len(val)))
}

// Delete removes key from the keyspace.
func (cp *Checkpoint) Delete(id uint32, key []byte) { cp.add(cp.part(id), key, nil, deleted) }

// DeleteRange removes what earlier checkpoints have put from lo to hi, not included; a nil hi means
// to the end. Entries of the same checkpoint stand, whichever came first.
func (cp *Checkpoint) DeleteRange(id uint32, lo, hi []byte) {
	cp.ranges = append(cp.ranges, keyRange{id, slices.Clone(lo), slices.Clone(hi)})
}

// SetMeta sets a value of the meta keyspace. Names that begin with a zero byte are ours and panic.
func (cp *Checkpoint) SetMeta(name string, val []byte) {
	if name == "" || name[0] == 0 {
		panic("state: meta name " + name)
	}
	cp.add(&cp.meta, []byte(name), val, uint32(len(val)))
}

// DeleteMeta removes a value of the meta keyspace.
func (cp *Checkpoint) DeleteMeta(name string) { cp.add(&cp.meta, []byte(name), nil, deleted) }

func (cp *Checkpoint) part(id uint32) *part {
	if cp.last != nil && cp.last.id == id {
		return cp.last
	}
	for _, p := range cp.parts {
		if p.id == id {
			cp.last = p
			return p
		}
	}
	if id == metaKeyspace {
		panic("state: keyspace 0 is the meta keyspace")
	}
	cp.last = &part{id: id}
	cp.parts = append(cp.parts, cp.last)
	return cp.last
}

func (cp *Checkpoint) add(p *part, key, val []byte, vlen uint32) {
	n := len(key) + len(val)
	last := len(cp.blocks) - 1
	if last < 0 || cap(cp.blocks[last])-len(cp.blocks[last]) < n {
		cp.blocks = append(cp.blocks, cp.db.blocks.get(n))
		last++
	}
	b := cp.blocks[last]
	p.entries = append(p.entries, entry{head(key), uint64(last)<<32 | uint64(len(b)), uint32(len(key)), vlen})
	b = append(b, key...)
	cp.blocks[last] = append(b, val...)
	cp.bytes += int64(n) + 16
}

// head returns the first eight bytes of key as a number that sorts as they do.
func head(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var h uint64
	for i, c := range key {
		h |= uint64(c) << (56 - 8*i)
	}
	return h
}

func (cp *Checkpoint) key(e *entry) []byte {
	off := uint32(e.at)
	return cp.blocks[e.at>>32][off : off+e.klen]
}

func (cp *Checkpoint) value(e *entry) []byte {
	off := uint32(e.at) + e.klen
	return cp.blocks[e.at>>32][off : off+e.vlen]
}

// Commit makes the checkpoint durable: it sorts the entries, writes them with the position as one
// batch and returns nil when that batch is on disk. Only then may the log be trimmed up to the
// position and may owners call Cleaned. After ErrOrder, ErrClosed or ErrTooLarge nothing was
// written. After any other error it is not known whether the checkpoint will be found at the next
// open, and owners keep their entries dirty (Abandoned); when ctx ended the wait, later
// checkpoints may still succeed.
func (cp *Checkpoint) Commit(ctx context.Context) error {
	// 1. Sort, outside the lock. 2. Let compactions catch up. 3. Give one batch to Pebble. 4. Wait
	// for its flush.
	// Several batches, or the position in a batch of its own, would be cheaper to build and wrong:
	// Pebble may flush any prefix of batches by itself at any time, and after a crash the state
	// would be newer than the position.
	db := cp.db
	for _, p := range append(cp.parts, &cp.meta) {
		cp.sort(p)
	}
	slices.SortFunc(cp.parts, func(a, b *part) int { return int(int64(a.id) - int64(b.id)) })

	db.commitMu.Lock()
	defer db.commitMu.Unlock()
	if err := cp.admit(); err != nil {
		return fmt.Errorf("checkpoint at %d: %w", cp.position, err)
	}
	if err := db.waitCompacted(ctx); err != nil {
		return fmt.Errorf("checkpoint at %d: %w", cp.position, err)
	}
	cp.done = true
	if err := cp.apply(); err != nil {
		return fmt.Errorf("checkpoint at %d: %w", cp.position, err)
	}
	if !cp.fill {
		db.position = cp.position
	}
	flushed, err := db.p.AsyncFlush()
	if err != nil {
		return fmt.Errorf("flush checkpoint at %d: %w", cp.position, err)
	}
	select {
	case <-flushed:
	case <-db.failed:
		return fmt.Errorf("flush checkpoint at %d: %w", cp.position, db.failure)
	case <-ctx.Done():
		return fmt.Errorf("flush checkpoint at %d: %w", cp.position, context.Cause(ctx))
	}
	if !cp.fill {
		db.applied.Store(cp.position)
	}
	return nil
}

// waitCompacted returns when there are few enough layers of files for another.
func (db *DB) waitCompacted(ctx context.Context) error {
	for db.metrics().Levels[0].Sublevels >= maxSublevels {
		select {
		case <-db.compacted:
		case <-db.failed:
			return db.failure
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (cp *Checkpoint) admit() error {
	switch {
	case cp.db.closed:
		return ErrClosed
	case cp.db.Err() != nil:
		return cp.db.failure
	case cp.done:
		return fmt.Errorf("%w: committed twice", ErrOrder)
	case !cp.fill && cp.position < cp.db.position:
		return fmt.Errorf("%w: an earlier one was at %d", ErrOrder, cp.db.position)
	case cp.bytes > maxBatchBytes:
		return fmt.Errorf("%w: %d bytes", ErrTooLarge, cp.bytes)
	}
	return nil
}

// apply writes the batch into Pebble's memory and frees the checkpoint's.
func (cp *Checkpoint) apply() error {
	db := cp.db
	b := db.p.NewBatchWithSize(int(cp.bytes) + 8*cp.Len() + 256)
	// Range deletions come first: within a batch the later operation wins.
	for _, r := range cp.ranges {
		k := Keyspace{db, r.id}
		if err := b.DeleteRange(appendKey(nil, r.id, r.lo), k.upper(r.hi), nil); err != nil {
			return err
		}
	}
	for _, s := range cp.spans {
		lo, hi := s.bounds()
		if err := b.DeleteRange(lo, hi, nil); err != nil {
			return err
		}
	}
	if !cp.fill {
		op := b.SetDeferred(4+len(keyApplied), 8)
		appendKey(op.Key[:0], metaKeyspace, keyApplied)
		binary.BigEndian.PutUint64(op.Value, cp.position)
		if err := op.Finish(); err != nil {
			return err
		}
	}
	for _, p := range append([]*part{&cp.meta}, cp.parts...) {
		if err := cp.write(b, p); err != nil {
			return err
		}
	}
	db.blocks.put(cp.blocks)
	cp.blocks, cp.parts, cp.last, cp.meta.entries = nil, nil, nil, nil
	if err := db.p.Apply(b, pebble.NoSync); err != nil {
		return err
	}
	return errors.Join(db.Err(), b.Close())
}

func (cp *Checkpoint) write(b *pebble.Batch, p *part) error {
	for i := range p.entries {
		e := &p.entries[i]
		key := cp.key(e)
		if i+1 < len(p.entries) && e.head == p.entries[i+1].head && bytes.Equal(key, cp.key(&p.entries[i+1])) {
			continue // a later entry of the same key follows
		}
		var op *pebble.DeferredBatchOp
		if e.vlen == deleted {
			op = b.DeleteDeferred(4 + len(key))
		} else {
			op = b.SetDeferred(4+len(key), int(e.vlen))
			copy(op.Value, cp.value(e))
		}
		binary.BigEndian.PutUint32(op.Key, p.id)
		copy(op.Key[4:], key)
		if err := op.Finish(); err != nil {
			return err
		}
	}
	return nil
}

// blockBytes is the size of a checkpoint's blocks: larger ones waste more at the end, smaller ones
// make the list longer.
const blockBytes = 1 << 20

// maxIdleBlocks is how many blocks are kept between checkpoints, for the next one.
const maxIdleBlocks = 4

type blockPool struct {
	mu   sync.Mutex
	idle [][]byte
}

func (p *blockPool) get(n int) []byte {
	if n > blockBytes {
		return make([]byte, 0, n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if k := len(p.idle); k > 0 {
		b := p.idle[k-1]
		p.idle = p.idle[:k-1]
		return b[:0]
	}
	return make([]byte, 0, blockBytes)
}

func (p *blockPool) put(blocks [][]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range blocks {
		if cap(b) == blockBytes && len(p.idle) < maxIdleBlocks {
			p.idle = append(p.idle, b)
		}
	}
}
