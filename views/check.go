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
			return &plan.Error{Construct: s.Func, Position: -1, Message: fmt.Sprintf("%s cannot be used in a materialized view", s.Describe()),
				Hint: "cast the argument to a type of which it is maintained, such as DOUBLE"}
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
	for _, e := range a.Args {
		s.Args = append(s.Args, e.Type)
	}
	for _, o := range a.Order {
		s.Order = append(s.Order, agg.Order{Type: o.Expr.Type, Desc: o.Desc, NullsFirst: o.NullsFirst})
	}
	if p := a.Params; p != nil {
		s.Params = agg.Params{Separator: p.Separator, Desc: p.Desc, List: p.List}
		for _, q := range p.Quantiles {
			s.Params.Quantiles = append(s.Params.Quantiles, agg.Quantile(q))
		}
	}
	return s
}
