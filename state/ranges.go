package state

import (
	"encoding/binary"
	"fmt"
)

// DeleteKeyspaces removes what earlier checkpoints have put into the keyspaces from lo to hi, not
// included; keyspace 0 stays. Entries of the same checkpoint stand.
func (cp *Checkpoint) DeleteKeyspaces(lo, hi uint32) {
	if lo = max(lo, 1); lo < hi {
		cp.spans = append(cp.spans, span{lo, hi})
	}
}

func (s span) bounds() (lo, hi []byte) {
	return binary.BigEndian.AppendUint32(nil, s[0]), binary.BigEndian.AppendUint32(nil, s[1])
}

// span is a range of whole keyspaces.
type span [2]uint32

// Metas calls fn with the values of the meta keyspace whose names begin with prefix, in order of
// their names, until it fails. The value is valid only during the call.
func (db *DB) Metas(prefix string, fn func(name string, val []byte) error) error {
	ks := Keyspace{db, metaKeyspace}
	var err error
	scanErr := ks.Scan([]byte(prefix), successor([]byte(prefix)), func(key, val []byte) bool {
		err = fn(string(key), val)
		return err == nil
	})
	if scanErr != nil {
		return fmt.Errorf("read meta values %s: %w", prefix, scanErr)
	}
	return err
}
