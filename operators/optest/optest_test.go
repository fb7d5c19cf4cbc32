package optest_test

import (
	"testing"

	"tidemill/operators"
	"tidemill/operators/optest"
	"tidemill/operators/zset"
	"tidemill/state"
	"tidemill/state/column"
)

// unionAll is the rows of both inputs.
type unionAll struct{ parts []*zset.Batch }

func (u *unionAll) Begin(uint64, bool) error  { u.parts = nil; return nil }
func (u *unionAll) Publish()                  {}
func (u *unionAll) Void()                     {}
func (u *unionAll) Caches() []operators.Cache { return nil }

func (u *unionAll) Add(_ int, b *zset.Batch, _ *operators.Rejects) error {
	u.parts = append(u.parts, b)
	return nil
}

func (u *unionAll) Finish(bool, *operators.Rejects) (*zset.Batch, error) {
	return zset.Consolidate(zset.Concat(u.parts...)), nil
}

// TestTwoInputs plays an operator with two inputs.
func TestTwoInputs(t *testing.T) {
	fields := []column.Field{
		{Name: "a", Type: column.T(column.Int32), NotNull: true}, {Name: "b", Type: column.T(column.Varchar)},
	}
	optest.Run(t, optest.Case{
		Inputs: []optest.Input{{Fields: fields}, {Fields: fields}},
		Open:   func(*state.DB) (optest.Operator, error) { return &unionAll{}, nil },
		Want: func(in []*zset.Batch, _ *operators.Rejects) *zset.Batch {
			return zset.Concat(in[0], in[1])
		},
	})
}
