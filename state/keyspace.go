package state

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Keyspace is the entries under one four-byte prefix. It is a small value to be copied; it reads
// what checkpoints have written and knows nothing of the caches. Keyspace 0 belongs to Meta.
type Keyspace struct {
	db *DB
	id uint32
}

// Keyspace returns the keyspace with that id, which need not have entries. Id 0 is ours and panics.
func (db *DB) Keyspace(id uint32) Keyspace {
	if id == metaKeyspace {
		panic("state: keyspace 0 is the meta keyspace")
	}
	return Keyspace{db, id}
}

// ID returns the keyspace's number.
func (k Keyspace) ID() uint32 { return k.id }

func appendKey[K string | []byte](dst []byte, id uint32, key K) []byte {
	dst = binary.BigEndian.AppendUint32(dst, id)
	return append(dst, key...)
}

// Get returns a copy of the value of key, and whether there is one.
func (k Keyspace) Get(key []byte) (val []byte, found bool, err error) {
	return k.db.get(appendKey(make([]byte, 0, 64), k.id, key))
}

func (db *DB) get(full []byte) ([]byte, bool, error) {
	v, closer, err := db.p.Get(full)
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("read key %x: %w", full, err)
	}
	out := append(make([]byte, 0, len(v)), v...)
	if err := closer.Close(); err != nil {
		return nil, false, fmt.Errorf("read key %x: %w", full, err)
	}
	return out, true, nil
}

// Scan calls fn with the entries from lo to hi, not included, in the order of their keys, until fn
// returns false; a nil hi means to the end. It sees the database of one instant. Key and value are
// valid only during the call.
func (k Keyspace) Scan(lo, hi []byte, fn func(key, val []byte) bool) error {
	it, err := k.iter(lo, hi)
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return errors.Join(fmt.Errorf("scan keyspace %d: %w", k.id, err), it.Close())
		}
		if !fn(it.Key()[4:], v) {
			break
		}
	}
	if err := it.Close(); err != nil {
		return fmt.Errorf("scan keyspace %d: %w", k.id, err)
	}
	return nil
}

func (k Keyspace) iter(lo, hi []byte) (*pebble.Iterator, error) {
	it, err := k.db.p.NewIter(&pebble.IterOptions{LowerBound: appendKey(nil, k.id, lo), UpperBound: k.upper(hi)})
	if err != nil {
		return nil, fmt.Errorf("scan keyspace %d: %w", k.id, err)
	}
	return it, nil
}

func (k Keyspace) upper(hi []byte) []byte {
	if hi == nil {
		return binary.BigEndian.AppendUint32(nil, k.id+1)
	}
	return appendKey(nil, k.id, hi)
}

// IsEmpty reports whether the keyspace has no entry.
func (k Keyspace) IsEmpty() (bool, error) {
	empty := true
	err := k.Scan(nil, nil, func(_, _ []byte) bool { empty = false; return false })
	return empty, err
}

// DiskBytes estimates the bytes of files that the keyspace takes.
func (k Keyspace) DiskBytes() (int64, error) {
	n, err := k.db.p.EstimateDiskUsage(appendKey(nil, k.id, ""), k.upper(nil))
	if err != nil {
		return 0, fmt.Errorf("measure keyspace %d: %w", k.id, err)
	}
	return int64(n), nil
}

// Keyspaces lists the keyspaces that have entries, in order: the engine compares it with its
// catalog at open and drops generations that nothing refers to.
func (db *DB) Keyspaces() ([]uint32, error) {
	it, err := db.p.NewIter(nil)
	if err != nil {
		return nil, fmt.Errorf("list keyspaces: %w", err)
	}
	var ids []uint32
	for ok := it.SeekGE([]byte{0, 0, 0, 1}); ok; {
		id := binary.BigEndian.Uint32(it.Key())
		ids = append(ids, id)
		ok = it.SeekGE(binary.BigEndian.AppendUint32(nil, id+1))
	}
	if err := it.Close(); err != nil {
		return nil, fmt.Errorf("list keyspaces: %w", err)
	}
	return ids, nil
}

// Meta returns a copy of the value that a checkpoint has set under name, and whether there is one.
func (db *DB) Meta(name string) ([]byte, bool, error) {
	return db.get(appendKey(nil, metaKeyspace, name))
}

func isNotFound(err error) bool { return errors.Is(err, pebble.ErrNotFound) }
