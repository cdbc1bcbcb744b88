package policies

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// kernelDQL is lib/dynamic_queue_limits.c of Linux 6.1, statement by statement:
// the oracle that dynamicLimit is held against. Jiffies are milliseconds.
type kernelDQL struct {
	numQueued, lastObjCnt                     uint32
	limit, numCompleted                       uint32
	prevOvlimit, prevNumQueued, prevLastObj   uint32
	lowestSlack, slackStartTime               uint32
	maxLimit, minLimit, slackHoldTime, jiffie uint32
}

func posdiff(a, b uint32) uint32 {
	if int32(a-b) > 0 {
		return a - b
	}
	return 0
}

func (d *kernelDQL) queued(count uint32) {
	d.lastObjCnt = count
	d.numQueued += count
}

func (d *kernelDQL) avail() int32 { return int32(d.limit + d.numCompleted - d.numQueued) }

func (d *kernelDQL) completed(count uint32) {
	numQueued := d.numQueued
	completed := d.numCompleted + count
	limit := d.limit
	ovlimit := posdiff(numQueued-d.numCompleted, limit)
	inprogress := numQueued - completed
	prevInprogress := d.prevNumQueued - d.numCompleted
	allPrevCompleted := int32(completed-d.prevNumQueued) >= 0
	if (ovlimit != 0 && inprogress == 0) || (d.prevOvlimit != 0 && allPrevCompleted) {
		limit += posdiff(completed, d.prevNumQueued) + d.prevOvlimit
		d.slackStartTime = d.jiffie
		d.lowestSlack = math.MaxUint32
	} else if inprogress != 0 && prevInprogress != 0 && !allPrevCompleted {
		slack := posdiff(limit+d.prevOvlimit, 2*(completed-d.numCompleted))
		slackLastObjs := uint32(0)
		if d.prevOvlimit != 0 {
			slackLastObjs = posdiff(d.prevLastObj, d.prevOvlimit)
		}
		slack = max(slack, slackLastObjs)
		d.lowestSlack = min(d.lowestSlack, slack)
		if int32(d.slackStartTime+d.slackHoldTime-d.jiffie) < 0 {
			limit = posdiff(limit, d.lowestSlack)
			d.slackStartTime = d.jiffie
			d.lowestSlack = math.MaxUint32
		}
	}
	limit = min(max(limit, d.minLimit), d.maxLimit)
	if limit != d.limit {
		d.limit = limit
		ovlimit = 0
	}
	d.prevOvlimit = ovlimit
	d.prevLastObj = d.lastObjCnt
	d.numCompleted = completed
	d.prevNumQueued = numQueued
}

// seen is the completion that the kernel is about to see.
func (d *kernelDQL) seen(count uint32) completion {
	completed := d.numCompleted + count
	return completion{
		over:             float64(posdiff(d.numQueued-d.numCompleted, d.limit)),
		prevOver:         float64(d.prevOvlimit),
		inProgress:       float64(d.numQueued - completed),
		prevInProgress:   float64(d.prevNumQueued) - float64(d.numCompleted),
		allPrevCompleted: int32(completed-d.prevNumQueued) >= 0,
		completed:        float64(count),
		sentAndCompleted: float64(posdiff(completed, d.prevNumQueued)),
		prevLastObject:   float64(d.prevLastObj),
	}
}

// Where windows are single completions, dynamicLimit is the kernel's algorithm.
func TestDynamicLimitIsTheKernels(t *testing.T) {
	taken := map[verdict]int{}
	moved := 0
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 7))
		k := kernelDQL{minLimit: 0, maxLimit: 200000, slackHoldTime: 50, lowestSlack: math.MaxUint32}
		ours := dynamicLimit{min: 0, max: 200000, hold: 50 * time.Millisecond}
		start := time.Unix(0, 0)
		ours.reset(start, 0)
		ours.ramp = false
		service := uint32(3000)
		for i := range 4000 {
			k.jiffie += uint32(rng.IntN(4))
			if i%500 == 0 {
				service = 1500 << rng.IntN(6)
			}
			// The sender fills the queue, with pauses.
			for rng.IntN(10) > 0 && k.avail() >= 0 {
				k.queued(64 + uint32(rng.IntN(6000)))
			}
			count := min(k.numQueued-k.numCompleted, service/2+uint32(rng.IntN(int(service))))
			before := k.limit
			c := k.seen(count)
			k.completed(count)
			v := ours.take(start.Add(time.Duration(k.jiffie)*time.Millisecond), c)
			taken[v]++
			if k.limit != before {
				moved++
			}
			if ours.limit != float64(k.limit) {
				t.Fatalf("seed %d, step %d, %+v: limit %v, the kernel's is %d (was %d)", seed, i, c, ours.limit, k.limit, before)
			}
		}
	}
	for _, v := range []verdict{idle, starved, fed} {
		if taken[v] < 1000 {
			t.Errorf("branch %d was taken %d times: the sequences do not test it", v, taken[v])
		}
	}
	if moved < 1000 {
		t.Errorf("the limit moved %d times only", moved)
	}
}

// A queue that needs 1000 objects, on a device that sends and completes 30 of
// them between two interrupts: 34 steps by the kernel's growth, 7 on the ramp,
// which ends where the queue is first fed.
func TestRamp(t *testing.T) {
	feed := func(ramp bool) (steps int, d dynamicLimit) {
		d = dynamicLimit{max: 1e6, hold: time.Second}
		d.reset(time.Time{}, 1)
		d.ramp = ramp
		for ; d.limit < 1000; steps++ {
			d.take(time.Time{}, completion{over: 1, sentAndCompleted: 30})
		}
		return steps, d
	}
	if steps, d := feed(false); steps != 34 || d.limit != 1021 {
		t.Errorf("without the ramp: %d steps to %v", steps, d.limit)
	}
	steps, d := feed(true)
	if steps != 7 || d.limit < 1000 || d.limit >= 2000 {
		t.Errorf("with it: %d steps to %v", steps, d.limit)
	}
	fed1 := completion{over: 1, inProgress: 900, prevInProgress: 900, completed: 30}
	if v := d.take(time.Time{}, fed1); v != fed || d.ramp {
		t.Errorf("a fed queue: verdict %v, ramp %v", v, d.ramp)
	}
	before := d.limit
	if d.take(time.Time{}, completion{over: 1, sentAndCompleted: 30}); d.limit != before+30 {
		t.Errorf("after the ramp: from %v to %v, want 30 more", before, d.limit)
	}
}
