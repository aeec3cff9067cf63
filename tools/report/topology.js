// SPDX-License-Identifier: BSD-2-Clause
// The drawing: load, queue and pause of all links and nodes, or of the groups that fold.js makes of them.
(function () {
const SVG = "http://www.w3.org/2000/svg";
const holder = document.getElementById("drawing");
const {nodes, links, ports} = data;
const count = nodes.name.length;

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
	const share = ps ? 1 / ps : NaN; // of no time at all
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

// The longest queue of the run is the whole of the scale, at each moment of it.
const queueMax = whole.links.reduce((most, link) => Math.max(most, ...link.queue), 0);
let facts = whole;

// ---- drawing ----

function draw(name, attributes, text) {
	const made = document.createElementNS(SVG, name);
	for (const key in attributes) made.setAttribute(key, attributes[key]);
	if (text !== undefined) made.textContent = text;
	return made;
}

const svg = draw("svg", {
	tabindex: 0,
	role: "application",
	"aria-roledescription": "drawing of the topology",
	"aria-label": `Topology of ${count} nodes and ${links.name.length} links. ` +
		"Arrow keys go from node to node" + (fold.isLarge ? "; Enter opens a group and folds it again." : "."),
});
const lineLayer = draw("g", {}), pauseLayer = draw("g", {}), nodeLayer = draw("g", {}), queueLayer = draw("g", {});
svg.append(lineLayer, pauseLayer, nodeLayer, queueLayer);
const view = element("div", {class: "view"});
view.append(svg);
holder.replaceChildren(view);
let layout, dense, shapes, halves; // shapes: by unit; halves: two of each line

// A line is two halves, each of what its end sends; where it stands for many links, of the busiest of them.
function halvesOf({links: all, a, b}, number) {
	const from = layout.place.get(a), to = layout.place.get(b), made = [], is = all.length === 1 ? {"data-link": all[0].i} : {"data-bundle": number};
	const middle = {x: (from.x + to.x) / 2, y: (from.y + to.y) / 2};
	for (const [end, side] of [[from, 0], [to, 1]]) {
		const ends = {x1: end.x.toFixed(1), y1: end.y.toFixed(1), x2: middle.x.toFixed(1), y2: middle.y.toFixed(1)};
		const away = fold.isGroup(side ? b : a) ? 56 : dense ? 12 : 31; // where its queue is drawn
		const half = {ends, from: end, middle, away, line: draw("line", {...ends, ...is, "data-side": all[0].isTurned ? 1 - side : side}),
			ways: all.map(({i, isTurned}) => [i, isTurned ? 1 - side : side]), dash: null, circle: null};
		lineLayer.append(half.line);
		made.push(half);
	}
	if (!dense) lineLayer.append(draw("line", {x1: from.x.toFixed(1), y1: from.y.toFixed(1), x2: to.x.toFixed(1),
		y2: to.y.toFixed(1), ...is, class: "grip"}));
	return made;
}

function shapeOf(unit) {
	const at = layout.place.get(unit), isGroup = fold.isGroup(unit), isSwitch = !isGroup && nodes.switch[unit];
	const shape = draw("g", {[isGroup ? "data-group" : "data-node"]: isGroup ? unit - count : unit,
		transform: `translate(${at.x.toFixed(1)} ${at.y.toFixed(1)})`});
	const w = isGroup ? 84 : isSwitch ? (dense ? 18 : 58) : dense ? 9 : 32, h = isGroup ? 40 : isSwitch ? (dense ? 12 : 26) : dense ? 9 : 22;
	const name = fold.nameOf(unit), letters = isGroup ? 12 : isSwitch ? 9 : 5;
	if (isGroup) shape.append(draw("rect", {x: -w / 2 + 4, y: -h / 2 - 4, width: w, height: h, rx: 5, class: "behind"}));
	shape.append(draw("rect", {x: -w / 2, y: -h / 2, width: w, height: h, rx: isGroup || isSwitch ? 4 : h / 2.6}));
	if (isGroup || !dense) shape.append(draw("text", {y: isGroup ? -2 : 4}, name.length > letters ? name.slice(0, letters - 1) + "…" : name));
	if (isGroup) shape.append(draw("text", {y: 13, class: "many"}, fold.groupAt(unit).hosts ? `${fold.groupAt(unit).hosts} hosts`
		: `${fold.groupAt(unit).members.length} switches`));
	nodeLayer.append(shape);
	return shape;
}

// Everything anew: when something was opened or folded, too.
function build() {
	layout = fold.placeAll();
	dense = layout.dense;
	for (const one of [lineLayer, pauseLayer, nodeLayer, queueLayer]) one.replaceChildren();
	svg.setAttribute("viewBox", `0 0 ${layout.width} ${layout.height}`);
	if (!zoom) svg.style.minWidth = Math.min(layout.width, dense ? 900 : layout.width) * (dense ? 1 : 0.85) + "px";
	svg.style.maxWidth = Math.max(layout.width * 1.25, 560) + "px";
	halves = layout.lines.map(halvesOf);
	shapes = new Map(layout.order.map(unit => [unit, shapeOf(unit)]));
}

// What only some links have is made when they have it.
function paintPause(half, share) {
	if (share > 0 && !half.dash) {
		half.dash = draw("line", half.ends);
		pauseLayer.append(half.dash);
	}
	if (!half.dash) return;
	half.dash.style.display = share > 0 ? "" : "none";
	half.dash.setAttribute("class", `pausing heat-${heatOf(share)}`);
	half.dash.style.strokeWidth = (dense ? 1 : 2) + share * (dense ? 2 : 4.5);
}

function paintQueue(half, bytes) {
	if (bytes > 0 && !half.circle) {
		const dx = half.middle.x - half.from.x, dy = half.middle.y - half.from.y, length = Math.hypot(dx, dy) || 1;
		const away = Math.min(length * 0.8, half.away);
		half.circle = draw("circle", {cx: (half.from.x + dx / length * away).toFixed(1),
			cy: (half.from.y + dy / length * away).toFixed(1)});
		queueLayer.append(half.circle);
	}
	if (!half.circle) return;
	half.circle.setAttribute("class", `queue heat-${heatOf(bytes / queueMax)}`);
	half.circle.setAttribute("r", (Math.sqrt(bytes / queueMax) * (dense ? 6 : 10)).toFixed(2));
}

// Of several links in one direction: the most of each, and all that was sent.
function together(ways) {
	const found = {load: 0, paused: 0, queue: 0, sent: 0, paused_ps: 0};
	for (const [i, side] of ways) {
		const fact = facts.links[i];
		for (const key of ["load", "paused", "queue", "paused_ps"]) found[key] = Math.max(found[key], fact[key][side]);
		found.sent += fact.sent[side];
	}
	return found;
}
function togetherAt(unit) {
	if (!fold.isGroup(unit)) return facts.nodes[unit];
	return fold.groupAt(unit).members.reduce((most, i) => ({paused: Math.max(most.paused, facts.nodes[i].paused),
		queue: Math.max(most.queue, facts.nodes[i].queue)}), {paused: 0, queue: 0});
}

function paint() {
	halves.forEach(pair => pair.forEach(half => {
		const fact = together(half.ways), {line} = half;
		line.setAttribute("class", `link heat-${heatOf(fact.load)}` + (dense ? " thin" : ""));
		line.dataset.sent = fact.sent;
		line.dataset.paused = fact.paused_ps;
		line.dataset.queue = fact.queue;
		paintPause(half, fact.paused);
		paintQueue(half, fact.queue);
	}));
	shapes.forEach((shape, unit) => {
		const kind = fold.isGroup(unit) ? "group switch" : nodes.switch[unit] ? "switch" : "host";
		shape.setAttribute("class", `${kind} heat-${heatOf(togetherAt(unit).paused)}` + (shape === chosen ? " chosen" : ""));
	});
}

// ---- what is under the pointer or the keys ----

const detail = document.getElementById("drawing-text");
const hint = "Nothing chosen.";
const ofWhat = () => moment.frame === null ? "of the run" : "of this time";
let chosen = null;

function factsText(fact, total) {
	const parts = [fact.paused ? `a port of it stood paused for ${percentText(fact.paused)} ${ofWhat()}`
		: moment.frame === null ? "never paused" : "not paused"];
	if (fact.queue) parts.push(`longest queue ${bytesText(fact.queue)}`);
	if (moment.frame === null) {
		if (total.pauses) parts.push(`sent ${total.pauses} pause frames`);
		if (total.marked) parts.push(`${total.marked} packets marked`);
		if (total.lost) parts.push(`${total.lost} packets lost`);
	}
	return parts.join(", ");
}

const nodeText = i => [nodes.name[i], (nodes.switch[i] ? "switch, " : "host, ") + factsText(facts.nodes[i], totals[i])];

function groupText(unit) {
	const {members, name, hosts} = fold.groupAt(unit), sum = key => members.reduce((n, i) => n + totals[i][key], 0);
	return [name, (hosts ? `${hosts} hosts and ` : "") + `${members.length - hosts} switches, ${nodes.name[members[0]]} to ` +
		`${nodes.name[members[members.length - 1]]}, ` + factsText(togetherAt(unit), {pauses: sum("pauses"), marked: sum("marked"), lost: sum("lost")}) +
		". A click or Enter opens it."];
}

const wayText = (from, to, fact) => `${from} → ${to}: load ${percentText(fact.load)}` +
	(fact.paused ? `, paused ${percentText(fact.paused)} ${ofWhat()}` : "") +
	(fact.queue ? `, queue up to ${bytesText(fact.queue)}` : "");

function linkText(i) {
	const a = nodes.name[links.a[i]], b = nodes.name[links.b[i]];
	return [links.name[i], `${rateText(links.rate_bps[i])}, ${timeText(links.delay_ps[i])}; ` +
		wayText(a, b, together([[i, 0]])) + "; " + wayText(b, a, together([[i, 1]]))];
}

function bundleText(number) {
	const line = layout.lines[number], [a, b] = [fold.nameOf(line.a), fold.nameOf(line.b)];
	return [`${a} – ${b}`, `${line.links.length} links, of each the busiest: ` + wayText(a, b, together(halves[number][0].ways)) + "; " +
		wayText(b, a, together(halves[number][1].ways))];
}

function choose(shape) {
	if (chosen) chosen.classList.remove("chosen");
	chosen = shape;
	if (shape) shape.classList.add("chosen");
	tell();
}

function tell() {
	const is = chosen && chosen.dataset;
	if (!is) {
		detail.textContent = hint;
		return;
	}
	const [name, text] = is.node !== undefined ? nodeText(Number(is.node)) : is.group !== undefined ? groupText(count + Number(is.group))
		: is.bundle !== undefined ? bundleText(Number(is.bundle)) : linkText(Number(is.link));
	detail.replaceChildren(element("b", {}, name), " – " + text);
}

const unitAt = shape => !shape ? undefined : shape.dataset.group !== undefined ? count + Number(shape.dataset.group)
	: shape.dataset.node !== undefined ? Number(shape.dataset.node) : undefined;
const shapeAt = target => target.closest && target.closest("[data-node], [data-group], [data-link], [data-bundle]");
svg.addEventListener("pointermove", event => { const s = shapeAt(event.target); if (s && !event.buttons) choose(s); });
svg.addEventListener("click", event => {
	if (zoom && zoom.wasDragged()) return;
	choose(shapeAt(event.target));
	const unit = unitAt(chosen);
	if (unit !== undefined && fold.isGroup(unit)) open(unit - count, true);
});
svg.addEventListener("keydown", event => {
	const {order} = layout, way = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key], unit = unitAt(chosen);
	if (event.key === "Escape") choose(null);
	if (event.key === "Enter" && unit !== undefined) {
		const chain = fold.isGroup(unit) ? [] : fold.chainOf(unit);
		if (fold.isGroup(unit)) open(unit - count, true);
		else if (chain.length) open(chain[chain.length - 1], false);
	}
	if (!way || order.length === 0) return;
	event.preventDefault();
	const now = unit === undefined ? -1 : order.indexOf(unit);
	choose(shapes.get(order[now < 0 ? (way > 0 ? 0 : order.length - 1) : (now + way + order.length) % order.length]));
	if (zoom) zoom.show(chosen, false);
});
detail.textContent = hint;

// ---- large fabrics: open and fold, zoom and pan ----

function open(g, isOpen) {
	const {members} = fold.groups[g];
	fold.groups[g].isOpen = isOpen;
	if (!isOpen) fold.groups.forEach(one => { if (one.parent === g) one.isOpen = false; });
	chosen = null;
	build();
	paint();
	choose(shapes.get(fold.unitOf(members.find(i => nodes.switch[i]) || members[0])));
	foldAll.disabled = !fold.groups.some(one => one.isOpen);
	if (zoom) zoom.show(chosen, isOpen);
}

const foldAll = element("button", {type: "button", id: "fold-all", disabled: ""}, "Fold all");
foldAll.addEventListener("click", () => {
	fold.groups.forEach(one => { one.isOpen = false; });
	foldAll.disabled = true;
	chosen = null;
	build();
	paint();
	tell();
	if (zoom) zoom.reset();
});

// Wheel with Ctrl, two fingers, buttons and + - 0; what is dragged moves along.
function zoomOf() {
	const pan = Panzoom(view, {maxScale: 24, minScale: 1, step: 0.4, handleStartEvent: () => {}, touchAction: "pan-y", cursor: "", animate: false});
	let from = null, moved = 0;
	holder.classList.add("zooming");
	view.addEventListener("panzoomchange", event => pan.setOptions({touchAction: event.detail.scale > 1 ? "none" : "pan-y"}));
	view.addEventListener("pointerdown", event => { from = event; moved = 0; }, true);
	addEventListener("pointermove", event => {
		if (from && event.buttons) moved = Math.max(moved, Math.hypot(event.clientX - from.clientX, event.clientY - from.clientY));
	});
	addEventListener("pointerup", () => { from = null; });
	holder.addEventListener("wheel", event => { if (event.ctrlKey || event.metaKey) pan.zoomWithWheel(event); }, {passive: false});
	const by = factor => {
		const box = holder.getBoundingClientRect(), shape = chosen && chosen.isConnected ? chosen.getBoundingClientRect() : box;
		pan.zoomToPoint(pan.getScale() * factor, {clientX: shape.x + shape.width / 2, clientY: shape.y + shape.height / 2});
	};
	const keys = {"+": () => by(1.6), "=": () => by(1.6), "-": () => by(1 / 1.6), "0": () => pan.reset({animate: false})};
	svg.addEventListener("keydown", event => {
		if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key)) return;
		event.preventDefault();
		keys[event.key]();
	});
	return {by, reset: () => pan.reset({animate: false}), wasDragged: () => moved > 4, scale: pan.getScale,
		// In the middle; @isClose: so near that it can be read.
		show(shape, isClose) {
			const all = svg.getBoundingClientRect(), unit = Math.min(all.width / layout.width, all.height / layout.height);
			const wanted = Math.min(24, Math.max(2, 0.9 * pan.getScale() / unit));
			if (isClose && pan.getScale() < wanted) pan.zoom(wanted);
			requestAnimationFrame(() => { // behind that of the zoom: it is only then where it will be
				const box = holder.getBoundingClientRect(), at = shape.getBoundingClientRect(), scale = pan.getScale();
				if (!shape.isConnected || scale === 1) return;
				pan.pan((box.x + box.width / 2 - at.x - at.width / 2) / scale, (box.y + box.height / 2 - at.y - at.height / 2) / scale,
					{relative: true});
			});
		}};
}
const zoom = fold.isLarge || fold.placeAll().dense ? zoomOf() : null;

