// The page of airtuned-web. The server streams what the daemon says, once a
// second: at first all there is ("all"), then what is new ("news"). This draws
// it, and changes nothing.
'use strict';

const keepMs = 10 * 60 * 1000; // of the charts
const keepLog = 300; // lines, of each radio
const gapMs = 3500; // points further apart are not joined
const fewStations = 12; // up to so many, idle ones are shown as well

const $ = (selector, root = document) => root.querySelector(selector);

// make creates an element with attributes and children; text is only ever text.
function make(name, attributes = {}, ...children) {
	const svg = ['svg', 'path', 'line', 'text', 'rect', 'g'].includes(name);
	const e = svg ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
	for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
	e.append(...children);
	return e;
}

// put sets a text if it is another one, so that nothing is drawn in vain.
function put(e, text) {
	if (e.textContent !== text) e.textContent = text;
}

// Numbers for people.

const few = (v) => (v >= 99.95 ? v.toFixed(0) : v >= 9.995 ? v.toFixed(1) : v.toFixed(2));
const ms = (us) => `${few(us / 1000)} ms`;
const mbps = (kbps) => `${few(kbps / 1000)} Mb/s`;
const clock = (at) => new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });

function limitText(l) {
	if (!l) return '–';
	return l.low_us === l.high_us ? ms(l.high_us) : `${few(l.low_us / 1000)}–${ms(l.high_us)}`;
}

function span(seconds) {
	const s = Math.floor(seconds);
	if (s < 60) return `${s} s`;
	if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
	if (s < 172800) return `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min`;
	return `${Math.floor(s / 86400)} days`;
}

// A chart: a figure with a legend that has the latest values, or those under
// the cursor, and lines over time.

const edge = { left: 42, right: 8, top: 14, bottom: 20 };

class Chart {
	// series are {name, color, area, dashed, step, value(point) -> number or null}
	constructor(title, unit, series) {
		this.title = title;
		this.unit = unit;
		this.series = series;
		this.points = [];
		this.cursor = null; // a time
		this.svg = make('svg', { role: 'img', tabindex: '0' });
		this.grid = make('g', { 'aria-hidden': 'true' });
		this.svg.append(this.grid);
		const legend = make('ul', { class: 'legend' });
		for (const s of series) {
			s.label = make('b');
			legend.append(make('li', {}, make('span', { class: `swatch ${s.color}` }), `${s.name} `, s.label));
			if (s.area) this.svg.append((s.areaPath = make('path', { class: `area ${s.color}` })));
			this.svg.append((s.path = make('path', { class: `series ${s.color}${s.dashed ? ' dashed' : ''}` })));
		}
		this.line = make('line', { class: 'cursor', visibility: 'hidden' });
		this.svg.append(this.line);
		this.figure = make('figure', { class: 'chart' }, make('figcaption', {}, make('h3', {}, title), legend), this.svg);
		new ResizeObserver(() => this.draw()).observe(this.svg);
		this.svg.addEventListener('pointermove', (e) => this.point(this.timeAt(e.offsetX)));
		this.svg.addEventListener('pointerleave', () => this.point(null));
		this.svg.addEventListener('blur', () => this.point(null));
		this.svg.addEventListener('keydown', (e) => {
			const steps = { ArrowLeft: -1000, ArrowRight: 1000, PageUp: -10000, PageDown: 10000 };
			if (e.key === 'Escape') this.point(null);
			else if (e.key in steps) {
				e.preventDefault();
				this.point(Math.min(this.now, Math.max(this.now - this.span, (this.cursor ?? this.now) + steps[e.key])));
			}
		});
	}

	show(points, now, span) {
		Object.assign(this, { points, now, span });
		this.draw();
	}

	point(time) {
		this.cursor = time;
		this.draw();
	}

	timeAt(x) {
		return this.now - this.span * (1 - (x - edge.left) / Math.max(1, this.width - edge.left - edge.right));
	}

