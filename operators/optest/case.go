// Package optest puts operators through histories that are hard on them. It is for tests only.
//
// A test states a Case: the columns of the operator's inputs, how to open the operator over a state
// database, and what its output is, as a plain function of everything that its inputs hold. Run makes
// histories of weighted rows from a seed and plays each in many ways (see variants): in batches of 1, 2, 7 and
// all rows; with every row inserted and retracted besides; with each commit voided first; with the state
// written, evicted and read back, or reopened. After every commit
//
//   - the sum of the output deltas is what the plain function says, and so is the sum of the rejects;
//   - no row of either has a negative weight;
//   - Snapshot shows that output, and Lookup each of its rows, and no row for other keys;
//
// and at the end the bytes of the state are the same whichever way was taken: they are a function of the rows
// alone.
//
// An operator with several inputs gets them one after the other, both ways round, and in turns.
package optest

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"tidemill/operators"
	"tidemill/operators/zset"
	"tidemill/state"
	"tidemill/state/column"
	"tidemill/state/image"
)

var (
	seedFlag = flag.Uint64("optest.seed", 1, "seed of the histories; 0 takes a new one")
	allFlag  = flag.Bool("optest.all", false, "play every case in all ways, not in every third")
)

// every returns of how many ways a case is played in one.
func every() uint64 {
	switch {
	case *allFlag:
		return 1
	case testing.Short():
		return 6
	}
	return 3
}

// Operator is what Run steps. Aggregate and Linear adapt those of package operators.
type Operator interface {
	Begin(commit uint64, born bool) error
	// Add takes a batch of the delta of one of the inputs.
	Add(input int, b *zset.Batch, rejects *operators.Rejects) error
	Finish(wanted bool, rejects *operators.Rejects) (*zset.Batch, error)
	Publish()
	Void()
	Caches() []operators.Cache
}

// Relation is an Operator that keeps its output and can show it.
type Relation interface {
	Operator
	Snapshot() (*image.Snapshot, error)
}

// Keyed is a Relation whose first columns are a key by which a row is found.
type Keyed interface {
	Relation
	Lookup(key []column.Column, published *atomic.Uint64) ([]column.Column, error)
}

// Input is the rows of one input.
type Input struct {
	Fields []column.Field
	// Values has, for columns that are to take their values from it, a column of them; others take
	// random ones, edges of their type, long texts and NULLs among them.
	Values map[int]column.Column
}

// Case is an operator under test.
type Case struct {
	Inputs []Input
	// Open returns the operator over the state in db. Its keyspaces begin at Keyspace.
	Open func(db *state.DB) (Operator, error)
	// Want returns the output for what the inputs hold: consolidated batches, with no rows when they hold
	// none. It adds the rows that are rejected to bad.
	Want func(in []*zset.Batch, bad *operators.Rejects) *zset.Batch
	// Keys is how many columns of a Keyed operator's output are its key.
	Keys int
}

// Keyspace is the first keyspace of a case's operator.
const Keyspace = 1

// Run plays histories through the operator, in every third of the ways, with -short in every sixth, with -optest.all
// in all. Which third is the case's own, by its name, so that many cases have all. Failures name the seed, which
// -optest.seed takes.
func Run(t *testing.T, c Case) {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-optest.seed %d", seed)
	hash := fnv.New64a()
	hash.Write([]byte(t.Name()))
	begin := hash.Sum64() + seed
	for k, many := range []bool{false, true} {
		h := generate(rand.New(rand.NewPCG(seed, uint64(k))), c.Inputs, many)
		name := "few"
		if many {
			name = "many"
		}
		t.Run(name, func(t *testing.T) {
			state, first := "", ""
			for i, v := range variants {
				if v.order != 0 && len(c.Inputs) < 2 || (uint64(i)+begin)%every() != 0 {
					continue
				}
				p := &play{t: t, c: &c, v: v, rand: rand.New(rand.NewPCG(seed, 2))}
				got := p.run(v.churn.apply(h))
				if state == "" {
					state, first = got, v.name
				}
				if got != state {
					t.Fatalf("%s: the state differs from that of %s:\n%s\nagainst\n%s", v.name, first, got, state)
				}
			}
		})
	}
}

// Aggregate adapts an aggregate.
func Aggregate(a *operators.Aggregate) Keyed { return aggregate{a} }

type aggregate struct{ *operators.Aggregate }

func (a aggregate) Add(_ int, b *zset.Batch, rejects *operators.Rejects) error {
	return a.Aggregate.Add(b, rejects)
}

// Linear adapts an operator without state.
func Linear(op operators.Linear) Operator { return &linear{op: op} }

type linear struct {
	op  operators.Linear
	out []*zset.Batch
}

func (l *linear) Begin(uint64, bool) error  { l.out = nil; return nil }
func (l *linear) Publish()                  {}
func (l *linear) Void()                     {}
func (l *linear) Caches() []operators.Cache { return nil }

func (l *linear) Add(_ int, b *zset.Batch, rejects *operators.Rejects) error {
	if !l.op.Fallible() {
		rejects = nil // a row that is added would panic
	}
	out, err := l.op.Apply(b, rejects)
	if out != nil && out.N == 0 {
		return fmt.Errorf("an empty batch instead of nil")
	}
	l.out = append(l.out, out)
	return err
}

func (l *linear) Finish(bool, *operators.Rejects) (*zset.Batch, error) {
	return zset.Concat(l.out...), nil
}
