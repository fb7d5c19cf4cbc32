// Package httpd is the HTTP door: SQL, appends, lookups, health and metrics. HTTP.md beside it documents
// every call, header and error.
//
// What it promises. A body is decoded once, straight into columns. Answers are streamed: memory stays flat
// whatever their size, and an answer that could not be completed ends with a broken connection, never
// with a whole-looking one. Every refusal is application/problem+json, made in one place
// (errors.go), and says what, where and what next. Whatever a client sends, it gets a 4xx for its own
// faults, and it cannot hold a connection, a snapshot or admitted memory by sending or reading slowly.
//
// What it does not do: it keeps no state, starts no goroutine for a request beside net/http's own,
// authenticates nobody (listen on loopback, or behind a proxy that does), and speaks HTTP/1.1 without TLS.
//
//	POST /sql            sql.go     catalog.Units -> Run -> stream.go -> jsonrows.go, csvrows.go, arrowrows.go or parquetrows.go
//	POST /append/{t}     append.go  body.go -> decode -> Append
//	GET  /lookup/{r}/{k} lookup.go  LookupRow -> one row as JSON
package httpd