	draw() {
		this.width = this.svg.clientWidth;
		this.height = this.svg.clientHeight;
		if (!this.now || !this.width) return;
		const from = this.now - this.span;
		const shown = this.points.filter((p) => p.t >= from - gapMs);
		const values = shown.flatMap((p) => this.series.map((s) => s.value(p) ?? 0)).sort((a, b) => a - b);
		const ticks = scale(topOf(values));
		const top = ticks[ticks.length - 1];
		const x = (t) => edge.left + ((t - from) / this.span) * (this.width - edge.left - edge.right);
		const y = (v) => this.height - edge.bottom - (Math.min(v, top * 1.03) / top) * (this.height - edge.top - edge.bottom);

		this.svg.setAttribute('viewBox', `0 0 ${this.width} ${this.height}`);
		this.drawGrid(ticks, x, y, from);
		this.drawBeyond(shown, top, x);
		for (const s of this.series) {
			const parts = outline(shown, s, x, y, from);
			s.path.setAttribute('d', parts.map((p) => `M${p.map((q) => q.join(' ')).join('L')}`).join(''));
			if (s.area) {
				const floor = y(0).toFixed(1);
				s.areaPath.setAttribute('d', parts.map((p) => `M${p[0][0]} ${floor}L${p.map((q) => q.join(' ')).join('L')}L${p[p.length - 1][0]} ${floor}Z`).join(''));
			}
		}
		this.tell(shown, x);
	}

	drawGrid(ticks, x, y, from) {
		const parts = [];
		for (const v of ticks) {
			const at = Math.round(y(v));
			parts.push(make('line', { class: 'grid', x1: edge.left, x2: this.width - edge.right, y1: at, y2: at }));
			parts.push(make('text', { class: 'axis', x: edge.left - 6, y: at + 4, 'text-anchor': 'end' }, tidy(v)));
		}
		for (let i = 0; i <= 3; i++) {
			const t = from + (this.span * i) / 3;
			const back = Math.round((this.now - t) / 1000);
			const text = back === 0 ? 'now' : back % 60 === 0 ? `−${back / 60} min` : `−${back} s`;
			const anchor = i === 0 ? 'start' : i === 3 ? 'end' : 'middle';
			parts.push(make('text', { class: 'axis', x: x(t).toFixed(1), y: this.height - 5, 'text-anchor': anchor }, text));
		}
		const unit = make('text', { class: 'axis', x: edge.left + 4, y: edge.top + 12 }, this.unit);
		this.grid.replaceChildren(...parts, unit);
	}

	// drawBeyond names what is too high to be drawn.
	drawBeyond(shown, top, x) {
		let last = -Infinity;
		for (const p of shown) {
			const highest = this.series.reduce((a, b) => ((b.value(p) ?? 0) > (a.value(p) ?? 0) ? b : a));
			const v = highest.value(p) ?? 0;
			if (v <= top * 1.03 || p.t - last < this.span / 6) continue;
			last = p.t;
			const at = x(p.t);
			const left = at > edge.left + 60;
			this.grid.append(make('text', { class: `axis beyond ${highest.color}`, x: (at + (left ? -4 : 4)).toFixed(1), y: edge.top - 1, 'text-anchor': left ? 'end' : 'start' }, `▲ ${few(v)}`));
		}
	}

	// tell writes the latest values, or those under the cursor, into the legend.
	tell(shown, x) {
		let p = shown[shown.length - 1];
		if (p && this.now - p.t > gapMs) p = undefined;
		if (this.cursor !== null && shown.length > 0) {
			p = shown.reduce((a, b) => (Math.abs(b.t - this.cursor) < Math.abs(a.t - this.cursor) ? b : a));
			const at = x(p.t).toFixed(1);
			for (const [k, v] of Object.entries({ x1: at, x2: at, y1: edge.top, y2: this.height - edge.bottom, visibility: 'visible' })) this.line.setAttribute(k, v);
		} else {
			this.line.setAttribute('visibility', 'hidden');
		}
		const words = this.series.map((s) => {
			const v = p && s.value(p);
			put(s.label, v === null || v === undefined ? '–' : few(v));
			return `${s.name} ${s.label.textContent} ${this.unit}`;
		});
		const when = this.cursor !== null && p ? `at ${clock(p.t)}` : 'now';
		this.svg.setAttribute('aria-label', `${this.title}, ${when}: ${words.join(', ')}`);
	}
}

