package state

import (
	"maps"
	"sync"
)

// Budget adds up the bytes that parts of the engine hold, by account (cells, index, images, pebble
// cache, queue). It decides nothing: the engine asks Over and evicts. It is safe for concurrent use.
type Budget struct {
	limit int64

	mu   sync.Mutex // guards the fields below
	used map[string]int64
	sum  int64
}

// NewBudget returns a budget of limit bytes.
func NewBudget(limit int64) *Budget {
	return &Budget{limit: limit, used: map[string]int64{}}
}

// Limit returns the bytes of the budget.
func (b *Budget) Limit() int64 { return b.limit }

// Set says that the account now holds bytes.
func (b *Budget) Set(account string, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sum += bytes - b.used[account]
	b.used[account] = bytes
}

// Reserve adds bytes, which may be negative, to the account if the budget then still holds, and
// reports whether it did. Giving bytes back always succeeds.
func (b *Budget) Reserve(account string, bytes int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes > 0 && b.sum+bytes > b.limit {
		return false
	}
	b.sum += bytes
	b.used[account] += bytes
	return true
}

// Used returns the bytes of all accounts.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sum
}

// Over returns by how many bytes the budget is exceeded; 0 or less means that it is not.
func (b *Budget) Over() int64 { return b.Used() - b.limit }

// Usage returns the bytes by account, a copy.
func (b *Budget) Usage() map[string]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.used)
}
