package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"airtuned/policies"
	"airtuned/sysfs"
	"airtuned/tuner"
)

// Error is one thing wrong with a configuration file.
type Error struct {
	File      string
	Line, Col int // 1-based; 0 when unknown
	Message   string
}

// Error prints FILE:LINE:COL: message.
func (e *Error) Error() string {
	s := e.File
	if e.Line > 0 {
		s += ":" + strconv.Itoa(e.Line)
		if e.Col > 0 {
			s += ":" + strconv.Itoa(e.Col)
		}
	}
	return s + ": " + e.Message
}

// Errors is everything wrong with a configuration file, in order; never empty.
type Errors []*Error

// Error is the first error and how many more there are: one line.
func (es Errors) Error() string {
	switch n := len(es) - 1; n {
	case 0:
		return es[0].Error()
	case 1:
		return es[0].Error() + " (and 1 more error)"
	default:
		return fmt.Sprintf("%v (and %d more errors)", es[0], n)
	}
}

// Unwrap gives errors.As each error.
func (es Errors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}

// The bounds of what a file may ask for. Below, a limit no longer holds one
// frame at a low rate; above, it no longer limits anything.
const (
	minLimit, maxLimit   = 50 * time.Microsecond, time.Second
	minSample, maxSample = time.Millisecond, time.Second
	maxWindow            = 10 * time.Second
)

// noTarget is the target that is no cap.
const noTarget = "none"

// Parse reads the text of a configuration file; name is for messages. The
// error, if any, is of type Errors.
func Parse(name string, b []byte) (Config, error) {
	p := parser{file: name}
	c := Default()
	if root := p.document(b); root != nil {
		p.config(root, &c)
	}
	if len(p.errs) > 0 {
		sort.SliceStable(p.errs, func(i, j int) bool { return p.errs[i].Line < p.errs[j].Line })
		return Config{}, p.errs
	}
	return c, nil
}

type parser struct {
	file string
	errs Errors
}

func (p *parser) errorf(n *yaml.Node, format string, args ...any) {
	p.errs = append(p.errs, &Error{p.file, n.Line, n.Column, fmt.Sprintf(format, args...)})
}

