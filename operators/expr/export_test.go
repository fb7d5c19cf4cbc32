package expr

import "tidemill/state/column"

// NativeKinds is a kernel's signature for the tests' generators.
type NativeKinds struct {
	Func string
	Args []column.Kind
	Ret  column.Kind
}

// AllNatives returns every kernel's signature.
func AllNatives() []NativeKinds {
	var out []NativeKinds
	for _, family := range families {
		for _, n := range family() {
			out = append(out, NativeKinds{n.name, n.args, n.ret})
		}
	}
	return out
}

// HasKernel tells whether e's own node is evaluated here.
func HasKernel(e *Expr) bool { return hasKernel(e) }
