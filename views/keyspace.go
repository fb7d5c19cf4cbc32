package views

// Each relation has 4,096 keyspaces of the state database, so that ids are never shared and dropping a
// relation is one range. The numbers are frozen.
const (
	keyspacesPerRelation = 1 << 12
	rowsKeyspace         = 1 // a table's chunk files and bitmaps
	indexKeyspace        = 2 // a keyed table's index
	operatorKeyspace     = 16
)

// RowsKeyspace returns the keyspace of a table's chunk files and bitmaps.
func RowsKeyspace(relation uint32) uint32 { return relation*keyspacesPerRelation + rowsKeyspace }

// IndexKeyspace returns the keyspace of a keyed table's index.
func IndexKeyspace(relation uint32) uint32 { return relation*keyspacesPerRelation + indexKeyspace }

// RelationKeyspaces returns the first keyspace of a relation and the first that is not its own.
func RelationKeyspaces(relation uint32) (lo, hi uint32) {
	return relation * keyspacesPerRelation, (relation + 1) * keyspacesPerRelation
}