// yamlLine finds the line in an error of the YAML library, which keeps it in
// its text only.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// document returns the top node of the only document, nil if there is none.
func (p *parser) document(b []byte) *yaml.Node {
	fail := func(err error) *yaml.Node {
		e := &Error{File: p.file, Message: err.Error()}
		if m := yamlLine.FindStringSubmatch(e.Message); m != nil {
			e.Message = strings.TrimPrefix(e.Message, m[0])
			e.Line, _ = strconv.Atoi(m[1])
		}
		p.errs = append(p.errs, e)
		return nil
	}
	if !utf8.Valid(b) {
		return fail(errors.New("not UTF-8 text"))
	}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	var doc yaml.Node
	if err := dec.Decode(&doc); err == io.EOF {
		return nil
	} else if err != nil {
		return fail(err)
	}
	var second yaml.Node
	if err := dec.Decode(&second); err == nil {
		p.errorf(&second, "a second document: there can be only one")
		return nil
	} else if err != io.EOF {
		return fail(err)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || isNull(doc.Content[0]) {
		return nil
	}
	return doc.Content[0]
}

// key is one key of a mapping and what reads its value.
type key struct {
	name string
	read func(*yaml.Node)
}

// mapping reads the values of a mapping's keys, which must be among keys.
func (p *parser) mapping(n *yaml.Node, what string, keys ...key) {
	n = target(n)
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	if isNull(n) { // a section whose lines are all commented out
		return
	}
	if n.Kind != yaml.MappingNode {
		p.errorf(n, "%s must be a mapping (allowed keys: %s)", what, strings.Join(names, ", "))
		return
	}
	seen := make(map[string]int, len(keys))
	for i := 0; i+1 < len(n.Content); i += 2 {
		kn, vn := target(n.Content[i]), n.Content[i+1]
		j := slices.Index(names, kn.Value)
		if kn.Kind != yaml.ScalarNode || j < 0 {
			p.errorf(kn, "unknown key %q in %s (allowed: %s)", kn.Value, what, strings.Join(names, ", "))
			continue
		}
		if line, ok := seen[kn.Value]; ok {
			p.errorf(kn, "duplicate key %q in %s, first seen in line %d", kn.Value, what, line)
			continue
		}
		seen[kn.Value] = kn.Line
		keys[j].read(vn)
	}
}

func (p *parser) config(n *yaml.Node, c *Config) {
	var sample, window *yaml.Node
	p.mapping(n, "the configuration",
		key{"socket", func(n *yaml.Node) {
			p.mapping(n, "socket",
				key{"path", func(n *yaml.Node) { p.socketPath(n, &c.Socket.Path) }},
				key{"group", func(n *yaml.Node) { p.text(n, "group", &c.Socket.Group) }})
		}},
		key{"loop", func(n *yaml.Node) {
			p.mapping(n, "loop",
				key{"sample", func(n *yaml.Node) { sample = n; p.duration(n, "sample", minSample, maxSample, &c.Loop.Sample) }},
				key{"window", func(n *yaml.Node) { window = n; p.duration(n, "window", minSample, maxWindow, &c.Loop.Window) }})
		}},
		key{"sandbox", func(n *yaml.Node) { p.boolean(n, "sandbox", &c.Sandbox) }},
		key{"host", func(n *yaml.Node) {
			p.mapping(n, "host",
				key{"placement", func(n *yaml.Node) {
					p.oneOf(n, "placement", []string{PlacementAuto, PlacementOff}, &c.Host.Placement)
				}},
				key{"interfaces", func(n *yaml.Node) { p.interfaces(target(n), &c.Host.Interfaces) }})
		}},
		key{"radios", func(n *yaml.Node) { p.radios(target(n), c) }})
	if c.Loop.Sample > c.Loop.Window {
		at := sample
		if at == nil {
			at = window
		}
		p.errorf(at, "sample %v is longer than window %v", c.Loop.Sample, c.Loop.Window)
	}
}

func (p *parser) radios(n *yaml.Node, c *Config) {
	if isNull(n) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		p.errorf(n, "radios must be a list: each entry starts with \"- match: ...\"")
		return
	}
	for _, item := range n.Content {
		var r Rule
		p.rule(item, &r)
		c.Radios = append(c.Radios, r)
	}
}

// interfaces reads a list of names of netdevs.
func (p *parser) interfaces(n *yaml.Node, dst *[]string) {
	if isNull(n) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		p.errorf(n, "interfaces must be a list: [eth0, eth1]")
		return
	}
	for _, item := range n.Content {
		var name string
		if !p.text(item, "an interface", &name) {
			continue
		}
		if !sysfs.NetdevName(name) {
			p.errorf(target(item), "%q cannot be the name of an interface", name)
			continue
		}
		*dst = append(*dst, name)
	}
}

func (p *parser) rule(n *yaml.Node, r *Rule) {
	var minAt *yaml.Node
	p.mapping(n, "a radio's entry",
		key{"match", func(n *yaml.Node) { p.match(n, &r.Match) }},
		key{"policy", func(n *yaml.Node) { p.oneOf(n, "policy", policies.Names(), &r.Policy) }},
		key{"target", func(n *yaml.Node) {
			var d Duration
			if t := target(n); t.Kind == yaml.ScalarNode && t.Value == noTarget {
				r.Target = &d
			} else if p.duration(n, "target", minLimit, maxLimit, &d) {
				r.Target = &d
			}
		}},
		key{"limits", func(n *yaml.Node) {
			p.mapping(n, "limits",
				key{"min", func(n *yaml.Node) { minAt = n; p.duration(n, "min", minLimit, maxLimit, &r.Limits.Min) }},
				key{"max", func(n *yaml.Node) { p.duration(n, "max", minLimit, maxLimit, &r.Limits.Max) }})
		}},
		key{"threaded_napi", func(n *yaml.Node) {
			p.oneOf(n, "threaded_napi", threadedModes, (*string)(&r.ThreadedNAPI))
		}},
		key{"pacing_shift", func(n *yaml.Node) {
			p.oneOf(n, "pacing_shift", pacingShifts, (*string)(&r.PacingShift))
		}},
		key{"force", func(n *yaml.Node) { p.boolean(n, "force", &r.Force) }})
	if r.Limits.Max != 0 && r.Limits.Min > r.Limits.Max {
		p.errorf(minAt, "min %v is greater than max %v", r.Limits.Min, r.Limits.Max)
	}
}

