package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"tidemill/cmd/tidemill/internal/client"
)

// Options say how the server is shown.
type Options struct {
	Where    string
	Interval time.Duration
	// Count is how often; 0 is until the user leaves.
	Count int
	// In and Out are the terminal; without one, Out gets one picture after the other.
	In      *os.File
	Out     io.Writer
	Screen  bool
	Size    func() (width, height int)
	Unicode bool
	Color   bool
}

// Sequences of terminals.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// Run shows the server until the context ends, the count is reached, or the user presses q. A server that goes
// away is waited for; the error is that of a server that was never there.
func Run(ctx context.Context, c *client.Client, o Options) error {
	keys, restore, err := o.terminal()
	if err != nil {
		return err
	}
	defer restore()
	v := view{where: o.Where, unicode: o.Unicode, color: o.Color, order: byName}
	var before *sample
	ticker := time.NewTicker(o.Interval)
	defer ticker.Stop()
	for n := 1; ; n++ {
		now, err := take(ctx, c, time.Now)
		if err != nil && (before == nil || ctx.Err() != nil) {
			return ignoreCancelled(ctx, err)
		}
		if err != nil {
			o.show(fmt.Sprintf("the server is away: %v\n", err))
		} else {
			v.width, v.height = o.Size()
			o.show(render(before, now, v) + o.footer())
		}
		if n == o.Count {
			return nil
		}
		for waiting := true; waiting; {
			select {
			case <-ticker.C:
				waiting = false
			case <-ctx.Done():
				return nil
			case k := <-keys:
				switch {
				case k == 'q' || k == 'Q' || k == 3 || k == 4:
					return nil
				case strings.ContainsRune("nrms", rune(k)):
					v.order = order(k)
					if now != nil {
						o.show(render(before, now, v) + o.footer())
					}
				}
			}
		}
		if now != nil {
			before = now
		}
	}
}

func ignoreCancelled(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (o *Options) footer() string {
	if !o.Screen {
		return ""
	}
	return "q quits; sort by n name, r rows, m memory, s speed\n"
}

// show replaces what is on the screen.
func (o *Options) show(text string) {
	if !o.Screen {
		fmt.Fprintln(o.Out, text)
		return
	}
	lines := strings.ReplaceAll(text, "\n", clearLine+"\r\n")
	_, _ = io.WriteString(o.Out, home+lines+clearBelow) // a terminal that is gone ends the program by its signal
}

// terminal takes the screen and the keyboard over, until restore.
func (o *Options) terminal() (keys <-chan byte, restore func(), err error) {
	if !o.Screen {
		return nil, func() {}, nil
	}
	fd := int(o.In.Fd())
	state, err := term.MakeRaw(fd)
	if err != nil {
		return nil, nil, fmt.Errorf("take the terminal over: %w", err)
	}
	_, _ = io.WriteString(o.Out, enterScreen)
	pressed := make(chan byte)
	go func() { // ends with the program: a read of a terminal cannot be stopped
		buf := make([]byte, 1)
		for {
			if n, err := o.In.Read(buf); err != nil || n == 0 {
				return
			}
			pressed <- buf[0]
		}
	}()
	return pressed, func() {
		_, _ = io.WriteString(o.Out, leaveScreen)
		_ = term.Restore(fd, state)
	}, nil
}
