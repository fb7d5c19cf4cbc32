package views

import (
	"fmt"

	"tidemill/operators/agg"
	"tidemill/views/plan"
)

// CheckAggregates refuses a plan with an aggregate of a type that is not maintained. The error is a
// *plan.Error.
func CheckAggregates(n *plan.Node) error {
	for i := range n.Aggs {
		s := aggregateSpec(&n.Aggs[i])
		if _, err := agg.New(s, nil); err != nil {
			return &plan.Error{Construct: s.Func, Position: -1, Message: fmt.Sprintf("%s(%s) cannot be used in a materialized view", s.Func, s.Arg),
				Hint: "maintained are count, sum and avg of numbers, min and max"}
		}
	}
	for _, in := range n.Inputs {
		if err := CheckAggregates(in); err != nil {
			return err
		}
	}
	return nil
}

func aggregateSpec(a *plan.Agg) agg.Spec {
	s := agg.Spec{Func: a.Func, Distinct: a.Distinct, Result: a.Type}
	if len(a.Args) > 0 {
		s.Arg = a.Args[0].Type
	}
	return s
}
