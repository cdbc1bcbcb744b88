package wlan

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAC(t *testing.T) {
	for i, name := range []string{"VO", "VI", "BE", "BK"} {
		ac := ACs[i]
		if int(ac) != i || ac.String() != name {
			t.Errorf("ACs[%d] is %d, %s; want %s", i, ac, ac, name)
		}
		if got, ok := ParseAC(name); !ok || got != ac {
			t.Errorf("ParseAC(%q) = %v, %v", name, got, ok)
		}
		if got, ok := ParseAC([]byte(name)); !ok || got != ac {
			t.Errorf("ParseAC([]byte(%q)) = %v, %v", name, got, ok)
		}
	}
	for _, name := range []string{"", "V", "vo", "VOX", "MC", "AC4"} {
		if ac, ok := ParseAC(name); ok {
			t.Errorf("ParseAC(%q) = %v", name, ac)
		}
	}
	if s := AC(NumAC).String(); s != "AC4" {
		t.Errorf("AC(4) prints as %q", s)
	}
}

func TestParseACDoesNotAllocate(t *testing.T) {
	name := []byte("BK")
	if n := testing.AllocsPerRun(10, func() { ParseAC(name) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The list that the kernel documents for its debugfs files.
func TestTIDToAC(t *testing.T) {
	want := [16]AC{2, 3, 3, 2, 1, 1, 0, 0, 2, 3, 3, 2, 1, 1, 0, 0}
	if diff := cmp.Diff(want, TIDToAC); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLimits(t *testing.T) {
	if s := (Limit{LowUs: 5000, HighUs: 1<<32 - 1}).String(); s != "5000/4294967295" {
		t.Errorf("limit prints as %q", s)
	}
	want := Limits{AC: [NumAC]Limit{{7, 7}, {7, 7}, {7, 7}, {7, 7}}, ThresholdUs: 9}
	if diff := cmp.Diff(want, Uniform(7, 9)); diff != "" {
		t.Errorf("Uniform (-want +got):\n%s", diff)
	}
	b, err := json.Marshal(Limit{LowUs: 1, HighUs: 2})
	if string(b) != `{"low_us":1,"high_us":2}` || err != nil {
		t.Errorf("JSON is %s, error %v", b, err)
	}
}

func TestMAC(t *testing.T) {
	want := MAC{0x02, 0x00, 0x5e, 0xab, 0xcd, 0xff}
	for _, s := range []string{"02:00:5e:ab:cd:ff", "02:00:5E:AB:CD:FF"} {
		got, err := ParseMAC(s)
		if got != want || err != nil {
			t.Errorf("ParseMAC(%q) = %v, %v", s, got, err)
		}
		if got.String() != "02:00:5e:ab:cd:ff" {
			t.Errorf("prints as %s", got)
		}
	}
	for _, s := range []string{"", "02:00:5e:ab:cd", "02:00:5e:ab:cd:ff:00", "02-00-5e-ab-cd-ff", "02:00:5e:ab:cd:fg",
		"02:00:5e:ab:cd:+f", "0x:00:5e:ab:cd:ff", "0_:00:5e:ab:cd:ff", "02:00:5e:ab:cd: f", "020:05e:ab:cd:ff"} {
		if got, err := ParseMAC(s); !errors.Is(err, ErrMAC) || got != (MAC{}) {
			t.Errorf("ParseMAC(%q) = %v, %v", s, got, err)
		}
	}
}

func TestMACInJSON(t *testing.T) {
	want := map[MAC]MAC{{1}: {2}}
	b, err := json.Marshal(want)
	if string(b) != `{"01:00:00:00:00:00":"02:00:00:00:00:00"}` || err != nil {
		t.Errorf("JSON is %s, error %v", b, err)
	}
	var got map[MAC]MAC
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := json.Unmarshal([]byte(`{"x":"y"}`), &got); !errors.Is(err, ErrMAC) {
		t.Errorf("error %v", err)
	}
}

func FuzzParseMAC(f *testing.F) {
	f.Add("02:00:5e:ab:cd:ff")
	f.Add("02:00:5E:AB:CD:+F")
	f.Fuzz(func(t *testing.T, s string) {
		m, err := ParseMAC(s)
		if err != nil {
			return
		}
		if again, err := ParseMAC(m.String()); err != nil || again != m {
			t.Errorf("%q became %s became %s, error %v", s, m, again, err)
		}
	})
}
