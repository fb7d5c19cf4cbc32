// The table function's inner loop. It runs on DuckDB's threads and never enters Go: a call into Go
// from a foreign thread costs about as much as filling a vector.

#include "scan.h"
#include "_cgo_export.h"

#include <stdlib.h>
#include <string.h>

// DuckDB's C API, as far as it is used here (duckdb.h of 1.5.6).
extern void *duckdb_function_get_init_data(void *info);
extern void *duckdb_function_get_local_init_data(void *info);
extern void duckdb_function_set_error(void *info, const char *error);
extern void duckdb_init_set_init_data(void *info, void *data, void (*destroy)(void *));
extern void *duckdb_data_chunk_get_vector(void *chunk, uint64_t col);
extern void duckdb_data_chunk_set_size(void *chunk, uint64_t size);
extern void *duckdb_vector_get_data(void *vector);
extern uint64_t *duckdb_vector_get_validity(void *vector);
extern void duckdb_vector_ensure_validity_writable(void *vector);
extern void *duckdb_list_vector_get_child(void *vector);
extern uint64_t duckdb_list_vector_get_size(void *vector);
extern int duckdb_list_vector_set_size(void *vector, uint64_t size);
extern int duckdb_list_vector_reserve(void *vector, uint64_t capacity);
extern void *duckdb_array_vector_get_child(void *vector);
extern void *duckdb_struct_vector_get_child(void *vector, uint64_t index);

// Rows of a DuckDB vector.
#define VECTOR 2048

typedef struct {
	uint64_t chunk, row, left; // left: rows of the morsel not yet looked at
} td_local;

// A run of rows of one chunk on its way to one place of the output: rows from..from+n, or the n
// rows in sel when some between are dead.
typedef struct {
	uint64_t from, n, out;
	const uint32_t *sel;
} td_run;

td_scan *td_scan_new(uint64_t ncols, uint64_t nchunks, uint64_t nmorsels, uint64_t handle) {
	td_scan *s = calloc(1, sizeof *s);
	if (!s)
		abort();
	s->ncols = ncols;
	s->nchunks = nchunks;
	s->nmorsels = nmorsels;
	s->handle = handle;
	s->kinds = calloc(ncols + 1, 1);
	s->chunks = calloc(nchunks + 1, sizeof *s->chunks);
	s->cols = calloc(nchunks * ncols + 1, sizeof *s->cols);
	s->morsels = calloc(nmorsels + 1, sizeof *s->morsels);
	if (!s->kinds || !s->chunks || !s->cols || !s->morsels)
		abort();
	return s;
}

td_col *td_kids_new(td_col *parent, uint64_t n) {
	parent->kids = calloc(n + 1, sizeof *parent->kids);
	if (!parent->kids)
		abort();
	parent->nkids = (uint32_t)n;
	return parent->kids;
}

static void kids_free(td_col *c) {
	for (uint32_t i = 0; i < c->nkids; i++)
		kids_free(&c->kids[i]);
	free(c->kids);
}

static void scan_free(void *p) {
	td_scan *s = p;
	tidemillScanDone(s->handle);
	for (uint64_t i = 0; i < s->nchunks * s->ncols; i++)
		kids_free(&s->cols[i]);
	free(s->kinds);
	free(s->chunks);
	free(s->cols);
	free(s->morsels);
	free(s);
}

void *td_box(uint64_t handle) {
	uint64_t *b = malloc(sizeof *b);
	if (!b)
		abort();
	*b = handle;
	return b;
}

static void bind_free(void *p) {
	tidemillBindDone(*(uint64_t *)p);
	free(p);
}

static void local_init(void *info) {
	td_local *l = calloc(1, sizeof *l);
	if (!l)
		abort();
	duckdb_init_set_init_data(info, l, free);
}

static inline int bit(const uint8_t *b, uint64_t i) { return b[i >> 3] >> (i & 7) & 1; }

// The n (1 to 64) bits of b from bit i on; no byte past the last of them is read.
static inline uint64_t bits(const uint8_t *b, uint64_t i, uint64_t n) {
	uint64_t first = i >> 3, last = (i + n - 1) >> 3, sh = i & 7, v = 0;
	uint64_t bytes = last - first + 1;
	memcpy(&v, b + first, bytes < 8 ? bytes : 8);
	v >>= sh;
	if (bytes > 8)
		v |= (uint64_t)b[first + 8] << (64 - sh);
	return n == 64 ? v : v & ((1ULL << n) - 1);
}

