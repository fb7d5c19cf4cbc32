package viewtest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	stdruntime "runtime"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemill/runtime"
)

// Mismatch is a difference between the engine and the oracle.
type Mismatch struct {
	What      string
	Got, Want string
}

// Error shows both.
func (m *Mismatch) Error() string {
	if m.Got == "" && m.Want == "" {
		return m.What
	}
	return m.What + "\n got: " + m.Got + "\nwant: " + m.Want
}

func mismatch(got, want, format string, args ...any) error {
	return &Mismatch{What: fmt.Sprintf(format, args...), Got: got, Want: want}
}

// settings are the options of a case's engine.
type settings struct {
	Dir     string // on disk; empty for a file system in memory, which can crash
	Memory  int64
	Workers int
	Replay  time.Duration
}

// runner does operations on an engine and on the oracle, and compares them.
type runner struct {
	set       settings
	fs        *vfs.MemFS
	crashable bool
	e         *runtime.Engine
	o         *oracle
	relations []*relation
	producers map[string]*producer
	totals    *Totals
	lookups   *rand.Rand
}

// producer is what the engine must remember of one.
type producer struct {
	seq    uint64
	last   insert // the last append acknowledged
	commit uint64
	rel    uint32 // the table's id then
}

func newRunner(set settings, totals *Totals) (*runner, error) {
	x := &runner{set: set, producers: map[string]*producer{}, totals: totals, lookups: rand.New(rand.NewPCG(1, 2))}
	if set.Dir == "" {
		x.fs, x.crashable = vfs.NewCrashableMem(), true
	}
	var err error
	if x.o, err = openOracle(); err != nil {
		return nil, err
	}
	return x, x.open()
}

func (x *runner) open() error {
	o := runtime.Options{Dir: x.set.Dir, Memory: x.set.Memory, Workers: x.set.Workers, Replay: x.set.Replay, SegmentBytes: 1 << 20}
	if x.fs != nil {
		o.Dir, o.FS = "/data", x.fs
	}
	e, err := runtime.Open(o)
	if err != nil {
		return mismatch(err.Error(), "an open engine", "open")
	}
	x.e = e
	return nil
}

func (x *runner) close() error {
	defer x.o.close()
	if x.e == nil {
		return nil
	}
	return x.e.Close()
}

func (x *runner) find(name string) *relation {
	for _, r := range x.relations {
		if r.name == name {
			return r
		}
	}
	return nil
}

func (x *runner) followed(name string) bool {
	for _, r := range x.relations {
		if r.view != nil {
			for _, n := range r.view.reads {
				if n == name {
					return true
				}
			}
		}
	}
	return false
}

func (x *runner) size(table string) int {
	if rel := x.find(table); rel != nil {
		return len(rel.want)
	}
	return 0
}

// touch says that the oracle's answers for a table and what follows it are no longer those of before.
func (x *runner) touch(table string) {
	for _, rel := range x.relations {
		if rel.name == table || rel.bases[table] {
			rel.known = false
		}
	}
}

// do runs an operation; the error is a *Mismatch, or the oracle's own.
func (x *runner) do(op *operation) error {
	switch {
	case op.Table != nil:
		return x.createTable(op.Table)
	case op.Crash != nil:
		return x.crash(op)
	case op.View != nil:
		return x.createView(op.View)
	case op.Drop != "":
		return x.drop(op.Drop, op.Cascade)
	case op.Block != nil:
		return x.block(op.Block)
	case op.Change != nil, op.Insert != nil:
		if q, plain := x.statement(op); q != "" {
			return x.both(q, plain)
		}
	case op.Appends != nil:
		return x.append(op.Appends)
	case op.Restart:
		x.totals.Restarts++
		if err := x.e.Close(); err != nil {
			return mismatch(err.Error(), "", "close")
		}
		return x.open()
	case op.Save:
		if err := x.e.Checkpoint(context.Background()); err != nil {
			return mismatch(err.Error(), "", "checkpoint")
		}
	}
	return nil
}

