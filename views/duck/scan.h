#ifndef TIDEMILL_SCAN_H
#define TIDEMILL_SCAN_H

#include <stdint.h>

// How a column's values become DuckDB's. Go's constants in scan.go repeat these numbers.
enum {
	TD_EMPTY = 0,  // a column that the query needs no value of
	TD_COPY1 = 1,  // values of 1, 2, 4, 8 and 16 bytes that DuckDB lays out as we do
	TD_COPY2 = 2,
	TD_COPY4 = 4,
	TD_COPY8 = 8,
	TD_COPY16 = 16,
	TD_TEXT = 20,  // offsets and bytes to 16-byte string headers
	TD_DEC2 = 21,  // 16-byte DECIMAL to 2, 4 or 8 bytes
	TD_DEC4 = 22,
	TD_DEC8 = 23,
	TD_UUID = 24,  // 16 bytes big-endian to a HUGEINT with its sign bit turned
	TD_ROWID = 25, // the chunk's first rowid plus the place in it
	TD_LIST = 26,  // offsets to entries, and the elements: LIST and MAP
	TD_ARRAY = 27,
	TD_STRUCT = 28, // UNION too, the tag first
};

// One column of one chunk. Pointers are into memory that the scan's owner keeps in place.
typedef struct td_col {
	const uint8_t *valid; // NULL when no value is NULL
	const uint8_t *data;
	const int32_t *offs; // of TD_TEXT and TD_LIST
	struct td_col *kids; // of a nested type, from calloc
	uint32_t nkids;
	uint32_t length; // of TD_ARRAY
	uint8_t kind;    // of a kid; a column's stands in the scan
} td_col;

typedef struct {
	uint64_t n;
	const uint8_t *live; // NULL when every row is live
	uint64_t base;       // rowid of row 0
	uint64_t *ids;       // rowids, or NULL when they follow on base
} td_chunk;

// The rows that a thread takes at once: count rows from a place on, over chunks if need be.
typedef struct {
	uint64_t chunk, row, count;
} td_morsel;

// A running scan: DuckDB's global state of the table function.
typedef struct {
	uint64_t ncols; // columns that the query projects
	uint64_t nchunks;
	uint64_t nmorsels;
	uint64_t next;   // the next morsel, taken atomically
	uint64_t handle; // Go's, to let go of the memory that is scanned
	uint8_t *kinds;  // ncols
	td_chunk *chunks;
	td_col *cols; // nchunks times ncols
	td_morsel *morsels;
} td_scan;

td_scan *td_scan_new(uint64_t ncols, uint64_t nchunks, uint64_t nmorsels, uint64_t handle);
td_col *td_kids_new(td_col *parent, uint64_t n);
void *td_box(uint64_t handle);

void *td_bind_fn(void);
void *td_init_fn(void);
void *td_local_fn(void);
void *td_scan_fn(void);
void *td_scan_free_fn(void);
void *td_bind_free_fn(void);
void *td_free_fn(void);

#endif
