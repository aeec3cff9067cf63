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
const nodeFacts = nodes.name.map(() => ({paused: 0, pauses: 0, queue: 0, marked: 0, lost: 0}));
const linkFacts = links.name.map(() => ({load: [0, 0], paused: [0, 0], queue: [0, 0]}));
ports.node.forEach((name, i) => {
	const n = nodeIndex.get(name), l = linkIndex.get(ports.link[i]);
	if (n === undefined || l === undefined) return;
	const side = links.a[l] === n ? 0 : 1, share = data.time_ps ? 1 / data.time_ps : 0;
	const fact = nodeFacts[n], link = linkFacts[l];
	link.load[side] = ports.sent_bytes[i] * 8 * PS * share / links.rate_bps[l];
	link.paused[side] = ports.paused_ps[i] * share;
	link.queue[side] = ports.queue_max_bytes[i];
	fact.paused = Math.max(fact.paused, link.paused[side]);
	fact.queue = Math.max(fact.queue, ports.queue_max_bytes[i]);
	fact.pauses += ports.pause_sent[i];
	fact.marked += ports.marked[i];
	fact.lost += ports.lost[i];
});
const maxLoad = Math.max(1e-9, ...linkFacts.map(fact => Math.max(...fact.load)));
const maxPaused = Math.max(0, ...nodeFacts.map(fact => fact.paused));

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

const stepOf = (value, max) => max > 0 && value > 0 ? Math.max(1, Math.ceil(value / max * 5)) : 0;
const busier = fact => Math.max(fact.load[0], fact.load[1]);

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
const shapes = [];
const byLoad = links.name.map((_, i) => i).sort((a, b) => busier(linkFacts[a]) - busier(linkFacts[b]));
for (const i of byLoad) { // the busiest on top
	const a = place[links.a[i]], b = place[links.b[i]];
	if (!a || !b) continue;
	const ends = {x1: a.x.toFixed(1), y1: a.y.toFixed(1), x2: b.x.toFixed(1), y2: b.y.toFixed(1)};
	svg.append(draw("line", {...ends, "data-link": i,
		class: "link load-" + stepOf(busier(linkFacts[i]), maxLoad) + (dense ? " thin" : "")}));
	if (!dense) svg.append(draw("line", {...ends, "data-link": i, class: "grip"}));
}
nodes.name.forEach((name, i) => {
	const at = place[i];
	if (!at) return;
	const isSwitch = nodes.switch[i], group = draw("g", {
		"data-node": i,
		class: (isSwitch ? "switch" : "host") + " pause-" + stepOf(nodeFacts[i].paused, maxPaused),
		transform: `translate(${at.x.toFixed(1)} ${at.y.toFixed(1)})`,
	});
	const w = isSwitch ? (dense ? 18 : 58) : dense ? 9 : 32, h = isSwitch ? (dense ? 12 : 26) : dense ? 9 : 22;
	group.append(draw("rect", {x: -w / 2, y: -h / 2, width: w, height: h, rx: isSwitch ? 4 : h / 2.6}));
	if (!dense) group.append(draw("text", {y: 4}, name.length > (isSwitch ? 9 : 5) ?
		name.slice(0, isSwitch ? 8 : 4) + "…" : name));
	svg.append(group);
	shapes[i] = group;
});
holder.replaceChildren(svg);

// ---- what is under the pointer or the keys ----

const detail = document.getElementById("drawing-text");
const hint = "Nothing chosen.";
let chosen = null;

function nodeText(i) {
	const fact = nodeFacts[i], parts = [];
	parts.push(fact.paused ? `a port of it stood paused for ${percentText(fact.paused)} of the run`
		: "never paused");
	if (fact.pauses) parts.push(`sent ${fact.pauses} pause frames`);
	if (fact.queue) parts.push(`longest queue ${bytesText(fact.queue)}`);
	if (fact.marked) parts.push(`${fact.marked} packets marked`);
	if (fact.lost) parts.push(`${fact.lost} packets lost`);
	return [nodes.name[i], (nodes.switch[i] ? "switch, " : "host, ") + parts.join(", ")];
}

function linkText(i) {
	const fact = linkFacts[i], a = nodes.name[links.a[i]], b = nodes.name[links.b[i]];
	const way = (from, to, side) => `${from} → ${to}: load ${percentText(fact.load[side])}` +
		(fact.paused[side] ? `, paused ${percentText(fact.paused[side])} of the run` : "") +
		(fact.queue[side] ? `, queue up to ${bytesText(fact.queue[side])}` : "");
	return [links.name[i], `${rateText(links.rate_bps[i])}, ${timeText(links.delay_ps[i])}; ` +
		way(a, b, 0) + "; " + way(b, a, 1)];
}

function choose(shape) {
	if (chosen) chosen.classList.remove("chosen");
	chosen = shape;
	svg.classList.toggle("choosing", Boolean(shape));
	if (!shape) {
		detail.textContent = hint;
		return;
	}
	shape.classList.add("chosen");
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

function scale(kind, max, text) {
	const row = element("span", {class: "scale"}, text + " ");
	if (max <= 1e-9) {
		row.append(element("b", {}, "none"));
		return row;
	}
	row.append("0 ");
	for (let i = 0; i <= 5; i++) row.append(element("i", {class: `${kind}-${i}`}));
	row.append(" " + percentText(max));
	return row;
}
document.getElementById("drawing-legend").append(
	scale("load", maxLoad, "Load of a link"), scale("pause", maxPaused, "Paused"));
})();
