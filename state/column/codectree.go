package column

import (
	"encoding/binary"
	"fmt"
	"unsafe"
)

// treeVersion is the format of payloads with an ENUM or a nested column; see FORMAT.md. Frozen.
const (
	treeVersion   = 2
	treeNodeBytes = 16
)

func needsTrees(cols []Column) bool {
	for i := range cols {
		if cols[i].Type.more != nil {
			return true
		}
	}
	return false
}

func treesSize(cols []Column) int {
	size := headerBytes
	for i := range cols {
		sql := len(cols[i].Type.String())
		size += 8 + sql + pad8(sql) + cols[i].treeSize()
	}
	return size
}

func (c *Column) treeSize() int {
	size := treeNodeBytes
	if c.NullCount() > 0 {
		n := (c.N + 7) / 8
		size += n + pad8(n)
	}
	if c.Type.Varlen() || c.Type.Kind == List || c.Type.Kind == Map {
		offs := 4 * (c.N + 1)
		size += offs + pad8(offs)
	}
	if !c.Type.Nested() {
		data := c.N * c.Type.Size()
		if c.Type.Varlen() {
			data = len(c.usedText())
		}
		return size + data + pad8(data)
	}
	u := c.used()
	for i := range u.Kids {
		size += u.Kids[i].treeSize()
	}
	return size
}

func treeParts(cols []Column) [][]byte {
	head := make([]byte, headerBytes)
	head[0] = treeVersion
	binary.LittleEndian.PutUint32(head[4:], uint32(len(cols)))
	binary.LittleEndian.PutUint32(head[8:], uint32(cols[0].N))
	parts := pieces{head}
	for i := range cols {
		c := &cols[i]
		if c.N != cols[0].N || c.N > maxRows || !c.Type.wellFormed() {
			panic(fmt.Sprintf("column: encode column %d of type %v with %d rows beside %d", i, c.Type, c.N, cols[0].N))
		}
		sql := c.Type.String()
		parts.add(binary.LittleEndian.AppendUint64(nil, uint64(len(sql))))
		parts.add([]byte(sql))
		c.addTree(&parts)
	}
	return parts
}

func (c *Column) addTree(parts *pieces) {
	node := make([]byte, treeNodeBytes)
	binary.LittleEndian.PutUint32(node, uint32(c.N))
	parts.add(node)
	if c.NullCount() > 0 {
		node[4] = flagHasValid
		parts.add(cleanBitmap(c.Valid, c.N))
	}
	if c.Type.Nested() {
		u := c.used()
		if c.Type.Kind == List || c.Type.Kind == Map {
			parts.add(u.rebasedOffsets())
		}
		for i := range u.Kids {
			u.Kids[i].addTree(parts)
		}
		return
	}
	binary.LittleEndian.PutUint64(node[8:], parts.addValues(c))
}

// decodeTrees is DecodeColumns for version 2, with the header read and b aligned.
func decodeTrees(b []byte, count, rows int) ([]Column, int, error) {
	r := reader{rest: b[headerBytes:]}
	cols := make([]Column, count)
	for i := range cols {
		err := r.typed(&cols[i], rows)
		if err != nil {
			return nil, 0, fmt.Errorf("%w: column %d: %w", ErrMalformed, i, err)
		}
	}
	if len(r.rest) != 0 {
		return nil, 0, fmt.Errorf("%w: %d bytes after the last column", ErrMalformed, len(r.rest))
	}
	return cols, rows, nil
}

// typed reads a type and the column of rows rows that follows.
func (r *reader) typed(c *Column, rows int) error {
	b, err := r.take("a type's length", 8)
	if err != nil {
		return err
	}
	n := binary.LittleEndian.Uint64(b)
	if n > uint64(len(r.rest)) {
		return fmt.Errorf("a type of %d bytes, %d are left", n, len(r.rest))
	}
	if b, err = r.take("a type", int(n)); err != nil {
		return err
	}
	t, err := ParseType(string(b))
	if err != nil {
		return err
	}
	return r.tree(c, t, rows)
}

func (r *reader) tree(c *Column, t Type, rows int) error {
	node, err := r.take("an array's head", treeNodeBytes)
	if err != nil {
		return err
	}
	size := binary.LittleEndian.Uint64(node[8:])
	switch {
	case binary.LittleEndian.Uint32(node) != uint32(rows):
		return fmt.Errorf("%d values of %v, not %d", binary.LittleEndian.Uint32(node), t, rows)
	case node[4]&^flagHasValid != 0 || node[5]|node[6]|node[7] != 0:
		return fmt.Errorf("unknown flags %x", node[4:8])
	case size > uint64(len(r.rest)):
		return fmt.Errorf("%d bytes of data, %d are left", size, len(r.rest))
	}
	*c = Column{Type: t, N: rows}
	if node[4]&flagHasValid != 0 {
		if c.Valid, err = r.take("validity", (rows+7)/8); err != nil {
			return err
		}
		if err = checkLastBits(c.Valid, rows); err != nil {
			return err
		}
	}
	if t.Varlen() || t.Kind == List || t.Kind == Map {
		offs, err := r.take("offsets", 4*(rows+1))
		if err != nil {
			return err
		}
		c.Offsets = unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(offs))), rows+1)
	}
	if t.Nested() {
		return r.kids(c, size)
	}
	if t.Varlen() {
		if size > maxColumnBytes {
			return fmt.Errorf("%d bytes of text", size)
		}
		err = checkOffsets(c.Offsets, int32(size))
	} else if size != uint64(rows)*uint64(t.Size()) {
		err = fmt.Errorf("%d bytes of data for %d rows of %v", size, rows, t)
	}
	if err != nil {
		return err
	}
	if c.Data, err = r.take("data", int(size)); err != nil {
		return err
	}
	return c.checkValues()
}

// kids reads the kids of a nested column.
func (r *reader) kids(c *Column, size uint64) error {
	if size != 0 {
		return fmt.Errorf("%d bytes of data of %v", size, c.Type)
	}
	rows := c.N
	switch {
	case c.Offsets != nil:
		rows = int(c.Offsets[c.N])
		if rows < 0 || rows > maxRows {
			return fmt.Errorf("%d elements", rows)
		}
		if err := checkOffsets(c.Offsets, int32(rows)); err != nil {
			return err
		}
	case c.Type.Kind == Array:
		if rows *= c.Type.Length(); rows > maxRows {
			return fmt.Errorf("%d elements", rows)
		}
	}
	types := c.Type.Kids()
	if treeNodeBytes*len(types) > len(r.rest) {
		return fmt.Errorf("%d arrays, %d bytes are left", len(types), len(r.rest))
	}
	c.Kids = make([]Column, len(types))
	for i, t := range types {
		if err := r.tree(&c.Kids[i], t, rows); err != nil {
			return fmt.Errorf("%v of %v: %w", t, c.Type.Kind, err)
		}
	}
	return c.checkValues()
}
