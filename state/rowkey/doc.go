// Package rowkey turns rows of columns into bytes, and back, in two encodings.
//
// Key is SQL's equality and order: two rows have the same key exactly when SQL calls them not
// distinct (NULL is a value here, equal to itself), and bytes.Compare of two keys is the order of
// ORDER BY c1, c2, ... ascending with NULLS LAST. -0.0 is 0.0, every NaN is one value above infinity,
// INTERVALs compare as DuckDB's = and < do (24 hours carry into a day, then 30 days into a month, each
// towards zero; DuckDB's ORDER BY does not carry, and disagrees there with its own <), and texts
// compare byte by byte. GROUP BY, DISTINCT, joins and primary keys use it.
//
// Identity is every bit that an expression can see. It tells -0.0 from 0.0, each NaN and each
// spelling of an INTERVAL. Its order is total and refines Key's column by column: where the keys of a
// column differ, so do the identities, the same way. (A row's identities may differ in an earlier
// column whose keys are equal, so across columns the order is that of identities, not of keys.)
// Consolidation, deletes by value and rejects use it; the order that SQL leaves open is this one.
//
// Both are prefix-free for fixed types: no encoded row is the start of another, so rows can be
// followed by other bytes, and one column's bytes never decide another's comparison.
//
// A row is its columns in order; a column is a tag byte, then the value:
//
//	01        a value follows
//	FF        NULL, nothing follows
//
//	BOOLEAN, integers, DATE, TIME, timestamps   big endian in their size, sign bit turned
//	HUGEINT, DECIMAL                            16 bytes big endian, sign bit turned
//	FLOAT, DOUBLE                               order-preserving bits, big endian (see floatBits)
//	UUID                                        its 16 bytes
//	VARCHAR, BLOB                               the bytes with 00 as 00 FF, then 00 00
//	UHUGEINT                                    16 bytes big endian
//	TIME WITH TIME ZONE                         its column.TimeTZValue.Order, big endian
//	ENUM                                        its place, big endian
//	BIT, JSON                                   as VARCHAR
//	LIST, MAP                                   each element as a column, then 00; NULL is an element like others
//	ARRAY, STRUCT                               each part as a column
//	UNION                                       the tag, then the member as a column
//	INTERVAL                                    months (8), days (1), microseconds (8) after carrying;
//	                                            identity: then months (4), days (4), microseconds (8) as they are
//
// The identity of a nested value whose key hides bits of it (column.Type.HidesBits) is its key, then the same with the
// identities of all parts: else a part that differs in its bits alone would decide before a later one that
// differs in SQL.
//
// The bytes are stored (indexes in keyspaces hold keys), so they are frozen.
package rowkey
