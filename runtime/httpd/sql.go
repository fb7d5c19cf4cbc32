package httpd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"tidemill/runtime"
	"tidemill/views/catalog"
)

// sql answers POST /sql: all statements of the body in order, with the answer of the last. GET /sql takes one that
// changes nothing, from the query string.
func (s *Server) sql(c *call) error {
	q := sqlRequest{timeout: s.opts.StatementTimeout}
	if err := q.readSQLParams(c.r); err != nil {
		return err
	}
	if c.r.Method == http.MethodPost {
		if err := s.readSQLBody(c, &q); err != nil {
			return err
		}
	} else if !q.hasQuery {
		return badRequest("there is no statement", "ask for /sql?q=SELECT+1, or POST the statement")
	}
	if err := q.checkText(); err != nil {
		return err
	}
	units := catalog.Units(q.text)
	if len(units) == 0 {
		return &Problem{Status: http.StatusBadRequest, Slug: "bad-sql", SQLState: "42601",
			Detail: "there is no statement", Hint: "send SQL text, such as SELECT 1"}
	}
	if len(units) > 1 && (len(q.params) > 0 || q.hasQuery) {
		return badRequest("there are %d statements", "parameters and GET are for one statement: send them one by one", len(units))
	}
	ctx, cancel := s.statementContext(c, &q)
	defer cancel()
	return s.statements(ctx, c, &q, units)
}

// statements runs the statements and answers the last.
func (s *Server) statements(ctx context.Context, c *call, q *sqlRequest, units []catalog.Unit) error {
	for i, unit := range units {
		answer, err := s.engine.Run(ctx, runtime.Statement{SQL: q.text[unit.Start:unit.End], Params: q.params, MaxAge: q.maxAge, Access: c.accessTo(q)})
		if err == nil && i == len(units)-1 {
			// The first rows may fail as the statement itself may: the answer begins when they are there.
			err = s.answer(c, answer, q)
		} else if err == nil {
			discard(answer)
		}
		if err != nil {
			if c.started {
				return err
			}
			return s.statementError(timedOut(ctx, err, q), q, i, units)
		}
	}
	return nil
}

// accessTo is what the statements of a request may do: with GET they only read.
func (c *call) accessTo(q *sqlRequest) runtime.Access {
	if q.hasQuery {
		return runtime.ToRead
	}
	return c.access
}

// errTimeout is the cause of a context that ended by timeout_ms.
var errTimeout = errors.New("the statement's time is over")

func (s *Server) statementContext(c *call, q *sqlRequest) (context.Context, context.CancelFunc) {
	if q.timeout <= 0 {
		return c.r.Context(), func() {}
	}
	return context.WithTimeoutCause(c.r.Context(), q.timeout, errTimeout)
}

// timedOut tells a statement that its own bound ended from one that was cancelled.
func timedOut(ctx context.Context, err error, q *sqlRequest) error {
	if !errors.Is(context.Cause(ctx), errTimeout) || !errors.Is(err, errTimeout) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &Problem{Status: http.StatusRequestTimeout, Slug: "timeout", SQLState: "57014",
		Detail: fmt.Sprintf("the statement took longer than %v", q.timeout),
		Hint:   "give a larger timeout_ms, or ask for less; a change that was on its way may have been made"}
}

// discard drops the answer of a statement that is not the last.
func discard(a *runtime.Answer) {
	if a.Rows != nil {
		a.Rows.Close()
	}
}

// statementError completes the error of unit i with its place in the whole text, and says what became of the others.
func (s *Server) statementError(err error, q *sqlRequest, i int, units []catalog.Unit) error {
	text := q.text
	if e, ok := errors.AsType[*runtime.AccessError](err); ok && q.hasQuery {
		err = &Problem{Status: http.StatusBadRequest, Slug: "not-supported", SQLState: "0A000",
			Detail: "GET does not run " + e.Statement, Hint: "GET is for what reads: send it with POST"}
	}
	p := s.translate(err)
	p.locate(text, units[i].Start)
	last := units[len(units)-1]
	if total := last.First + last.Statements - 1; total > 1 {
		p.Statement = units[i].First
		if e, ok := errors.AsType[*runtime.BlockError](err); ok {
			p.Statement += e.Statement - 1
			p.Hint = strings.TrimPrefix(p.Hint+"; nothing of its transaction was applied", "; ")
		}
		p.Detail = fmt.Sprintf("statement %d of %d: %s", p.Statement, total, p.Detail)
		if i > 0 {
			p.Hint = strings.TrimPrefix(p.Hint+"; the statements before it were carried out", "; ")
			if units[i].Statements > 1 {
				p.Hint = strings.Replace(p.Hint, "the statements before it were", "the statements before BEGIN were", 1)
			}
		}
	}
	return p
}