// outline is a series as lines of pixels, broken where there is nothing.
function outline(points, s, x, y, from) {
	const parts = [];
	let part = null;
	let last = 0;
	for (const p of points) {
		const v = s.value(p);
		if (v === null || v === undefined) {
			part = null;
			continue;
		}
		const px = x(Math.max(p.t, from)).toFixed(1);
		const py = y(v).toFixed(1);
		if (!part || p.t - last > gapMs) parts.push((part = []));
		else if (s.step) part.push([px, part[part.length - 1][1]]);
		part.push([px, py]);
		last = p.t;
	}
	return parts;
}

// topOf is how high a chart should reach for these values, sorted: to the highest,
// unless that would make all others flat.
function topOf(values) {
	const highest = values[values.length - 1] ?? 0;
	const most = values[Math.floor(values.length * 0.97)] ?? 0;
	return highest > 3 * most && most > 0 ? 1.5 * most : highest;
}

// scale is round numbers from 0 to at least v.
function scale(v) {
	const rough = Math.max(v * 1.08, 1e-3) / 4;
	const unit = 10 ** Math.floor(Math.log10(rough));
	const step = unit * [1, 2, 2.5, 5, 10].find((m) => m * unit >= rough);
	const out = [];
	for (let i = 0; i === 0 || out[i - 1] < v; i++) out.push(step * i);
	return out.length > 1 ? out : [0, step];
}

const tidy = (v) => String(Number(v.toPrecision(6)));

// One radio's part of the page.

class RadioView {
	constructor(path) {
		this.path = path;
		this.points = [];
		this.stations = new Map(); // MAC -> row
		this.all = false; // idle stations as well
		this.root = $('#radio-template').content.firstElementChild.cloneNode(true);
		this.root.dataset.radio = path;
		this.log = $('.decisions ol', this.root);
		this.tiles = {};
		for (const dd of this.root.querySelectorAll('[data-tile]')) this.tiles[dd.dataset.tile] = dd;
		const kilo = (key) => (p) => (p[key] === null ? null : p[key] / 1000);
		this.charts = [
			new Chart('Latency in the hardware queue', 'ms', [
				{ name: '95 %, last minute', color: 'orange', dashed: true, value: kilo('residency_p95_us') },
				{ name: 'mean', color: 'blue', area: true, value: kilo('residency_us') },
			]),
			new Chart('Queued for a busy station, and its limit', 'ms', [
				{ name: 'limit', color: 'orange', step: true, value: kilo('limit_us') },
				{ name: 'queued', color: 'blue', area: true, value: kilo('pending_us') },
			]),
			new Chart('Throughput', 'Mb/s', [{ name: 'all stations', color: 'teal', area: true, value: kilo('throughput_kbps') }]),
		];
		$('.charts', this.root).append(...this.charts.map((c) => c.figure));
		this.more = $('.more', this.root);
		this.more.addEventListener('click', () => {
			this.all = !this.all;
			this.showStations();
		});
	}

	add(points) {
		this.points.push(...points);
		const from = (this.points[this.points.length - 1]?.t ?? 0) - keepMs - gapMs;
		const old = this.points.findIndex((p) => p.t >= from);
		if (old > 0) this.points.splice(0, old);
	}

	enter(entries) {
		const lines = entries.filter((e) => e.radio === this.path || e.radio === '').map(logLine);
		this.log.prepend(...lines.reverse());
		while (this.log.children.length > keepLog) this.log.lastElementChild.remove();
	}

	show(r, fresh) {
		this.status = r;
		put($('h2', this.root), r.chip ? `${r.chip}, ${r.phy}` : r.phy);
		const where = r.interfaces.map((i) => (i.type ? `${i.name} (${i.type})` : i.name)).join(', ');
		put($('.what', this.root), [r.driver, where, `policy ${r.policy}`].filter(Boolean).join(' · '));
		const badge = $('.state .badge', this.root);
		badge.dataset.state = r.state;
		put(badge, r.state);
		put($('.reason', this.root), r.reason);

		const tile = (name, value, unit, more = '') => {
			const dd = this.tiles[name];
			const text = `${value} ${unit} ${more}`;
			if (dd.textContent === text) return;
			dd.replaceChildren(`${value} `, make('small', {}, `${unit} ${more}`));
		};
		const res = r.residency_us;
		if (res.p95 > 0) tile('residency', few(res.mean / 1000), 'ms', `· 95 %: ${few(res.p95 / 1000)}`);
		else tile('residency', '–', '');
		tile('throughput', few((this.points[this.points.length - 1]?.throughput_kbps ?? r.throughput_kbps) / 1000), 'Mb/s');
		const be = (r.aql.limits ?? {}).BE;
		if (be) tile('limit', limitText(be).replace(' ms', ''), 'ms');
		else tile('limit', '–', '');
		tile('stations', r.active_stations, `of ${r.stations.length}`);
		tile('backlog', r.backlog_packets ?? '–', 'packets');
		if (fresh) this.takeStations(r.stations);
		this.showStations();
	}

