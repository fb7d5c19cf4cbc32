package views

import "errors"

// ErrNoKey says that a relation cannot be looked up by key: a table without a primary key, or a view
// whose rows are not those of one grouping or keyed table with all key columns shown.
var ErrNoKey = errors.New("the relation has no key")

// ErrTooManyOperators says that a view's operators need more keyspaces than a relation has.
var ErrTooManyOperators = errors.New("the view has too many aggregates")