var threadedModes = []string{
	string(tuner.ThreadedAuto), string(tuner.ThreadedOn), string(tuner.ThreadedOff), string(tuner.ThreadedLeave),
}

var pacingShifts = []string{string(tuner.PacingAuto), string(tuner.PacingLeave), "5", "6", "7", "8", "9", "10"}

func (p *parser) match(n *yaml.Node, m *Match) {
	if t := target(n); isNull(t) || t.Kind == yaml.MappingNode && len(t.Content) == 0 {
		p.errorf(t, "match is empty; leave it out to match every radio")
		return
	}
	p.mapping(n, "match",
		key{"chip", func(n *yaml.Node) { p.glob(n, "chip", &m.Chip) }},
		key{"driver", func(n *yaml.Node) { p.glob(n, "driver", &m.Driver) }},
		key{"bus", func(n *yaml.Node) { p.glob(n, "bus", &m.Bus) }},
		key{"path", func(n *yaml.Node) { p.glob(n, "path", &m.Path) }},
		key{"phy", func(n *yaml.Node) { p.glob(n, "phy", &m.Phy) }},
		key{"interface", func(n *yaml.Node) { p.glob(n, "interface", &m.Interface) }})
}

// text reads a scalar that is not empty.
func (p *parser) text(n *yaml.Node, what string, dst *string) bool {
	n = target(n)
	switch {
	case n.Kind != yaml.ScalarNode:
		p.errorf(n, "%s must be a single value", what)
	case isNull(n) || n.Value == "":
		p.errorf(n, "%s has no value", what)
	case strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!"):
		p.errorf(n, "%s has an unknown tag %s", what, n.Tag)
	default:
		*dst = n.Value
		return true
	}
	return false
}

func (p *parser) oneOf(n *yaml.Node, what string, allowed []string, dst *string) {
	var s string
	if !p.text(n, what, &s) {
		return
	}
	if !slices.Contains(allowed, s) {
		p.errorf(target(n), "unknown %s %q (allowed: %s)", what, s, strings.Join(allowed, ", "))
		return
	}
	*dst = s
}

func (p *parser) boolean(n *yaml.Node, what string, dst *bool) {
	var s string
	p.oneOf(n, what, []string{"true", "false"}, &s)
	if s != "" {
		*dst = s == "true"
	}
}

func (p *parser) duration(n *yaml.Node, what string, lo, hi time.Duration, dst *Duration) bool {
	var s string
	if !p.text(n, what, &s) {
		return false
	}
	d, err := policies.ParseDuration(s)
	if err != nil {
		p.errorf(target(n), "%s: %v", what, err)
		return false
	}
	if d < lo || d > hi {
		p.errorf(target(n), "%s %s is out of range (allowed: %v to %v)", what, s, Duration(lo), Duration(hi))
		return false
	}
	*dst = Duration(d)
	return true
}

func (p *parser) glob(n *yaml.Node, what string, dst *string) {
	var s string
	if !p.text(n, what, &s) {
		return
	}
	if _, err := path.Match(s, ""); err != nil {
		p.errorf(target(n), "%s: bad pattern %q (allowed: text with *, ? and [a-z]; a literal [ is written \\[)", what, s)
		return
	}
	*dst = s
}

// socketPath reads an absolute path that fits into sockaddr_un.
func (p *parser) socketPath(n *yaml.Node, dst *string) {
	var s string
	if !p.text(n, "path", &s) {
		return
	}
	const longest = 107 // sun_path without its NUL (uapi/linux/un.h)
	switch {
	case !path.IsAbs(s):
		p.errorf(target(n), "path %q is not absolute", s)
	case len(s) > longest:
		p.errorf(target(n), "path is longer than %d bytes", longest)
	default:
		*dst = s
	}
}

// target is the node an alias stands for.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }
