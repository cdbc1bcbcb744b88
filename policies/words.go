package policies

import (
	"fmt"
	"math"
)

// What the policies say while nothing can be learnt, and while nothing is to be
// done.
const (
	noDemand = "holding: nothing waits to be sent"
	holding  = "holding: neither too much nor too little is queued, as far as is known"
)

// words are what delay says about its limit, and what it only needs for that.
// They have no part in the law.
type words struct {
	// half is what half as much was last seen to cost at L, twice what twice as
	// much gained there, of ln E.
	half, twice outcome
	// text says what of.
	of   saying
	text string
}

type outcome struct {
	lnE   float64
	known bool
}

// tried takes in what a trial at half or twice L gained.
func (w *words) tried(k kind, gain float64) {
	if k == doubled {
		w.twice = outcome{gain, true}
	} else {
		w.half = outcome{-gain, true}
	}
}

// followed notes that L went to where the trial was: the way back is known.
func (w *words) followed(k kind, gain float64) {
	if k == doubled {
		w.half = outcome{gain, true}
	} else {
		w.twice = outcome{-gain, true}
	}
}

// saying is what a text depends on, as far as it shows.
type saying struct {
	idle, searching, resting, least, most bool
	kind                                  kind
	limitUs                               uint32 // while another is tried
	less, more, half, twice               permille
}

// permille is a change of throughput as it is shown, in tenths of a per cent; 0
// is unknown, and one more than nothing is nothing.
type permille int16

// gained is what a larger limit gains, costs what a smaller one costs.
func gained(lnE float64, known bool) permille { return shown(math.Exp(lnE)-1, known) }
func costs(lnE float64, known bool) permille  { return shown(1-math.Exp(-lnE), known) }

func shown(part float64, known bool) permille {
	if !known {
		return 0
	}
	return 1 + permille(math.Round(1000*min(max(part, 0), 30)))
}

func (p permille) String() string {
	if p == 1 {
		return "nothing"
	}
	return fmt.Sprintf("%d.%d %%", (p-1)/10, (p-1)%10)
}

// reason says in the log and in status what the limit is for. The text is made
// anew only when it is another.
func (d *delay) reason(o *Observation) string {
	w := &d.words
	of := saying{
		idle: !o.demand(), searching: d.phase != stepping, kind: d.trial.kind,
		half: costs(w.half.lnE, w.half.known), twice: gained(w.twice.lnE, w.twice.known),
	}
	if of.kind != atL {
		of.limitUs = uint32(d.limitUs)
	}
	if !of.searching {
		of.less, of.more = costs(d.less.mean, d.less.n > 0), gained(d.more.mean, d.more.n > 0)
		of.least, of.most, of.resting = !d.room(below), !d.room(above), d.rest > 0
	}
	if of != w.of || w.text == "" {
		w.of, w.text = of, of.String()
	}
	return w.text
}

func (s saying) String() string {
	text := "still measuring"
	switch {
	case s.idle:
		text = noDemand
	case s.kind == below, s.kind == between:
		text = fmt.Sprintf("trying a little less than %d us", s.limitUs)
	case s.kind == above:
		text = fmt.Sprintf("trying a little more than %d us", s.limitUs)
	case s.kind == halved:
		text = fmt.Sprintf("trying half of %d us", s.limitUs)
	case s.kind == doubled:
		text = fmt.Sprintf("trying twice %d us", s.limitUs)
	case s.searching:
		text = "searching for the least limit that costs no throughput"
	case s.resting:
		text = "found by measuring"
	}
	less := side("less", "costs", " of the throughput", s.less, "half as much", s.half)
	more := side("more", "gains", "", s.more, "twice as much", s.twice)
	if s.least {
		less = "less is not allowed"
	}
	if s.most {
		more = "more is not allowed"
	}
	switch {
	case less != "" && more != "":
		less += ", " + more
	case less == "":
		less = more
	}
	if less == "" {
		return text
	}
	return text + "; " + less
}

// side is what is known of the limits on one side of L: of the step next to it
// and of the factor of two.
func side(step, does, what string, known permille, leap string, leapKnown permille) string {
	s := ""
	switch {
	case known > 0:
		if s = step + " " + does + " " + known.String(); known > 1 {
			s += what
		}
		if leapKnown > 0 {
			s += " (" + leap + ": " + leapKnown.String() + ")"
		}
	case leapKnown > 0:
		if s = leap + " " + does + " " + leapKnown.String(); leapKnown > 1 {
			s += what
		}
	}
	return s
}
