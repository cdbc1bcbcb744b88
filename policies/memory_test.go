package policies

import (
	"errors"
	"reflect"
	"testing"
	"time"
)

// What a policy remembers is all of it: one that recalls it decides on as the
// first does, whenever it takes over, even when its clock is another one.
func TestMemory(t *testing.T) {
	for _, name := range Names() {
		for _, at := range []int{0, 1, 7, 60, 300} {
			plant := newPlant(1200)
			plant.stations = 3
			p, err := New(name, Params{})
			if err != nil {
				t.Fatal(err)
			}
			plant.run(p, time.Duration(at)*200*time.Millisecond)
			q, err := New(name, Params{})
			if err != nil {
				t.Fatal(err)
			}
			const later = time.Hour
			b := Memory(p, plant.now)
			if err := Recall(q, plant.now.Add(later), b); err != nil {
				t.Fatalf("%s after %d: %v", name, at, err)
			}
			if again := Memory(q, plant.now.Add(later)); string(again) != string(b) {
				t.Errorf("%s after %d: recalled %x, want %x", name, at, again, b)
			}
			for i := range 300 {
				o := plant.window()
				late := *o
				late.Now = late.Now.Add(later)
				d, e := p.Decide(o), q.Decide(&late)
				if !reflect.DeepEqual(d, e) {
					t.Fatalf("%s after %d: decision %d is %+v, want %+v", name, at, i, e, d)
				}
				plant.limits = d.Limits
			}
		}
	}
}

// A memory of something else is refused, and so is what is no memory.
func TestMemoryOfAnother(t *testing.T) {
	delay, _ := New("delay", Params{})
	dql, _ := New("dql", Params{})
	b := Memory(delay, time.Time{})
	if err := Recall(dql, time.Time{}, b); !errors.Is(err, ErrMemory) {
		t.Errorf("dql recalls what delay knew: %v", err)
	}
	for n := range b {
		p, _ := New("delay", Params{})
		if err := Recall(p, time.Time{}, b[:n]); !errors.Is(err, ErrMemory) {
			t.Errorf("%d of %d bytes: %v", n, len(b), err)
		}
	}
	if err := Recall(delay, time.Time{}, append(b, 0)); !errors.Is(err, ErrMemory) {
		t.Errorf("too much: %v", err)
	}
	static, _ := New("static", Params{})
	if err := Recall(static, time.Time{}, b); !errors.Is(err, ErrMemory) {
		t.Errorf("static recalls what delay knew: %v", err)
	}
}

func FuzzRecall(f *testing.F) {
	p, _ := New("delay", Params{})
	plant := newPlant(1200)
	plant.run(p, 10*time.Second)
	f.Add(Memory(p, plant.now))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, _ := New("delay", Params{})
		_ = Recall(p, time.Time{}, b)
	})
}
