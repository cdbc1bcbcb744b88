package browsertest

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	live = `document.querySelector('#link').dataset.state === 'live'`
	away = `document.querySelector('#link').dataset.state === 'away'`
	// rows are the stations shown.
	rows = `[...document.querySelectorAll('.stations tbody tr .mac')].map(e => e.textContent)`
	// lines are the charts' curves.
	lines = `[...document.querySelectorAll('.chart .series')].map(e => e.getAttribute('d') ?? '')`
	// labels are what a screen reader says of the charts.
	labels = `[...document.querySelectorAll('.chart svg')].map(e => e.getAttribute('aria-label') ?? '')`
	// entries are the lines of the decision log.
	entries = `[...document.querySelectorAll('.decisions li')].map(e => e.textContent)`
)

// moves waits until every curve has a few points, and then is another one.
func moves(b *browser) {
	b.t.Helper()
	b.until(lines + `.every(d => d.split('L').length > 3)`)
	b.js(`window.before = ` + lines + `; true`)
	b.until(lines + `.every((d, i) => d !== window.before[i])`)
}

func status(t *testing.T, url string) int {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	return r.StatusCode
}

// TestPage clicks through the page while the world changes behind it.
func TestPage(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	b := open(t)
	server := serve(t, socket)

	// No daemon yet: the page says so, and waits.
	b.do(chromedp.Navigate(server))
	b.until(away)
	if got := status(t, server+"/healthz"); got != http.StatusServiceUnavailable {
		t.Errorf("healthz without a daemon: %d", got)
	}
	sim := start(t, t.Output(), "simd", "-socket", socket, "-scenario", "four-fast", "-spare", "1")
	b.until(live)
	if got := status(t, server+"/healthz"); got != http.StatusOK {
		t.Errorf("healthz: %d", got)
	}
	b.until(rows + `.length === 4`)
	if got := eval[string](b, `document.querySelector('h2').textContent`); got != "QCA9984, phy0" {
		t.Errorf("the radio is called %q", got)
	}

	// The charts move, and say in words what they show.
	moves(b)
	b.until(labels + `.length === 3 && ` + labels + `.every(l => /, now: .*\d/.test(l))`)
	b.until(`document.querySelector('[data-tile=throughput]').textContent.match(/[1-9][\d.]* Mb\/s/)`)
	b.until(`document.querySelector('[data-tile=stations]').textContent.trim() === '4 of 4'`)

	// The decisions and their reasons, the latest first.
	b.until(entries + `.length >= 2 && ` + entries + `.some(l => /limit BE .* → .* ms and 3 more/.test(l))`)
	newest := eval[string](b, entries+`[0]`)
	b.js(`window.newest = ` + entries + `[0]; true`)
	b.until(entries + `[0] !== window.newest`)
	if got := eval[[]string](b, entries); got[0] == newest {
		t.Errorf("the log did not grow: %q", got)
	}

	// A station that joins appears, and one that leaves is gone.
	sim.tell("join 4")
	b.until(rows + `.includes('02:00:00:00:01:04')`)
	b.until(`document.querySelector('[data-tile=stations]').textContent.includes('of 5')`)
	sim.tell("leave 4")
	b.until(`!` + rows + `.includes('02:00:00:00:01:04')`)

	// Another span of time, and the value at one.
	b.do(chromedp.Click(chromedp.CSS(`.spans button[data-minutes="1"]`)))
	b.until(`document.querySelector('.spans [aria-pressed=true]').dataset.minutes === '1'`)
	b.until(`[...document.querySelectorAll('.chart')].every(c => [...c.querySelectorAll('.axis')].some(e => e.textContent === '−1 min'))`)
	b.do(chromedp.Focus(chromedp.CSS(`.chart svg`)), chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent(kb.ArrowLeft))
	b.until(labels + `[0].includes(', at ')`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until(labels + `[0].includes(', now')`)
	box := eval[struct{ X, Y float64 }](b, `(({x, y, width, height}) => ({X: x + width * .99, Y: y + height / 2}))(document.querySelectorAll('.chart svg')[2].getBoundingClientRect())`)
	b.do(chromedp.MouseEvent(chromedp.MouseMoved, box.X, box.Y))
	b.until(labels + `[2].includes(', at ')`)
	b.do(chromedp.MouseEvent(chromedp.MouseMoved, 1, 1))
	b.until(labels + `[2].includes(', now')`)

	looks(b)

	// The daemon goes and another one comes: the page lives through it.
	sim.stop()
	b.until(away)
	b.until(entries + `[0].includes('the daemon is away')`)
	if got := status(t, server+"/healthz"); got != http.StatusServiceUnavailable {
		t.Errorf("healthz while the daemon is away: %d", got)
	}
	start(t, t.Output(), "simd", "-socket", socket, "-scenario", "four-fast", "-seed", "2")
	b.until(live)
	b.until(entries + `.some(l => l.includes('the daemon was started anew'))`)
	b.until(rows + `.length === 4`)
	moves(b)

	// A page that is opened later knows the past.
	before := eval[int](b, entries+`.length`)
	b.do(chromedp.Reload())
	b.until(live)
	if got := eval[int](b, entries+`.length`); got < before {
		t.Errorf("%d decisions after a reload, %d before", got, before)
	}
	b.check(server)
}

// looks holds that the page fits devices and can be read, light and dark.
func looks(b *browser) {
	b.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		if got := eval[bool](b, `matchMedia('(prefers-color-scheme: dark)').matches`); got != (scheme == "dark") {
			b.t.Fatalf("the browser is not %s", scheme)
		}
		// WCAG 2.1 AA asks for 4.5 of text.
		for _, bad := range eval[[]string](b, contrast) {
			b.t.Errorf("%s: hard to read: %s", scheme, bad)
		}
	}
	b.scheme("light")
	for _, width := range []int64{320, 390, 768, 1280, 1920} {
		b.size(width, 800, 1)
		b.until(`document.documentElement.clientWidth === ` + strconv.FormatInt(width, 10))
		if over := eval[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
			b.t.Errorf("%d pixels wide, the page sticks out by %d", width, over)
		}
	}
	b.size(1280, 900, 1)
}