static void put_valid(void *vector, const uint8_t *valid, const td_run *r) {
	uint64_t *mask = 0;
	if (!r->sel) {
		for (uint64_t k = 0; k < r->n;) {
			uint64_t n = r->n - k < 64 ? r->n - k : 64, o = (r->out + k) & 63;
			if (n > 64 - o)
				n = 64 - o; // to the end of the mask's word
			uint64_t v = bits(valid, r->from + k, n), ones = n == 64 ? ~0ULL : (1ULL << n) - 1;
			if (v != ones) {
				if (!mask) {
					duckdb_vector_ensure_validity_writable(vector);
					mask = duckdb_vector_get_validity(vector);
				}
				mask[(r->out + k) >> 6] &= ~((ones & ~v) << o);
			}
			k += n;
		}
		return;
	}
	for (uint64_t k = 0; k < r->n; k++) {
		if (bit(valid, r->sel[k]))
			continue;
		if (!mask) {
			duckdb_vector_ensure_validity_writable(vector);
			mask = duckdb_vector_get_validity(vector);
		}
		mask[(r->out + k) >> 6] &= ~(1ULL << ((r->out + k) & 63));
	}
}

// DuckDB's string header: up to 12 bytes inline, else the first 4 and a pointer to all.
typedef struct {
	uint32_t len;
	char head[4];
	union {
		char tail[8];
		const char *ptr;
	};
} td_string;

static inline void put_string(td_string *o, const int32_t *offs, const uint8_t *data, uint64_t i) {
	const uint8_t *b = data + offs[i];
	uint32_t l = (uint32_t)(offs[i + 1] - offs[i]);
	o->len = l;
	if (l > 12) {
		memcpy(o->head, b, 4);
		o->ptr = (const char *)b;
		return;
	}
	memset(o->head, 0, 12); // the bytes past the text must be zero: DuckDB compares the header whole
	if (l)
		memcpy(o->head, b, l);
}

// One loop per representation: EACH runs BODY with i the row in the chunk and k the place in the output.
#define EACH(BODY)                                                             \
	if (r->sel)                                                                \
		for (uint64_t j = 0; j < r->n; j++) {                                  \
			uint64_t i = r->sel[j], k = r->out + j;                            \
			BODY;                                                              \
		}                                                                      \
	else                                                                       \
		for (uint64_t j = 0; j < r->n; j++) {                                  \
			uint64_t i = r->from + j, k = r->out + j;                          \
			BODY;                                                              \
		}

typedef struct {
	uint64_t lo, hi;
} td_int128;

static void put_fixed(uint8_t *dst, const uint8_t *src, uint64_t size, const td_run *r) {
	if (!r->sel) {
		memcpy(dst + r->out * size, src + r->from * size, r->n * size);
		return;
	}
	switch (size) {
	case 1: EACH(dst[k] = src[i]) break;
	case 2: EACH(((uint16_t *)dst)[k] = ((const uint16_t *)src)[i]) break;
	case 4: EACH(((uint32_t *)dst)[k] = ((const uint32_t *)src)[i]) break;
	case 8: EACH(((uint64_t *)dst)[k] = ((const uint64_t *)src)[i]) break;
	case 16: EACH(((td_int128 *)dst)[k] = ((const td_int128 *)src)[i]) break;
	}
}

static void put_uuid(td_int128 *dst, const td_int128 *src, const td_run *r) {
	EACH(dst[k].hi = __builtin_bswap64(src[i].lo) ^ 1ULL << 63; dst[k].lo = __builtin_bswap64(src[i].hi))
}

static void put(const td_scan *s, uint64_t c, uint8_t kind, const td_col *col, void *vector, const td_run *r);

// DuckDB's entry of a list: a place among the elements, and how many.
typedef struct {
	uint64_t from, n;
} td_entry;

// put_list appends the elements of the run's rows to the vector's, in one run where the rows are one.
static void put_list(const td_scan *s, uint64_t c, const td_col *col, void *vector, const td_run *r) {
	uint64_t base = duckdb_list_vector_get_size(vector), total = 0;
	td_entry *e = duckdb_vector_get_data(vector);
	EACH(e[k].from = base + total; e[k].n = (uint64_t)(col->offs[i + 1] - col->offs[i]); total += e[k].n)
	if (!total)
		return;
	if (duckdb_list_vector_reserve(vector, base + total) || duckdb_list_vector_set_size(vector, base + total))
		abort();
	void *kid = duckdb_list_vector_get_child(vector);
	const td_col *elems = col->kids;
	if (!r->sel) {
		td_run all = {(uint64_t)col->offs[r->from], total, base, 0};
		put(s, c, elems->kind, elems, kid, &all);
		return;
	}
	uint64_t out = base;
	for (uint64_t j = 0; j < r->n; j++) {
		uint64_t i = r->sel[j];
		td_run one = {(uint64_t)col->offs[i], (uint64_t)(col->offs[i + 1] - col->offs[i]), out, 0};
		if (one.n)
			put(s, c, elems->kind, elems, kid, &one);
		out += one.n;
	}
}

