package main

import (
	"os"

	"golang.org/x/term"
)

// isScreen reports whether somebody looks at w, or types at it.
func isScreen(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// isTerminal reports whether f is shown to somebody who sees colours.
func isTerminal(f *os.File) bool {
	return isScreen(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && os.Getenv("TERM") != ""
}

// terminalWidth returns the columns of a terminal, 0 for what is none.
func terminalWidth(f *os.File) int {
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return w
}
