// SPDX-License-Identifier: BSD-2-Clause
// The drawing: hosts at the bottom, switches in layers by their distance from hosts.
(function () {
const SVG = "http://www.w3.org/2000/svg";
const holder = document.getElementById("drawing");
const {nodes, links, ports} = data;
const count = nodes.name.length;

const neighbours = nodes.name.map(() => []);
links.name.forEach((_, i) => {
	neighbours[links.a[i]].push(links.b[i]);
	neighbours[links.b[i]].push(links.a[i]);
});

// ---- what is known of each node and each direction of a link ----

const nodeIndex = new Map(nodes.name.map((name, i) => [name, i]));
const linkIndex = new Map(links.name.map((name, i) => [name, i]));
// Where each port is: its node, its link, and the side of the link (0: node a sends).
const places = ports.node.map((name, i) => {
	const n = nodeIndex.get(name), l = linkIndex.get(ports.link[i]);
	return n === undefined || l === undefined ? null : {i, n, l, side: links.a[l] === n ? 0 : 1};
}).filter(place => place);

// Of @value(port), each a number: {sent, paused, queue}, for a time of @ps.
function factsOf(value, ps) {
	const facts = {
		nodes: nodes.name.map(() => ({paused: 0, queue: 0})),
		links: links.name.map(() => ({load: [0, 0], paused: [0, 0], queue: [0, 0], sent: [0, 0], paused_ps: [0, 0]})),
	};
	const share = ps ? 1 / ps : 0;
	for (const {i, n, l, side} of places) {
		const {sent, paused, queue} = value(i), node = facts.nodes[n], link = facts.links[l];
		link.sent[side] = sent;
		link.paused_ps[side] = paused;
		link.load[side] = sent * 8 * PS * share / links.rate_bps[l];
		link.paused[side] = Math.min(1, paused * share);
		link.queue[side] = queue;
		node.paused = Math.max(node.paused, link.paused[side]);
		node.queue = Math.max(node.queue, queue);
	}
	return facts;
}

const whole = factsOf(i => ({sent: ports.sent_bytes[i], paused: ports.paused_ps[i], queue: ports.queue_max_bytes[i]}),
	data.time_ps);
const totals = nodes.name.map(() => ({pauses: 0, marked: 0, lost: 0}));
for (const {i, n} of places) {
	totals[n].pauses += ports.pause_sent[i];
	totals[n].marked += ports.marked[i];
	totals[n].lost += ports.lost[i];
}
function frameFacts(frame) {
	const {sent_bytes, paused_ps, queue_bytes} = data.frames;
	return factsOf(i => ({sent: sent_bytes[i][frame] || 0, paused: paused_ps[i][frame] || 0,
		queue: queue_bytes[i][frame] || 0}), moment.end(frame) - moment.begin(frame));
}

const most = (facts, kind, key) => facts[kind].reduce((max, fact) => Math.max(max,
	...[].concat(fact[key])), 0);
const maxima = facts => ({load: Math.max(1e-9, most(facts, "links", "load")), paused: most(facts, "links", "paused"),
	queue: most(facts, "links", "queue")});
const wholeMax = maxima(whole);
const frameMax = {load: 1, paused: 1, queue: wholeMax.queue}; // the same in every frame
let facts = whole, max = wholeMax;

// ---- where things stand ----

function layersOf() {
	const layer = nodes.switch.map(isSwitch => isSwitch ? -1 : 0);
	let front = [];
	layer.forEach((at, i) => { if (at === 0) front.push(i); });
	for (let at = 1; front.length; at++) {
		const next = [];
		for (const i of front)
			for (const k of neighbours[i])
				if (layer[k] === -1) {
					layer[k] = at;
					next.push(k);
				}
		front = next;
	}
	const rows = [];
	layer.forEach((at, i) => {
		const row = at === -1 ? 1 : at; // a switch without hosts anywhere
		(rows[row] = rows[row] || []).push(i);
	});
	for (let i = 0; i < rows.length; i++) rows[i] = rows[i] || [];
	return rows;
}

const byName = (a, b) => natural(nodes.name[a], nodes.name[b]);

// Hosts stand in blocks below their switch; upper switches in the middle of what is below them.
function placeAll() {
	const rows = layersOf(), hosts = rows[0], first = (rows[1] || []).sort(byName);
	const of = new Map(first.map(i => [i, []])), rest = [];
	hosts.sort(byName).forEach(i => {
		const parent = neighbours[i].find(k => of.has(k));
		(parent === undefined ? rest : of.get(parent)).push(i);
	});
	const most = Math.max(1, ...first.map(i => of.get(i).length));
	const dense = hosts.length > 96, step = dense ? 13 : 40;
	const columns = hosts.length <= 20 && first.length <= 2 ? most :
		Math.max(1, Math.ceil(Math.sqrt(most * (dense ? 0.7 : 1))));
	const rowCount = Math.ceil(most / columns);
	const place = nodes.name.map(() => null);
	let x = 0;
	const block = list => {
		const width = Math.max(1, Math.min(columns, list.length));
		list.forEach((i, k) => {
			place[i] = {x: x + (k % width + 0.5) * step, y: Math.floor(k / width) * step};
		});
		const middle = x + width * step / 2;
		x += Math.max(width * step, dense ? 20 : 76) + (dense ? 10 : 24);
		return middle;
	};
	first.forEach(i => { place[i] = {x: block(of.get(i)), y: 0}; });
	if (rest.length) block(rest);
	const width = Math.max(x, dense ? 500 : 360), gap = dense ? Math.max(90, x * 0.085) : 84;
	// A single column of something narrow goes to the middle.
	const shift = (width - x) / 2;
	place.forEach(at => { if (at) at.x += shift; });
	const height = gap * (rows.length - 1) + (rowCount - 1) * step + (rows.length > 1 ? 30 : 46);
	first.forEach(i => { place[i].y = gap * (rows.length - 1) - gap + 26; });
	for (const i of hosts)
		if (place[i]) place[i].y += gap * (rows.length - 1) + (rows.length > 1 ? 10 : 26);
	for (let at = 2; at < rows.length; at++) {
		const mean = new Map(rows[at].map(i => {
			const below = neighbours[i].map(k => place[k]).filter(p => p);
			return [i, below.reduce((sum, p) => sum + p.x, 0) / Math.max(1, below.length)];
		}));
		rows[at].sort((a, b) => Math.abs(mean.get(a) - mean.get(b)) < 1 ? byName(a, b)
			: mean.get(a) - mean.get(b));
		rows[at].forEach((i, k) => {
			place[i] = {x: (k + 0.5) * width / rows[at].length, y: gap * (rows.length - 1 - at) + 26};
		});
	}
	return {place, width, height, dense, order: [...rows].reverse().flat()};
}

// ---- drawing ----

const layout = placeAll();
const {place, dense} = layout;

function draw(name, attributes, text) {
	const made = document.createElementNS(SVG, name);
	for (const key in attributes) made.setAttribute(key, attributes[key]);
	if (text !== undefined) made.textContent = text;
	return made;
}

const stepOf = (value, top) => top > 0 && value > 0 ? Math.min(5, Math.max(1, Math.ceil(value / top * 5))) : 0;

const svg = draw("svg", {
	viewBox: `0 0 ${layout.width} ${layout.height}`,
	tabindex: 0,
	role: "application",
	"aria-roledescription": "drawing of the topology",
	"aria-label": `Topology of ${count} nodes and ${links.name.length} links. ` +
		"Arrow keys go from node to node.",
});
svg.style.minWidth = Math.min(layout.width, dense ? 900 : layout.width) * (dense ? 1 : 0.85) + "px";
svg.style.maxWidth = Math.max(layout.width * 1.25, 560) + "px";
const lineLayer = draw("g", {}), pauseLayer = draw("g", {}), nodeLayer = draw("g", {}), queueLayer = draw("g", {});
svg.append(lineLayer, pauseLayer, nodeLayer, queueLayer);
const shapes = [];

// A link is two halves, each of what its end sends.
const halves = links.name.map((name, i) => {
	const a = place[links.a[i]], b = place[links.b[i]];
	if (!a || !b) return null;
	const middle = {x: (a.x + b.x) / 2, y: (a.y + b.y) / 2}, made = [];
	for (const [from, side] of [[a, 0], [b, 1]]) {
		const ends = {x1: from.x.toFixed(1), y1: from.y.toFixed(1), x2: middle.x.toFixed(1), y2: middle.y.toFixed(1)};
		const half = {ends, from, middle, line: draw("line", {...ends, "data-link": i, "data-side": side}),
			dash: null, circle: null};
		lineLayer.append(half.line);
		made.push(half);
	}
	if (!dense) lineLayer.append(draw("line", {x1: a.x.toFixed(1), y1: a.y.toFixed(1), x2: b.x.toFixed(1),
		y2: b.y.toFixed(1), "data-link": i, class: "grip"}));
	return made;
});
nodes.name.forEach((name, i) => {
	const at = place[i];
	if (!at) return;
	const isSwitch = nodes.switch[i], group = draw("g", {
		"data-node": i,
		transform: `translate(${at.x.toFixed(1)} ${at.y.toFixed(1)})`,
	});
	const w = isSwitch ? (dense ? 18 : 58) : dense ? 9 : 32, h = isSwitch ? (dense ? 12 : 26) : dense ? 9 : 22;
	group.append(draw("rect", {x: -w / 2, y: -h / 2, width: w, height: h, rx: isSwitch ? 4 : h / 2.6}));
	if (!dense) group.append(draw("text", {y: 4}, name.length > (isSwitch ? 9 : 5) ?
		name.slice(0, isSwitch ? 8 : 4) + "…" : name));
	nodeLayer.append(group);
	shapes[i] = group;
});
holder.replaceChildren(svg);

// What only some links have is made when they have it.
function paintPause(half, share) {
	if (share > 0 && !half.dash) {
		half.dash = draw("line", {...half.ends, class: "pausing"});
		pauseLayer.append(half.dash);
	}
	if (!half.dash) return;
	half.dash.style.display = share > 0 ? "" : "none";
	half.dash.style.strokeWidth = (dense ? 1 : 2) + share * (dense ? 2 : 4.5);
}

function paintQueue(half, bytes) {
	if (bytes > 0 && !half.circle) {
		const dx = half.middle.x - half.from.x, dy = half.middle.y - half.from.y, length = Math.hypot(dx, dy) || 1;
		const away = Math.min(length * 0.8, dense ? 12 : 31);
		half.circle = draw("circle", {cx: (half.from.x + dx / length * away).toFixed(1),
			cy: (half.from.y + dy / length * away).toFixed(1), class: "queue"});
		queueLayer.append(half.circle);
	}
	if (half.circle) half.circle.setAttribute("r", (Math.sqrt(bytes / (max.queue || 1)) * (dense ? 6 : 10)).toFixed(2));
}

function paint() {
	halves.forEach((pair, i) => pair && pair.forEach((half, side) => {
		const fact = facts.links[i], {line} = half;
		line.setAttribute("class", `link load-${stepOf(fact.load[side], max.load)}` + (dense ? " thin" : ""));
		line.dataset.sent = fact.sent[side];
		line.dataset.paused = fact.paused_ps[side];
		line.dataset.queue = fact.queue[side];
		paintPause(half, fact.paused[side]);
		paintQueue(half, fact.queue[side]);
	}));
	shapes.forEach((shape, i) => {
		shape.setAttribute("class", `${nodes.switch[i] ? "switch" : "host"} pause-` +
			stepOf(facts.nodes[i].paused, max.paused) + (shape === chosen ? " chosen" : ""));
	});
	paintLegend();
}

// ---- what is under the pointer or the keys ----

const detail = document.getElementById("drawing-text");
const hint = "Nothing chosen.";
const ofWhat = () => moment.frame === null ? "of the run" : "of this time";
let chosen = null;

function nodeText(i) {
	const fact = facts.nodes[i], total = totals[i], parts = [];
	parts.push(fact.paused ? `a port of it stood paused for ${percentText(fact.paused)} ${ofWhat()}`
		: moment.frame === null ? "never paused" : "not paused");
	if (fact.queue) parts.push(`longest queue ${bytesText(fact.queue)}`);
	if (moment.frame === null) {
		if (total.pauses) parts.push(`sent ${total.pauses} pause frames`);
		if (total.marked) parts.push(`${total.marked} packets marked`);
		if (total.lost) parts.push(`${total.lost} packets lost`);
	}
	return [nodes.name[i], (nodes.switch[i] ? "switch, " : "host, ") + parts.join(", ")];
}

function linkText(i) {
	const fact = facts.links[i], a = nodes.name[links.a[i]], b = nodes.name[links.b[i]];
	const way = (from, to, side) => `${from} → ${to}: load ${percentText(fact.load[side])}` +
		(fact.paused[side] ? `, paused ${percentText(fact.paused[side])} ${ofWhat()}` : "") +
		(fact.queue[side] ? `, queue up to ${bytesText(fact.queue[side])}` : "");
	return [links.name[i], `${rateText(links.rate_bps[i])}, ${timeText(links.delay_ps[i])}; ` +
		way(a, b, 0) + "; " + way(b, a, 1)];
}

function choose(shape) {
	if (chosen) chosen.classList.remove("chosen");
	chosen = shape;
	if (shape) shape.classList.add("chosen");
	tell();
}

function tell() {
	const shape = chosen;
	if (!shape) {
		detail.textContent = hint;
		return;
	}
	const [name, text] = shape.dataset.node !== undefined ? nodeText(Number(shape.dataset.node))
		: linkText(Number(shape.dataset.link));
	detail.replaceChildren(element("b", {}, name), " – " + text);
}

const shapeOf = target => target.closest && target.closest("[data-node], [data-link]");
svg.addEventListener("pointermove", event => { const s = shapeOf(event.target); if (s) choose(s); });
svg.addEventListener("click", event => choose(shapeOf(event.target)));
svg.addEventListener("keydown", event => {
	const order = layout.order.filter(i => shapes[i]), way = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1,
		ArrowUp: -1}[event.key];
	if (event.key === "Escape") choose(null);
	if (!way || order.length === 0) return;
	event.preventDefault();
	const now = chosen && chosen.dataset.node !== undefined ? order.indexOf(Number(chosen.dataset.node)) : -1;
	choose(shapes[order[now < 0 ? (way > 0 ? 0 : order.length - 1) : (now + way + order.length) % order.length]]);
});
detail.textContent = hint;

// ---- legend ----

function scale(kind, top, text) {
	const row = element("span", {class: "scale"}, text + " ");
	if (top <= 1e-9) {
		row.append(element("b", {}, "none"));
		return row;
	}
	row.append("0 ");
	for (let i = 0; i <= 5; i++) row.append(element("i", {class: `${kind}-${i}`}));
	row.append(" " + percentText(top));
	return row;
}
function paintLegend() {
	const row = [scale("load", max.load, "Load of a link"), scale("pause", max.paused, "Paused")];
	if (max.paused > 0) row.push(element("span", {class: "scale"}, element("i", {class: "dashes"}), " paused link"));
	if (max.queue > 0) row.push(element("span", {class: "scale"}, element("i", {class: "ball"}),
		` queue, the largest circle ${bytesText(max.queue)}`));
	document.getElementById("drawing-legend").replaceChildren(...row);
}

// ---- the slider ----

function slider() {
	const box = document.getElementById("slider"), {frames} = data;
	if (!frames || frames.at_ps.length < 2) return;
	const last = frames.at_ps.length - 1;
	const range = element("input", {type: "range", min: 0, max: last, value: 0, step: 1, id: "moment",
		"aria-label": "Moment of the run"});
	const all = element("button", {type: "button", "aria-pressed": "true"}, "Whole run");
	const play = element("button", {type: "button"}, "Play");
	const text = element("output", {for: "moment", id: "moment-text"}, "the whole run");
	let timer = null;
	const stop = () => { clearInterval(timer); timer = null; play.textContent = "Play"; };
	const step = () => {
		if (moment.frame === last) stop();
		else moment.set(moment.frame === null ? 0 : moment.frame + 1);
	};
	range.addEventListener("input", () => { stop(); moment.set(Number(range.value)); });
	all.addEventListener("click", () => { stop(); moment.set(null); });
	play.addEventListener("click", () => {
		if (timer) { stop(); return; }
		if (moment.frame === last) moment.set(0);
		play.textContent = "Stop";
		timer = setInterval(step, 60);
	});
	box.append(all, play, range, text);
	moment.listeners.push(frame => {
		facts = frame === null ? whole : frameFacts(frame);
		max = frame === null ? wholeMax : frameMax;
		paint();
		tell();
		all.setAttribute("aria-pressed", String(frame === null));
		if (frame !== null) range.value = frame;
		const span = frame === null ? "the whole run" :
			`${timeText(moment.begin(frame))} to ${timeText(moment.end(frame))}`;
		text.textContent = span;
		range.setAttribute("aria-valuetext", span);
		svg.dataset.from = frame === null ? "" : moment.begin(frame);
		svg.dataset.to = frame === null ? "" : moment.end(frame);
		if (!timer) setState("t", frame === null ? null : moment.end(frame));
	});
}
paint();
slider();
})();