// run executes a statement on the engine.
func (x *runner) run(q string) error {
	a, err := x.e.Execute(context.Background(), q)
	if err == nil && a.Rows != nil {
		a.Rows.Close()
	}
	return err
}

// both runs a change on both sides: one that one of them refuses is refused by the other.
func (x *runner) both(q string, oracle []string) error {
	x.totals.Made++
	err := x.run(q)
	if f := x.e.Err(); f != nil {
		return mismatch(f.Error(), "", "the engine stopped at %s", q)
	}
	want := x.o.atomic(oracle)
	if (err == nil) != (want == nil) {
		return mismatch(fmt.Sprint(err), fmt.Sprint(want), "outcome of %s", q)
	}
	if err == nil {
		x.totals.Accepted++
		x.totals.Commits++
	}
	return nil
}

func (x *runner) createTable(t *table) error {
	if x.find(t.Name) != nil {
		return nil
	}
	x.totals.Made++
	if err := x.run(t.ddl(true)); err != nil {
		return mismatch(err.Error(), "", "%s", t.ddl(true))
	}
	x.totals.Accepted++
	x.totals.Commits++
	x.relations = append(x.relations, t.relation())
	return x.o.exec(t.ddl(false))
}

func (x *runner) createView(v *view) error {
	if x.find(v.Name) != nil {
		return nil
	}
	for _, n := range v.reads {
		if x.find(n) == nil {
			return nil
		}
	}
	q := "CREATE MATERIALIZED VIEW " + v.Name + " AS " + v.Block.sql()
	want, oerr := x.o.types(v)
	if oerr != nil { // not SQL: the generator's fault
		x.totals.refused("the oracle's: "+oerr.Error(), q)
		return nil
	}
	x.totals.Made++
	err := x.run(q)
	if f := x.e.Err(); f != nil {
		return mismatch(f.Error(), "", "the engine stopped at %s", q)
	}
	if err != nil {
		x.totals.refused(err.Error(), q)
		return nil
	}
	x.totals.Accepted++
	x.totals.Commits++
	return x.adopt(v, want)
}

// adopt takes a view that the engine has into the relations, and gives it to the oracle.
func (x *runner) adopt(v *view, want []string) error {
	rel, err := x.e.Catalog().Lookup(v.Name)
	if err != nil {
		return mismatch(err.Error(), "", "the catalog has no %s", v.Name)
	}
	var got []string
	rep := &relation{name: v.Name, view: v, depth: v.depth}
	for i, f := range rel.Fields {
		got = append(got, f.Type.String())
		c := v.cols[i]
		c.typ = f.Type
		rep.cols = append(rep.cols, c)
	}
	if strings.Join(got, ",") != strings.Join(want, ",") {
		return mismatch(strings.Join(got, ","), strings.Join(want, ","), "types of %s AS %s", v.Name, v.Block.sql())
	}
	rep.bases, rep.pushes = map[string]bool{}, v.Block.pushes()
	for _, n := range v.reads {
		rep.bases[n] = true
		if under := x.find(n); under != nil {
			maps.Copy(rep.bases, under.bases)
		}
	}
	x.relations = append(x.relations, rep)
	return x.o.createView(v)
}

func (x *runner) drop(name string, cascade bool) error {
	rel := x.find(name)
	if rel == nil {
		return nil
	}
	kind, plain := "MATERIALIZED VIEW", "VIEW"
	if rel.table != nil {
		kind, plain = "TABLE", "TABLE"
	}
	x.totals.Made++
	q := "DROP " + kind + " " + name
	if cascade {
		q += " CASCADE"
	}
	err := x.run(q)
	if refused := !cascade && x.followed(name); refused != (err != nil) {
		return mismatch(fmt.Sprint(err), fmt.Sprintf("refused: %v", refused), "%s", q)
	} else if refused {
		return nil
	}
	x.totals.Accepted++
	x.totals.Commits++
	x.o.forget()
	var left []*relation
	for _, r := range slices.Backward(x.relations) { // views after what they read
		switch {
		case r == rel:
			if err := x.o.exec("DROP " + plain + " " + name); err != nil {
				return err
			}
		case r.bases[name]:
			if err := x.o.exec("DROP VIEW " + r.name); err != nil {
				return err
			}
			if _, err := x.read("SELECT * FROM " + r.name); err == nil {
				return mismatch("", "", "%s left %s", q, r.name)
			}
		default:
			left = append(left, r)
		}
	}
	slices.Reverse(left)
	x.relations = left
	return nil
}