	takeStations(stations) {
		const here = new Set();
		for (const st of stations) {
			here.add(st.mac);
			let row = this.stations.get(st.mac);
			if (!row) this.stations.set(st.mac, (row = new StationRow(st.mac)));
			row.take(st);
		}
		for (const [mac, row] of this.stations) {
			if (here.has(mac)) continue;
			row.tr.remove();
			this.stations.delete(mac);
		}
	}

	showStations() {
		const rows = [...this.stations.values()].sort((a, b) => (a.mac < b.mac ? -1 : 1));
		const idle = rows.filter((row) => row.idle > 30).length;
		const hide = !this.all && rows.length > fewStations && idle > 0;
		const shown = hide ? rows.filter((row) => row.idle <= 30) : rows;
		const body = $('tbody', this.root);
		const trs = shown.map((row) => row.tr);
		if (trs.length !== body.children.length || trs.some((tr, i) => tr !== body.children[i])) body.replaceChildren(...trs);
		$('.none', this.root).hidden = rows.length > 0;
		$('.stations .scroll', this.root).hidden = rows.length === 0;
		this.more.hidden = !(rows.length > fewStations && idle > 0);
		put(this.more, this.all ? 'Hide idle stations' : `Show ${idle} idle stations`);
	}

	draw(now, span) {
		for (const c of this.charts) c.show(this.points, now, span);
	}
}

// One station's row.

const sparkPoints = 60;

class StationRow {
	constructor(mac) {
		this.mac = mac;
		this.idle = 0; // seconds
		this.kbps = [];
		this.path = make('path');
		this.bar = make('rect', { height: 8, rx: 4, width: 0 });
		this.shareText = make('span');
		const share = make('svg', { class: 'share', viewBox: '0 0 64 8', 'aria-hidden': 'true' }, make('rect', { width: 64, height: 8, rx: 4 }), this.bar);
		const spark = make('svg', { class: 'spark', viewBox: '0 0 90 20', preserveAspectRatio: 'none', 'aria-hidden': 'true' }, this.path);
		this.cells = Object.fromEntries(['throughput', 'rate', 'queued', 'limit', 'waiting', 'dropped'].map((k) => [k, make('td', { class: 'num' })]));
		const c = this.cells;
		this.tr = make('tr', {}, make('td', { class: 'mac' }, mac), c.throughput, make('td', { class: 'wide' }, spark), make('td', {}, share, ' ', this.shareText), c.rate, c.queued, c.limit, c.waiting, c.dropped);
	}

	take(st) {
		this.idle = st.active ? 0 : this.idle + 1;
		this.kbps.push(st.throughput_kbps);
		if (this.kbps.length > sparkPoints) this.kbps.shift();
		const top = Math.max(...this.kbps, 1);
		const at = (v, i) => `${((i + sparkPoints - this.kbps.length) * 90) / (sparkPoints - 1)} ${19 - (18 * v) / top}`;
		this.path.setAttribute('d', `M${this.kbps.map(at).join('L')}`);
		const share = st.airtime_share;
		this.bar.setAttribute('width', share ? (64 * Math.min(1, share)).toFixed(1) : 0);
		put(this.shareText, share === null ? '–' : `${Math.round(100 * share)} %`);
		this.tr.className = st.active ? '' : 'idle';
		put(this.cells.throughput, mbps(st.throughput_kbps));
		put(this.cells.rate, st.rate_kbps ? `${(st.rate_kbps / 1000).toFixed(st.rate_kbps < 99950 ? 1 : 0)} Mb/s` : '–');
		put(this.cells.queued, ms(st.pending_us));
		put(this.cells.limit, st.asleep ? 'asleep' : limitText(st.limits.BE));
		put(this.cells.waiting, String(st.backlog_packets));
		put(this.cells.dropped, String(st.total.drops));
	}
}