static void put_array(const td_scan *s, uint64_t c, const td_col *col, void *vector, const td_run *r) {
	void *kid = duckdb_array_vector_get_child(vector);
	uint64_t n = col->length;
	if (!r->sel) {
		td_run all = {r->from * n, r->n * n, r->out * n, 0};
		put(s, c, col->kids->kind, col->kids, kid, &all);
		return;
	}
	for (uint64_t j = 0; j < r->n; j++) {
		td_run one = {r->sel[j] * n, n, (r->out + j) * n, 0};
		put(s, c, col->kids->kind, col->kids, kid, &one);
	}
}

static void put(const td_scan *s, uint64_t c, uint8_t kind, const td_col *col, void *vector, const td_run *r) {
	if (kind == TD_EMPTY)
		return;
	void *dst = kind == TD_STRUCT || kind == TD_ARRAY ? 0 : duckdb_vector_get_data(vector);
	const td_int128 *wide = (const td_int128 *)col->data;
	switch (kind) {
	case TD_ROWID: {
		uint64_t *d = dst, base = s->chunks[c].base, *ids = s->chunks[c].ids;
		EACH(d[k] = ids ? ids[i] : base + i)
		return;
	}
	case TD_TEXT: {
		td_string *d = dst;
		EACH(put_string(d + k, col->offs, col->data, i))
		break;
	}
	case TD_DEC2: {
		int16_t *d = dst;
		EACH(d[k] = (int16_t)wide[i].lo)
		break;
	}
	case TD_DEC4: {
		int32_t *d = dst;
		EACH(d[k] = (int32_t)wide[i].lo)
		break;
	}
	case TD_DEC8: {
		int64_t *d = dst;
		EACH(d[k] = (int64_t)wide[i].lo)
		break;
	}
	case TD_UUID: put_uuid(dst, wide, r); break;
	case TD_LIST: put_list(s, c, col, vector, r); break;
	case TD_ARRAY: put_array(s, c, col, vector, r); break;
	case TD_STRUCT:
		for (uint32_t k = 0; k < col->nkids; k++)
			put(s, c, col->kids[k].kind, &col->kids[k], duckdb_struct_vector_get_child(vector, k), r);
		break;
	default: put_fixed(dst, col->data, kind, r); break;
	}
	if (col->valid)
		put_valid(vector, col->valid, r);
}

// live_rows writes the live rows of from..from+take to sel and returns how many.
static uint64_t live_rows(const uint8_t *live, uint64_t from, uint64_t take, uint32_t *sel) {
	uint64_t n = 0;
	for (uint64_t k = 0; k < take; k += 64) {
		uint64_t m = take - k < 64 ? take - k : 64, v = bits(live, from + k, m);
		for (; v; v &= v - 1)
			sel[n++] = (uint32_t)(from + k + (uint64_t)__builtin_ctzll(v));
	}
	return n;
}

// scan fills one vector per column with up to 2,048 live rows. It returns fewer, but at least one,
// at the end of a morsel, and none only when no morsel is left: to DuckDB an empty chunk is the end.
static void scan(void *info, void *out) {
	td_scan *s = duckdb_function_get_init_data(info);
	td_local *l = duckdb_function_get_local_init_data(info);
	uint32_t sel[VECTOR];
	uint64_t filled = 0;
	while (filled < VECTOR) {
		if (l->left == 0) {
			if (filled)
				break;
			uint64_t m = __atomic_fetch_add(&s->next, 1, __ATOMIC_RELAXED);
			if (m >= s->nmorsels)
				break;
			l->chunk = s->morsels[m].chunk;
			l->row = s->morsels[m].row;
			l->left = s->morsels[m].count;
			continue;
		}
		const td_chunk *c = &s->chunks[l->chunk];
		if (l->row == c->n) {
			l->chunk++;
			l->row = 0;
			continue;
		}
		uint64_t take = VECTOR - filled;
		if (take > l->left)
			take = l->left;
		if (take > c->n - l->row)
			take = c->n - l->row;
		td_run r = {l->row, take, filled, 0};
		if (c->live) {
			r.n = live_rows(c->live, l->row, take, sel);
			if (r.n < take)
				r.sel = sel;
		}
		l->row += take;
		l->left -= take;
		if (r.n == 0)
			continue;
		for (uint64_t k = 0; k < s->ncols; k++)
			put(s, (uint64_t)(c - s->chunks), s->kinds[k], &s->cols[(uint64_t)(c - s->chunks) * s->ncols + k],
			    duckdb_data_chunk_get_vector(out, k), &r);
		filled += r.n;
	}
	duckdb_data_chunk_set_size(out, filled);
}

void *td_bind_fn(void) { return (void *)tidemillBind; }
void *td_init_fn(void) { return (void *)tidemillInit; }
void *td_local_fn(void) { return (void *)local_init; }
void *td_scan_fn(void) { return (void *)scan; }
void *td_scan_free_fn(void) { return (void *)scan_free; }
void *td_bind_free_fn(void) { return (void *)bind_free; }
void *td_free_fn(void) { return (void *)free; }