// sent is an append on its way.
type sent struct {
	insert
	table *table
	seq   uint64
	first *producer // of a repeat
	rel   uint32
	res   runtime.AppendResult
	err   error
}

func (x *runner) prepare(ins []insert) []*sent {
	var out []*sent
	for _, in := range ins {
		rel := x.find(in.Table)
		if rel == nil {
			continue
		}
		s := &sent{insert: in, table: rel.table}
		if in.Producer != "" {
			p := x.producers[in.Producer]
			if p == nil {
				p = &producer{}
				x.producers[in.Producer] = p
			}
			s.seq = p.seq + 1
			switch {
			case in.Repeat && p.seq > 0 && x.find(p.last.Table) != nil:
				s.insert, s.table, s.seq, s.first = p.last, x.find(p.last.Table).table, p.seq, p
			case in.Gap:
				s.seq++
			}
		}
		for _, r := range x.e.Catalog().Relations() {
			if r.Name == s.table.Name {
				s.rel = r.ID
			}
		}
		out = append(out, s)
	}
	return out
}

func (x *runner) send(s *sent) {
	cat := x.e.Catalog().ByID(s.rel)
	req := runtime.AppendRequest{Relation: s.rel, Version: cat.Version, Cols: s.table.columns(s.Rows), N: len(s.Rows), Producer: s.Producer, Seq: s.seq}
	if s.Deleted != nil {
		req.Deleted = make([]byte, (len(s.Rows)+7)/8)
		for i, d := range s.Deleted {
			if d {
				req.Deleted[i/8] |= 1 << (i % 8)
			}
		}
	}
	h := fnv.New64()
	fmt.Fprint(h, s.Table, tuples(s.Rows), s.Deleted)
	req.Hash = h.Sum64()
	s.res, s.err = x.e.Append(context.Background(), req)
}

func (x *runner) append(ins []insert) error {
	all := x.prepare(ins)
	done := make(chan struct{})
	for _, s := range all {
		go func() { x.send(s); done <- struct{}{} }()
	}
	for range all {
		<-done
	}
	x.totals.Commits++
	for _, s := range all {
		if err := x.judge(s); err != nil {
			return err
		}
	}
	return x.replay(all)
}

// judge says whether the answer to an append is the right one.
func (x *runner) judge(s *sent) error {
	what := fmt.Sprintf("append of %d rows to %s by %q, seq %d", len(s.Rows), s.Table, s.Producer, s.seq)
	var gap *runtime.SeqError
	switch {
	case s.first != nil:
		if s.err != nil || !s.res.Duplicate || s.res.Commit != s.first.commit || s.res.Accepted != len(s.Rows) {
			return mismatch(fmt.Sprintf("%+v %v", s.res, s.err), fmt.Sprintf("a duplicate of commit %d", s.first.commit), "repeated %s", what)
		}
	case s.Producer != "" && s.seq > x.producers[s.Producer].seq+1:
		if !errors.As(s.err, &gap) || gap.Last != x.producers[s.Producer].seq {
			return mismatch(fmt.Sprintf("%+v %v", s.res, s.err), "a gap", "%s", what)
		}
	case s.err != nil || s.res.Duplicate || s.res.Accepted != len(s.Rows) || s.res.Commit == 0:
		return mismatch(fmt.Sprintf("%+v %v", s.res, s.err), "an acknowledgement", "%s", what)
	}
	return nil
}