// A line of the decision log.

function knobText(knob) {
	const part = knob.split('/');
	if (part[0] === 'aql_txq_limit') return `limit ${part[1]}`;
	if (part[0] === 'aql_threshold') return 'threshold';
	if (part[0] === 'station' && part[2] === 'aql') return `${part[1]} ${part[3]}`;
	return knob;
}

function valueText(value) {
	const limit = /^(\d+)\/(\d+)$/.exec(value);
	return limit ? limitText({ low_us: Number(limit[1]), high_us: Number(limit[2]) }) : value;
}

function logLine(e) {
	const words = make('div');
	if (e.knob) {
		const more = e.more > 0 ? ` and ${e.more} more` : '';
		words.append(make('span', { class: 'knob' }, `${knobText(e.knob)} ${valueText(e.from)} → ${valueText(e.to)}`), `${more} `);
	}
	if (e.state !== 'tuning' || !e.knob) words.append(make('span', { class: 'badge', 'data-state': e.state }, e.state), ' ');
	words.append(make('span', { class: 'muted' }, e.reason));
	return make('li', {}, make('time', { datetime: e.at }, clock(e.at)), words);
}

// The page.

const page = {
	views: new Map(), // path -> RadioView
	minutes: 3,
	now: 0,

	take(m, all) {
		this.now = m.now;
		if (all) {
			for (const v of this.views.values()) v.root.remove();
			this.views.clear();
		}
		const radios = m.status?.radios ?? [];
		for (const r of radios) {
			if (this.views.has(r.path)) continue;
			const view = new RadioView(r.path);
			this.views.set(r.path, view);
			$('#radios').append(view.root);
		}
		for (const [path, view] of this.views) {
			if (radios.some((r) => r.path === path)) continue;
			view.root.remove();
			this.views.delete(path);
		}
		for (const r of radios) {
			const view = this.views.get(r.path);
			view.add(m.points?.[r.path] ?? []);
			view.enter(m.log);
			view.show(r, !m.away);
		}
		this.showDaemon(m, radios);
		this.draw();
	},

	showDaemon(m, radios) {
		const s = m.status;
		document.body.classList.toggle('away', Boolean(m.away));
		$('#empty').hidden = radios.length > 0;
		put($('#empty'), s ? 'No Wi-Fi radio is there now; one that appears is shown at once.' : 'Waiting for the daemon.');
		let words = s ? `version ${s.version}, up ${span(s.uptime_s)}` : '';
		if (s?.config_error) words += ` · configuration refused: ${s.config_error}`;
		put($('#daemon'), words);
		if (m.away) this.link('away', `daemon away since ${clock(m.away.since)}`, m.away.why);
		else if (s) this.link('live', 'live', '');
	},

	link(state, words, why) {
		const e = $('#link');
		e.dataset.state = state;
		e.title = why;
		put($('.words', e), words);
	},

	draw() {
		if (document.hidden) return;
		for (const v of this.views.values()) v.draw(this.now, this.minutes * 60 * 1000);
	},

	start() {
		for (const b of document.querySelectorAll('.spans button')) {
			b.addEventListener('click', () => {
				this.minutes = Number(b.dataset.minutes);
				for (const o of document.querySelectorAll('.spans button')) o.setAttribute('aria-pressed', String(o === b));
				this.draw();
			});
		}
		document.addEventListener('visibilitychange', () => this.draw());
		this.connect();
	},

	// connect listens to the server, and comes back when it was away: the browser
	// does so by itself only after some kinds of failure.
	connect() {
		const source = new EventSource('events');
		source.addEventListener('all', (e) => this.take(JSON.parse(e.data), true));
		source.addEventListener('news', (e) => this.take(JSON.parse(e.data), false));
		source.addEventListener('error', () => {
			document.body.classList.add('away');
			this.link('away', 'airtuned-web does not answer', '');
			source.close();
			setTimeout(() => this.connect(), 2000);
		});
	},
};

page.start();