// contrast lists the texts whose colour is too close to what is behind them.
const contrast = `(() => {
	const channel = c => (c /= 255) <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4;
	const numbers = s => s.match(/[\d.]+/g).map(Number);
	const light = ([r, g, b]) => .2126 * channel(r) + .7152 * channel(g) + .0722 * channel(b);
	const behind = e => {
		for (; e; e = e.parentElement) {
			const c = numbers(getComputedStyle(e).backgroundColor);
			if (c.length < 4 || c[3] > 0) return c;
		}
		return [255, 255, 255];
	};
	const bad = new Set();
	for (const e of document.querySelectorAll('body *')) {
		const own = [...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.data.trim());
		if (!own || !e.getClientRects().length || ['SCRIPT', 'TEMPLATE', 'NOSCRIPT'].includes(e.tagName)) continue;
		const style = getComputedStyle(e);
		const [x, y] = [light(numbers(e instanceof SVGElement ? style.fill : style.color)), light(behind(e))];
		const ratio = (Math.max(x, y) + .05) / (Math.min(x, y) + .05);
		if (ratio < 4.5) bad.add(e.tagName + '.' + e.getAttribute('class') + ' ' + ratio.toFixed(2));
	}
	return [...bad];
})()`

// TestScreenshots takes the pictures of the documentation, where asked to.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("-screenshots DIR takes them; see make web-screenshots")
	}
	socket := filepath.Join(t.TempDir(), "s")
	b := open(t)
	server := serve(t, socket)
	sim := start(t, t.Output(), "simd", "-socket", socket, "-scenario", "fast-and-slow", "-spare", "3")
	b.do(chromedp.Navigate(server))
	b.until(live)
	seconds := func(n int) string {
		return `document.querySelector('.chart .series').getAttribute('d').split('L').length > ` + strconv.Itoa(n)
	}
	b.until(seconds(60))
	for _, join := range []string{"join 4", "join 5"} {
		sim.tell(join)
	}
	b.until(seconds(120))
	sim.tell("rate 0 65000")
	b.until(seconds(165))
	for _, shot := range []struct {
		name, scheme  string
		width, height int64
		scale         float64
	}{
		{"light", "light", 1280, 900, 1},
		{"dark", "dark", 1280, 900, 1},
		{"phone", "dark", 390, 844, 1.5},
	} {
		b.size(shot.width, shot.height, shot.scale)
		b.scheme(shot.scheme)
		b.until(`document.documentElement.clientWidth === ` + strconv.FormatInt(shot.width, 10))
		b.js(`window.before = ` + lines + `; true`)
		b.until(lines + `.every((d, i) => d !== window.before[i])`)
		png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(*screenshots, shot.name+".png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.check(server)
}