// ---- finding a node ----

function finder() {
	const field = element("input", {type: "search", id: "find-node", size: 14, placeholder: nodes.name[0] || "", "aria-describedby": "find-text"});
	const text = element("output", {for: "find-node", id: "find-text"});
	let found = [], at = 0, opened = []; // what is open only for what was found
	const show = () => {
		const i = found[at];
		for (const one of opened) one.isOpen = false;
		opened = fold.chainOf(i).map(g => fold.groups[g]).filter(one => !one.isOpen);
		for (const one of opened) one.isOpen = true;
		foldAll.disabled = !fold.groups.some(one => one.isOpen);
		chosen = null;
		build();
		paint();
		choose(shapes.get(i));
		if (zoom) zoom.show(chosen, true);
		else chosen.scrollIntoView({block: "nearest", inline: "center"});
		text.textContent = found.length > 1 ? `${nodes.name[i]}, ${at + 1} of ${found.length}; Enter: the next` : nodes.name[i];
	};
	const search = () => {
		const word = field.value.trim().toLowerCase(), names = nodes.name.map(name => name.toLowerCase());
		const all = word ? names.map((name, i) => name.includes(word) ? i : -1).filter(i => i >= 0) : [];
		found = all.sort((a, b) => (names[b] === word) - (names[a] === word) || names[b].startsWith(word) - names[a].startsWith(word) ||
			natural(names[a], names[b]));
		at = 0;
		setState("node", field.value.trim());
		if (found.length && (found.length === 1 || names[found[0]] === word)) show();
		else text.textContent = !word ? "" : found.length ? `${found.length} names have that; Enter: the first` : "no node of that name";
	};
	field.addEventListener("input", search);
	field.addEventListener("keydown", event => {
		if (event.key !== "Enter" || !found.length) return;
		if (unitAt(chosen) === found[at]) at = (at + 1) % found.length;
		show();
	});
	const controls = element("div", {class: "controls"}, element("label", {for: "find-node"}, "Find a node "), field, text);
	if (zoom)
		for (const [name, label, act] of [["+", "Zoom in", () => zoom.by(1.6)], ["−", "Zoom out", () => zoom.by(1 / 1.6)], ["All", "See all of it", zoom.reset]]) {
			const button = element("button", {type: "button", "aria-label": label, title: label}, name);
			button.addEventListener("click", act);
			controls.append(button);
		}
	if (fold.isLarge) controls.append(foldAll);
	holder.before(controls);
	if (zoom)
		holder.before(element("p", {class: "hint"}, (fold.isLarge ? "What is large is folded: a click or Enter opens a group, Enter at a " +
			"node of it folds it again. " : "") + "Ctrl and the wheel, two fingers or + and − zoom; 0 shows all of it; what is dragged moves along."));
	field.value = state.get("node") || "";
	return () => { if (field.value) search(); };
}

// ---- legend ----

function legend() {
	const row = HEAT.map((most, k) => element("span", {class: "scale"}, element("i", {class: `heat-${k}`}), k ? ` to ${most * 100}\u202f%` : " 0"));
	const kinds = [["line", "load, of the link’s rate"], ["box", "paused, of the time: a host, a switch"], ["dashes", "paused, of the time: a link"],
		["ball", `queue, of the longest: ${queueMax ? bytesText(queueMax) : NOTHING}`]];
	document.getElementById("drawing-legend").replaceChildren(element("span", {id: "heat"}, ...row),
		...kinds.map(([kind, text]) => element("span", {class: "scale"}, element("i", {class: kind}), " " + text)));
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
build();
paint();
legend();
const findAgain = finder();
slider();
findAgain();
})();
