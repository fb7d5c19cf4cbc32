package table

import "slices"

// minWidth is what a column that must give way keeps at least: a few characters and the ellipsis.
const minWidth = 6

// layout decides which columns are shown and how wide each is.
type layout struct {
	shown  []int // indexes of columns; -1 stands for those left out
	widths []int // of each shown one
}

// fit fits columns of the wanted widths into a terminal, with pad columns of it around each and edge at the end;
// width 0 is without bound. The widest give way first; when not even that suffices, columns in the middle are
// left out.
func fit(wanted []int, width, pad, edge int) layout {
	l := layout{widths: slices.Clone(wanted)}
	for i := range wanted {
		l.shown = append(l.shown, i)
	}
	if width <= 0 {
		return l
	}
	for {
		room := width - edge - pad*len(l.shown)
		least := 0
		for i, c := range l.shown {
			l.widths[i] = 1
			if c >= 0 {
				l.widths[i] = wanted[c]
			}
			least += min(l.widths[i], minWidth)
		}
		if least <= room || len(l.shown) <= 2 {
			shrink(l.widths, max(room, len(l.shown)))
			return l
		}
		l.leaveOut()
	}
}

// leaveOut takes the middle column away.
func (l *layout) leaveOut() {
	gap := slices.Index(l.shown, -1)
	if gap < 0 {
		l.shown[len(l.shown)/2] = -1
		return
	}
	at := gap + 1 // as many stay at the left as at the right, or one more
	if gap > len(l.shown)-1-gap || at == len(l.shown) {
		at = gap - 1
	}
	l.shown = slices.Delete(l.shown, at, at+1)
	l.widths = l.widths[:len(l.shown)]
}

// left is how many of n columns are left out.
func (l *layout) left(n int) int {
	if slices.Contains(l.shown, -1) {
		return n - len(l.shown) + 1
	}
	return 0
}

// shrink lowers the largest widths to one that makes the sum fit.
func shrink(widths []int, room int) {
	for sum(widths) > room {
		most, next := slices.Max(widths), 1
		if most <= 1 {
			return
		}
		n := 0
		for _, w := range widths {
			if w == most {
				n++
			} else {
				next = max(next, w)
			}
		}
		over := sum(widths) - room
		to := max(next, most-(over+n-1)/n, 1)
		left := over - n*(most-to) // columns that need not go down all the way, when negative
		for i := range widths {
			if widths[i] != most {
				continue
			}
			widths[i] = to
			if left < 0 && to < most {
				widths[i]++
				left++
			}
		}
	}
}

func sum(v []int) int {
	s := 0
	for _, n := range v {
		s += n
	}
	return s
}