// replay applies appends to the oracle in the order of their commits.
func (x *runner) replay(all []*sent) error {
	sort.SliceStable(all, func(i, j int) bool { return all[i].res.Commit < all[j].res.Commit })
	for _, s := range all {
		if s.first != nil || s.err != nil {
			continue
		}
		if s.Producer != "" {
			p := x.producers[s.Producer]
			p.seq, p.last, p.commit, p.rel = s.seq, s.insert, s.res.Commit, s.rel
		}
		x.touch(s.table.Name)
		var qs []string
		if s.table.Key == nil {
			qs = s.table.insert(s.table.all(), s.Rows)
		} else {
			qs = s.table.upserts(s.Rows, s.Deleted)
		}
		if err := x.o.atomic(qs); err != nil {
			return err
		}
	}
	return nil
}

// crash loses what is not synced while appends are on their way. Every append acknowledged by then must be there
// afterwards, and of the others those up to the commit that the engine recovered, no more and no less.
func (x *runner) crash(op *operation) error {
	if x.fs == nil {
		return x.append(op.Appends)
	}
	all := x.prepare(op.Appends)
	before := x.e.Commit()
	done := make(chan *sent, len(all))
	for _, s := range all {
		go func() { x.send(s); done <- s }()
	}
	saved := make(chan error, 1)
	if op.Crash.Save {
		go func() { saved <- x.e.Checkpoint(context.Background()) }()
	}
	born, types := x.bornInCrash(op.View)
	var acked []*sent
	for len(acked) < min(op.Crash.After, len(all)) {
		acked = append(acked, <-done)
	}
	for range op.Crash.Seed % 64 {
		stdruntime.Gosched()
	}
	clone := x.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: op.Crash.Percent, RNG: rand.New(rand.NewPCG(op.Crash.Seed, 1))})
	for range len(all) - len(acked) {
		<-done
	}
	if op.Crash.Save {
		if err := <-saved; err != nil {
			return mismatch(err.Error(), "", "checkpoint")
		}
	}
	if born != nil {
		<-born // refused or not: the catalog says whether it is there
	}
	if err := x.e.Close(); err != nil {
		return mismatch(err.Error(), "", "close of the crashed engine")
	}
	x.fs, x.e = clone, nil
	x.totals.Crashes++
	if err := x.open(); err != nil {
		return err
	}
	last := x.e.Commit()
	if last < before {
		return mismatch(fmt.Sprint(last), fmt.Sprint(before), "the crash lost acknowledged commits: recovered to")
	}
	for _, s := range acked {
		if s.err == nil && s.first == nil && s.res.Commit > last {
			return mismatch(fmt.Sprint(last), fmt.Sprint(s.res.Commit), "the crash lost an acknowledged append: recovered to")
		}
	}
	var there []*sent
	for _, s := range all {
		if err := x.judge(s); err != nil {
			return err
		}
	}
	for _, s := range all {
		if s.err == nil && s.res.Commit <= last {
			there = append(there, s)
		}
	}
	if err := x.replay(there); err != nil || born == nil {
		return err
	}
	if _, err := x.e.Catalog().Lookup(op.View.Name); err != nil {
		return nil
	}
	return x.adopt(op.View, types)
}

// bornInCrash begins to create a view; it returns nil when the view cannot be created.
func (x *runner) bornInCrash(v *view) (<-chan error, []string) {
	if v == nil || x.find(v.Name) != nil {
		return nil, nil
	}
	for _, n := range v.reads {
		if x.find(n) == nil {
			return nil, nil
		}
	}
	types, err := x.o.types(v)
	if err != nil {
		return nil, nil
	}
	born := make(chan error, 1)
	go func() { born <- x.run("CREATE MATERIALIZED VIEW " + v.Name + " AS " + v.Block.sql()) }()
	return born, types
}
