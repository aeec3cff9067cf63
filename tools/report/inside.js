// SPDX-License-Identifier: BSD-2-Clause
// The inside of a chosen machine: its parts, and how busy each direction of its lanes was.
(function () {
const box = document.getElementById("inside");
if (!box || !data.machines || !data.machines.length) return;
const SVG = "http://www.w3.org/2000/svg", STEP = 104, ROW = 104, EDGE = 60;

function draw(name, attributes, text) {
	const made = document.createElementNS(SVG, name);
	for (const key in attributes) made.setAttribute(key, attributes[key]);
	if (text !== undefined) made.textContent = text;
	return made;
}

// ---- where parts stand: sockets on top, and below each what hangs on it ----

// Each part below the one by which it is nearest to a socket, over other lanes than NVLink; NVSwitches below GPUs; what
// no socket leads to is a root of its own.
function treeOf({parts, lanes}) {
	const parent = parts.map(() => -1), depth = parts.map(() => -1), children = parts.map(() => []);
	const queue = parts.map((part, i) => i).filter(i => parts[i].kind === "socket");
	queue.forEach(i => { depth[i] = 0; });
	const visit = beside => {
		for (let k = 0; k < queue.length; k++)
			for (const {a, b} of lanes.filter(lane => beside || !lane.beside))
				for (const [near, far] of [[a, b], [b, a]])
					if (near === queue[k] && depth[far] < 0) {
						depth[far] = depth[near] + 1;
						parent[far] = near;
						children[near].push(far);
						queue.push(far);
					}
	};
	visit(false);
	queue.splice(0, queue.length, ...parts.map((part, i) => i).filter(i => depth[i] >= 0));
	visit(true);
	parts.forEach((part, i) => {
		if (depth[i] < 0) { depth[i] = 0; queue.length = 0; queue.push(i); visit(true); }
	});
	return {parent, depth, children};
}

function placesOf(machine) {
	const tree = treeOf(machine), places = machine.parts.map(() => null);
	let column = 0;
	const place = i => {
		tree.children[i].sort((x, y) => natural(machine.parts[x].name, machine.parts[y].name)).forEach(place);
		const below = tree.children[i].map(k => places[k].x);
		const x = below.length ? (below[0] + below[below.length - 1]) / 2 : EDGE + STEP * column++;
		places[i] = {x, y: 40 + ROW * tree.depth[i]};
	};
	machine.parts.map((part, i) => i).filter(i => tree.parent[i] < 0)
		.sort((x, y) => natural(machine.parts[x].name, machine.parts[y].name)).forEach(place);
	return {places, width: Math.max(2 * EDGE, 2 * EDGE + STEP * (column - 1)), height: 80 + ROW * Math.max(...tree.depth)};
}

// ---- the drawing ----

const svg = draw("svg", {tabindex: 0, role: "application", "aria-roledescription": "drawing of a machine"});
const lineLayer = draw("g", {}), partLayer = draw("g", {});
const view = element("div", {class: "drawing"}), detail = element("p", {class: "detail", "aria-live": "polite"}, "Nothing chosen.");
svg.append(lineLayer, partLayer);
view.append(svg);
let machine, halves, shapes, chosen = null;

// A lane is two halves, each of what its end sends; lanes between the same parts lie beside each other.
function halvesOf(lane, i, places) {
	const twins = machine.lanes.slice(0, i).filter(other => other.a === lane.a && other.b === lane.b).length;
	const from = places[lane.a], to = places[lane.b], dx = to.x - from.x, dy = to.y - from.y, length = Math.hypot(dx, dy) || 1;
	const off = {x: -dy / length * 12 * twins, y: dx / length * 12 * twins};
	const ends = [from, to].map(({x, y}) => ({x: x + off.x, y: y + off.y})), middle = {x: (ends[0].x + ends[1].x) / 2, y: (ends[0].y + ends[1].y) / 2};
	const made = ends.map(({x, y}, side) => {
		const line = draw("line", {x1: x.toFixed(1), y1: y.toFixed(1), x2: middle.x.toFixed(1), y2: middle.y.toFixed(1), "data-lane": i, "data-side": side});
		lineLayer.append(line);
		return line;
	});
	const grip = draw("line", {x1: ends[0].x.toFixed(1), y1: ends[0].y.toFixed(1), x2: ends[1].x.toFixed(1), y2: ends[1].y.toFixed(1), "data-lane": i, class: "grip"});
	lineLayer.append(grip);
	return {lines: made, grip};
}

function shapeOf(part, i, places) {
	const isSocket = part.kind === "socket", isSwitch = ["switch", "nvswitch"].includes(part.kind), w = isSocket ? 84 : 68, h = isSocket ? 34 : 26, {name} = part;
	const shape = draw("g", {"data-part": i, transform: `translate(${places[i].x.toFixed(1)} ${places[i].y.toFixed(1)})`,
		class: `${isSocket || isSwitch ? "switch" : "host"} heat-0`});
	shape.append(draw("rect", {x: -w / 2, y: -h / 2, width: w, height: h, rx: isSocket ? 4 : isSwitch ? 1 : 10}),
		draw("text", {y: 4}, name.length > 10 ? name.slice(0, 9) + "…" : name));
	partLayer.append(shape);
	return shape;
}

function build() {
	const {places, width, height} = placesOf(machine);
	for (const layer of [lineLayer, partLayer]) layer.replaceChildren();
	svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
	svg.setAttribute("aria-label", `Inside of ${machine.name}: ${machine.parts.length} parts, ${machine.lanes.length} lanes. Arrow keys go from lane to lane.`);
	svg.style.minWidth = `${Math.min(width, 900)}px`;
	svg.style.maxWidth = `${Math.max(1.25 * width, 480)}px`;
	halves = machine.lanes.map((lane, i) => halvesOf(lane, i, places));
	shapes = machine.parts.map((part, i) => shapeOf(part, i, places));
}

// ---- shares of the time ----

const isKnown = lane => moment.frame === null || lane.frames !== null;
function shareOf(lane, side) {
	if (moment.frame === null) return data.time_ps ? Math.min(1, lane.busy_ps[side] / lane.links / data.time_ps) : NaN;
	if (!lane.frames) return NaN;
	return Math.min(1, lane.frames[side][moment.frame] / lane.links / (moment.end(moment.frame) - moment.begin(moment.frame)));
}

function paint() {
	machine.lanes.forEach((lane, i) => halves[i].lines.forEach((line, side) => {
		const share = shareOf(lane, side);
		line.setAttribute("class", `link lane-half heat-${heatOf(share)}`);
		line.dataset.busy = exists(share) ? share.toFixed(4) : "";
	}));
}

// ---- what is under the pointer or the keys ----

const nameOf = i => machine.parts[i].name;
function wayText(lane, side) {
	const [from, to] = side ? [lane.b, lane.a] : [lane.a, lane.b], waits = lane.starved_ps[side] / data.time_ps;
	return `${nameOf(from)} → ${nameOf(to)}: busy ${percentText(shareOf(lane, side))}` +
		(moment.frame === null ? `, carried ${bytesText(lane.bytes[side])}` + (waits > 0 ? `, waited for credits ${percentText(Math.min(1, waits))}` : "") : "");
}
function tell() {
	if (chosen === null) {
		detail.textContent = "Nothing chosen.";
		return;
	}
	const lane = machine.lanes[chosen];
	detail.replaceChildren(element("b", {}, `${nameOf(lane.a)} – ${nameOf(lane.b)}`), ` – ${lane.what}, ${bytesText(lane.rate_bps / 8)}/s each way` +
		(isKnown(lane) ? "" : "; of single moments nothing was kept here") + `; ${wayText(lane, 0)}; ${wayText(lane, 1)}`);
}
function choose(lane) {
	if (chosen !== null && halves[chosen]) halves[chosen].grip.classList.remove("chosen");
	chosen = lane;
	if (lane !== null) halves[lane].grip.classList.add("chosen");
	tell();
}

// Of a part, over the whole run: how long its reads waited for a tag, and what its engines have copied.
const ENGINES = {to_device: "copies from the host", from_device: "copies to the host", to_peers: "copies to other GPUs", from_peers: "copies from other GPUs", pushed: "pushed by a CPU", managed_in: "pages that come", managed_out: "pages that go"};
function tellPart(i) {
	const {name, kind, tags, engines} = machine.parts[i], share = ps => percentText(data.time_ps ? Math.min(1, ps / data.time_ps) : 0);
	const texts = [];
	if (tags) texts.push(`${tags.count} tags, a read takes ${timeText(tags.round_trip_ps)} in the mean, reads waited for one ${share(tags.dry_ps)}`);
	for (const engine of engines || [])
		if (engine.copies) texts.push(`${ENGINES[engine.name]}: busy ${share(engine.busy_ps)}, ${engine.copies} of ${bytesText(engine.bytes)} in all`);
	choose(null);
	detail.replaceChildren(element("b", {}, name), ` – ${kind}${texts.map(text => `; ${text}`).join("")}`);
}
svg.addEventListener("pointermove", event => {
	const at = event.target.closest && event.target.closest("[data-lane]");
	const part = event.target.closest && event.target.closest("[data-part]");
	if (at && !event.buttons) choose(Number(at.dataset.lane));
	else if (part && !event.buttons) tellPart(Number(part.dataset.part));
});
svg.addEventListener("click", event => {
	const at = event.target.closest && event.target.closest("[data-lane]");
	const part = event.target.closest && event.target.closest("[data-part]");
	if (part) tellPart(Number(part.dataset.part));
	else choose(at ? Number(at.dataset.lane) : null);
});
svg.addEventListener("keydown", event => {
	const way = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key], count = machine.lanes.length;
	if (event.key === "Escape") choose(null);
	if (!way || !count) return;
	event.preventDefault();
	choose(chosen === null ? (way > 0 ? 0 : count - 1) : (chosen + way + count) % count);
});

// ---- which machine ----

function show(number) {
	machine = data.machines[number];
	chosen = null;
	build();
	paint();
	tell();
}
const names = data.machines.map(({name}) => name), asked = names.indexOf(state.get("machine"));
const order = names.map((name, i) => i).sort((x, y) => natural(names[x], names[y]));
const select = element("select", {id: "machine"}, ...order.map(i => element("option", {value: i}, names[i])));
select.value = asked >= 0 ? asked : 0;
select.addEventListener("change", () => {
	show(Number(select.value));
	setState("machine", names[Number(select.value)]);
});
box.replaceChildren(element("div", {class: "controls"}, element("label", {for: "machine"}, "Machine "), select), view, detail);
show(Number(select.value));
moment.listeners.push(() => { paint(); tell(); });
})();
