package policies

import (
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

func TestParseDuration(t *testing.T) {
	tests := []struct {
		in   string
		want time.Duration
		text string // what String gives back; "" for in
	}{
		{"1500us", 1500 * time.Microsecond, ""},
		{"8ms", 8 * time.Millisecond, ""},
		{"2s", 2 * time.Second, ""},
		{"0us", 0, ""},
		{"0s", 0, "0us"},
		{"8000us", 8 * time.Millisecond, "8ms"},
		{"1.5ms", 1500 * time.Microsecond, "1500us"},
		{"0.1s", 100 * time.Millisecond, "100ms"},
		{"86400s", 24 * time.Hour, ""},
	}
	for _, tt := range tests {
		got, err := ParseDuration(tt.in)
		if err != nil || got != tt.want {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v", tt.in, got, err, tt.want)
		}
		if tt.text == "" {
			tt.text = tt.in
		}
		if s := Duration(got).String(); s != tt.text {
			t.Errorf("%q prints as %q, want %q", tt.in, s, tt.text)
		}
	}
	for _, in := range []string{
		"", "8", "ms", "8 ms", " 8ms", "8ms ", "-8ms", "+8ms", "8m", "8h", "8MS", "8µs", "8ns",
		"1s500ms", "1,5ms", ".5ms", "5.ms", "1..5ms", "1.2.3ms", "1e3us", "0x8ms",
		"0.5us", "0.0001ms", "1.0000001s", "86401s", "99999999999999999999us", "8ms\x00",
	} {
		got, err := ParseDuration(in)
		if err == nil {
			t.Errorf("ParseDuration(%q) = %v, want an error", in, got)
		}
	}
	if _, err := ParseDuration("8"); err == nil || !strings.Contains(err.Error(), "us, ms or s") {
		t.Errorf("the error for a missing unit is %v, want one that names the units", err)
	}
}

func TestDurationYAML(t *testing.T) {
	var v struct{ A, B Duration }
	if err := yaml.Unmarshal([]byte("a: 1500us\nb: 8ms\n"), &v); err != nil {
		t.Fatal(err)
	}
	out, err := yaml.Marshal(v)
	if err != nil || string(out) != "a: 1500us\nb: 8ms\n" {
		t.Errorf("round trip gives %q, %v", out, err)
	}
	for _, text := range []string{"a: 1ms\nb: 5\n", "a: 1ms\nb: [5ms]\n", "a: 1ms\nb: 5h\n"} {
		if err := yaml.Unmarshal([]byte(text), &v); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: error %v, want one that names line 2", text, err)
		}
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"1500us", "8ms", "2s", "0.000001s", "8", "1h", "-1ms", "1.5.5ms"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDuration(s)
		if err != nil {
			return
		}
		if d < 0 || d%time.Microsecond != 0 {
			t.Fatalf("ParseDuration(%q) = %v", s, d)
		}
		if again, err := ParseDuration(Duration(d).String()); err != nil || again != d {
			t.Fatalf("%q is %v, printed %q, read back %v, %v", s, d, Duration(d), again, err)
		}
	})
}
