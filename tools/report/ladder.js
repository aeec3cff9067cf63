// SPDX-License-Identifier: BSD-2-Clause
// The packets of a flow as a ladder: hosts and switches side by side, time downwards.
(function () {
const box = document.getElementById("ladder");
if (!box || !data.packets) return;
const SVG = "http://www.w3.org/2000/svg", PAGE = 60, HEIGHT = 760, WIDEST = 960;
const MARKED = 1, CE = 2, AGAIN = 4, NAK = 8, RNR = 16, CNP = 32;
const {flows, opcodes, layouts, port_node, port_link} = data.packets, {nodes, links} = data;
const nodeIndex = new Map(nodes.name.map((name, i) => [name, i]));
const linkIndex = new Map(links.name.map((name, i) => [name, i]));

function draw(name, attributes, text) {
	const made = document.createElementNS(SVG, name);
	for (const key in attributes) made.setAttribute(key, attributes[key]);
	if (text !== undefined) made.textContent = text;
	return made;
}

// ---- what the records say ----

const kindOf = (flags, name) => flags & CNP ? "cnp" : flags & (NAK | RNR) ? "nak" : /ACK|RESPONSE/.test(name) ? "ack"
	: flags & AGAIN ? "again" : "data";

function arrowsOf(flow) {
	const first = flow.psn[0];
	return flow.at_ps.map((at, i) => {
		const port = flow.port[i], from = port_node[port], l = linkIndex.get(port_link[port]);
		const a = nodes.name[links.a[l]], rate = BigInt(links.rate_bps[l]);
		const time = (BigInt(flow.bytes[i]) * 8000000000000n + rate - 1n) / rate;
		const name = opcodes[flow.opcode[i]] || NOTHING;
		return {i, at, end: at + Number(time) + links.delay_ps[l], from, to: a === from ? nodes.name[links.b[l]] : a,
			name, psn: flow.psn[i], step: (flow.psn[i] - first) & 0xffffff, flags: flow.flags[i],
			net: headers.unpack(flow.headers.nets[flow.headers.net[i]]),
			transport: headers.unpack(flow.headers.transports[flow.headers.transport[i]]),
			layout: layouts[flow.opcode[i]] || [], kind: kindOf(flow.flags[i], name), bytes: flow.bytes[i], queue: flow.queue_bytes[i],
			before: null, after: null, lost: false};
	});
}

const isSwitch = name => nodes.switch[nodeIndex.get(name)];

// Which departure from a switch is of which arrival there: the first of that packet that nothing has
// overtaken yet, or else (ways of different lengths) the first. What was overtaken and never leaves is
// lost. A packet that is sent again by its host keeps the colour on its way.
function follow(arrows, sink) {
	const waiting = new Map(), way = arrow => `${arrow.kind === "data" || arrow.kind === "again"} `;
	for (const arrow of arrows) {
		if (isSwitch(arrow.from)) {
			const there = waiting.get(way(arrow) + arrow.from) || [];
			const same = other => other.name === arrow.name && other.psn === arrow.psn;
			const fresh = there.findIndex(other => same(other) && !other.lost), at = fresh < 0 ? there.findIndex(same) : fresh;
			if (at >= 0) {
				arrow.before = there[at];
				arrow.before.after = arrow;
				arrow.before.lost = false;
				if (arrow.before.kind === "again") arrow.kind = "again";
				for (const passed of there.slice(0, at)) passed.lost = true;
				there.splice(at, 1);
			}
		}
		if (isSwitch(arrow.to)) {
			const there = waiting.get(way(arrow) + arrow.to) || [];
			there.push(arrow);
			waiting.set(way(arrow) + arrow.to, there);
		}
	}
	// What the responder asks for did not come, or could not be taken.
	const atSink = new Map();
	for (const arrow of arrows) {
		if (arrow.kind === "nak" && arrow.flags & NAK && atSink.has(arrow.psn)) atSink.get(arrow.psn).lost = true;
		if (arrow.to === sink && way(arrow) === "true ") atSink.set(arrow.psn, arrow);
	}
}

// Hosts at both ends, switches between by how far they are from the source.
function lanesOf(arrows, source, sink) {
	const seen = new Set(arrows.flatMap(arrow => [arrow.from, arrow.to])), far = new Map([[source, 0]]);
	let front = [source];
	while (front.length) {
		const next = [];
		links.name.forEach((_, l) => {
			const a = nodes.name[links.a[l]], b = nodes.name[links.b[l]];
			for (const [from, to] of [[a, b], [b, a]])
				if (front.includes(from) && seen.has(to) && !far.has(to)) {
					far.set(to, far.get(from) + 1);
					next.push(to);
				}
		});
		front = next;
	}
	seen.add(source);
	if (sink !== "multicast") seen.add(sink);
	return [...seen].sort((a, b) => (a === sink) - (b === sink) || (far.get(a) || 0) - (far.get(b) || 0) || natural(a, b));
}

// ---- the queue pairs at a time ----

function stateAt(flow, end, at) {
	let state = "not there yet";
	for (const one of flow.states) if (one.end === end && one.at_ps <= at) state = one.state;
	return state;
}

function pairsAt(view, at) {
	const {flow, arrows, source, sink} = view;
	let sent = -1, acked = -1, answer = null;
	for (const arrow of arrows) {
		if (arrow.at > at) break;
		if (arrow.from === source && (arrow.kind === "data" || arrow.kind === "again")) sent = Math.max(sent, arrow.step);
		if (arrow.to === source && arrow.kind === "ack" && arrow.end <= at) acked = Math.max(acked, arrow.step);
		if (arrow.from === sink && (arrow.kind === "ack" || arrow.kind === "nak")) answer = arrow;
	}
	return {requester: stateAt(flow, "requester", at), responder: stateAt(flow, "responder", at), sent: sent + 1,
		acked: acked + 1, answer: answer ? `${words[answer.kind]} +${answer.step}` : "nothing"};
}

// ---- the picture ----

// As wide as there is room, so that words keep their size on a phone, too; where lanes are close their names
// take turns in two rows, and long ones are cut.
function shapeOf(lanes) {
	const width = Math.min(WIDEST, Math.max(260, Math.floor(box.clientWidth) || WIDEST)), isNarrow = width < 640;
	const left = isNarrow ? 76 : 92, right = isNarrow ? 16 : 40, step = (width - left - right) / Math.max(1, lanes.length - 1);
	const rows = step < 70 ? 2 : 1, letters = Math.max(4, Math.floor((rows * step - 6) / 7));
	return {width, left, right, step, rows, top: 32 + 14 * rows, isNarrow,
		nameOf: name => name.length > letters ? name.slice(0, letters - 1) + "…" : name};
}

// Time to height: long silences are cut short and told.
function scaleOf(arrows, top) {
	const times = [...new Set(arrows.flatMap(arrow => [arrow.at, arrow.end]))].sort((a, b) => a - b);
	const gaps = times.slice(1).map((t, i) => t - times[i]), sorted = [...gaps].sort((a, b) => a - b);
	const most = Math.max(1, 6 * (sorted[Math.floor(sorted.length * 0.9)] || 1));
	const total = gaps.reduce((sum, gap) => sum + Math.min(gap, most), 0) || 1, breaks = [], heights = new Map();
	let y = top + 14;
	heights.set(times[0], y);
	gaps.forEach((gap, i) => {
		const step = Math.min(gap, most) / total * (HEIGHT - top - 30);
		if (gap > most) breaks.push({y: y + step / 2, gap});
		y += step;
		heights.set(times[i + 1], y);
	});
	return {y: t => heights.get(t), breaks, times};
}

// In microseconds, with as many digits as it takes to tell the times of a page apart.
let digits = 3;
const exact = ps => (ps / 1e6).toFixed(digits) + "\u202fµs";

const words = {data: "packet", again: "sent again", ack: "ACK", nak: "NAK", cnp: "CNP"};
const svg = draw("svg", {viewBox: `0 0 ${WIDEST} ${HEIGHT}`, tabindex: 0, role: "application",
	"aria-roledescription": "ladder of packets", "aria-label": "Packets over time; up and down go from one to the next."});
const detail = element("p", {class: "detail", "aria-live": "polite", id: "ladder-text"});
let view = null, first = 0, chosen = null, painted = 0;

function textOf(arrow) {
	const notes = [];
	if (arrow.flags & AGAIN) notes.push("sent again");
	if (arrow.flags & MARKED) notes.push("ECN mark set here");
	else if (arrow.flags & CE) notes.push("ECN-marked");
	if (arrow.flags & NAK) notes.push("NAK");
	if (arrow.flags & RNR) notes.push("RNR NAK");
	if (arrow.before) notes.push(`waited ${timeText(arrow.at - arrow.before.end)} in ${arrow.from}`);
	if (arrow.queue) notes.push(`${bytesText(arrow.queue)} behind it`);
	if (arrow.lost) notes.push(isSwitch(arrow.to) ? `never left ${arrow.to}: lost` : `not taken by ${arrow.to}: lost on the way, or damaged`);
	return ` – PSN ${arrow.psn} (+${arrow.step}), ${arrow.bytes} bytes, ${arrow.from} ${exact(arrow.at)} → ` +
		`${arrow.to} ${exact(arrow.end)}` + (notes.length ? "; " + notes.join(", ") : "");
}

function choose(arrow) {
	if (chosen && chosen.shape) chosen.shape.classList.remove("chosen");
	chosen = arrow;
	if (arrow.shape) arrow.shape.classList.add("chosen");
	const at = pairsAt(view, arrow.end), {flow, source, sink} = view;
	detail.replaceChildren(element("b", {}, arrow.name), textOf(arrow), element("br"),
		element("span", {id: "qp-state", "data-at": arrow.end, "data-requester": at.requester, "data-responder": at.responder,
			"data-sent": at.sent, "data-acked": at.acked, "data-answer": at.answer},
			`Then: ${source} QP 0x${flow.requester_qpn.toString(16)} ${at.requester}, next PSN +${at.sent}, acknowledged below ` +
			`+${at.acked}, ${at.sent - at.acked} packets under way; ${sink} QP 0x${flow.responder_qpn.toString(16)} ` +
			`${at.responder}, its last answer: ${at.answer}.`));
}

// ---- the headers of a packet ----

const inspector = element("div", {id: "headers", class: "scroll tall", role: "region", tabindex: 0,
	"aria-label": "Headers of a packet", hidden: ""});

function inspect(arrow) {
	inspector.hidden = !arrow;
	if (!arrow) {
		inspector.replaceChildren();
		return;
	}
	const close = element("button", {type: "button", "aria-label": "Close the headers"}, "Close");
	close.addEventListener("click", () => { inspect(null); svg.focus({preventScroll: true}); });
	inspector.dataset.i = arrow.i;
	inspector.replaceChildren(element("div", {class: "controls"}, element("b", {}, `${arrow.name}, PSN ${arrow.psn}`),
		` from ${arrow.from} to ${arrow.to}, as a capture there shows it`, close),
	arrow.net ? headers.tableOf(arrow.net, arrow.transport, arrow.layout, arrow.name)
		: element("p", {class: "hint"}, "Its bytes are not known."));
	inspector.scrollTop = 0;
}
inspector.addEventListener("keydown", event => {
	if (event.key !== "Escape") return;
	inspect(null);
	svg.focus({preventScroll: true});
});
const follows = arrow => { if (!inspector.hidden) inspect(arrow); };

function paint() {
	const {arrows, lanes, source, sink} = view, shown = arrows.slice(first, first + PAGE);
	svg.replaceChildren();
	if (shown.length === 0) {
		detail.textContent = "No packet of this flow was sent.";
		return;
	}
	const shape = shapeOf(lanes), scale = scaleOf(shown, shape.top);
	const x = name => shape.left + lanes.indexOf(name) * shape.step;
	painted = shape.width;
	svg.setAttribute("viewBox", `0 0 ${shape.width} ${HEIGHT}`);
	lanes.forEach((name, k) => {
		const isLast = shape.isNarrow && lanes.length > 1 && k === lanes.length - 1, row = shape.rows > 1 && k % 2 ? 14 : 0;
		const at = isLast ? {x: shape.width - 2, class: "lane-name last"} : {x: x(name), class: "lane-name"};
		const label = draw("text", {...at, y: 16 + row}, shape.nameOf(name)), role = name === source ? "requester"
			: name === sink ? "responder" : "";
		label.append(draw("title", {}, name));
		svg.append(draw("line", {x1: x(name), x2: x(name), y1: shape.top - 8, y2: HEIGHT - 6, class: "lane"}), label);
		if (role) svg.append(draw("text", {...at, y: 17 + 14 * shape.rows, class: at.class.replace("name", "role")}, role));
	});
	const span = scale.times[scale.times.length - 1] - scale.times[0];
	digits = span < 2e6 ? 3 : span < 2e8 ? 2 : 1;
	let lastLabel = -100;
	for (const t of scale.times)
		if (scale.y(t) - lastLabel > 46) {
			lastLabel = scale.y(t);
			svg.append(draw("text", {x: 4, y: lastLabel + 4, class: "lane-time"}, exact(t)));
		}
	for (const {y, gap} of scale.breaks)
		svg.append(draw("line", {x1: shape.left - 8, x2: shape.width - shape.right + 8, y1: y, y2: y, class: "break"}),
			draw("text", {x: shape.width - shape.right + 6, y: y - 3, class: "break-text"}, `${timeText(gap)} without a packet`));
	for (const arrow of arrows) arrow.shape = null;
	for (const arrow of shown) {
		const group = draw("g", {class: "arrow " + arrow.kind + (arrow.flags & (MARKED | CE) ? " marked" : ""), "data-i": arrow.i,
			"data-at": arrow.at, "data-end": arrow.end, "data-from": arrow.from, "data-to": arrow.to, "data-psn": arrow.psn,
			"data-opcode": arrow.name, "data-kind": arrow.kind, "data-lost": arrow.lost});
		const x1 = x(arrow.from), x2 = x(arrow.to), y1 = scale.y(arrow.at), y2 = scale.y(arrow.end);
		const turn = Math.atan2(y2 - y1, x2 - x1) * 180 / Math.PI;
		if (arrow.before && shown.includes(arrow.before))
			group.append(draw("line", {x1, x2: x1, y1: scale.y(arrow.before.end), y2: y1, class: "wait"}));
		group.append(draw("line", {x1, y1, x2, y2}), draw("line", {x1, y1, x2, y2, class: "grip"}),
			draw("path", {d: "M0 0L-8 -3.4L-8 3.4Z", transform: `translate(${x2} ${y2}) rotate(${turn})`}));
		if (arrow.lost) group.append(draw("path", {d: "M-6 -6L6 6M6 -6L-6 6", transform: `translate(${x2} ${y2})`, class: "cross"}));
		arrow.shape = group;
		svg.append(group);
	}
	choose(shown.includes(chosen) ? chosen : shown[0]);
	count.textContent = `${first + 1} to ${first + shown.length} of ${arrows.length}`;
	back.disabled = first === 0;
	next.disabled = first + PAGE >= arrows.length;
}

function go(i, arrow) {
	first = Math.max(0, Math.min(i, view.arrows.length - 1));
	if (arrow) chosen = arrow;
	setState("packet", first || null);
	paint();
}

// ---- controls ----

const rowOf = new Map(data.flows.id.map((id, i) => [id, i]));
const choice = element("select", {id: "ladder-flow"}), jump = element("select", {id: "ladder-jump"});
const back = element("button", {type: "button"}, "Earlier"), next = element("button", {type: "button"}, "Later");
const count = element("output", {for: "ladder-flow"}), note = element("p", {class: "hint"});
const states = element("p", {class: "hint", id: "qp-states"});
flows.forEach((flow, k) => {
	const i = rowOf.get(flow.flow), {hosts, classes, src, dst, slowdown_millionths} = data.flows, wr = flow.request;
	choice.append(element("option", {value: k}, wr ? `${flow.flow}: ${wr.src} → ${wr.dst}, ${wr.opcode} of ${wr.program}, rank ` +
		`${wr.rank}, ${wr.time_ps === null ? wr.status : timeText(wr.time_ps)}` : i === undefined ? `flow ${flow.flow}` : `flow ${flow.flow}: ${hosts[src[i]]} → ` +
		`${hosts[dst[i]]}, ${classes[data.flows.class[i]]}` + (slowdown_millionths[i] < 0 ? `, ${data.flows.status[i] || "ok"}`
			: `, slowdown ${(slowdown_millionths[i] / 1e6).toFixed(2)}`)));
});

const jumps = [["the begin", () => true], ["first packet sent again", arrow => arrow.flags & AGAIN],
	["first loss", arrow => arrow.lost], ["first NAK", arrow => arrow.flags & (NAK | RNR)],
	["first ECN mark", arrow => arrow.flags & MARKED], ["first CNP", arrow => arrow.flags & CNP]];

function open(k) {
	const flow = flows[k], arrows = arrowsOf(flow), i = rowOf.get(flow.flow);
	const wr = flow.request;
	const source = wr ? wr.src : i === undefined ? (arrows[0] || {}).from : data.flows.hosts[data.flows.src[i]];
	const sink = wr ? wr.dst : i === undefined ? (arrows[0] || {}).to : data.flows.hosts[data.flows.dst[i]];
	follow(flow.left_out ? arrows.slice(0, 3000) : arrows, sink);
	view = {flow, arrows, source, sink, lanes: lanesOf(arrows, source, sink)};
	chosen = null;
	inspect(null);
	jump.replaceChildren(element("option", {value: ""}, "…"));
	jumps.forEach(([text, test], j) => {
		if (arrows.some(test)) jump.append(element("option", {value: j}, text));
	});
	const waited = arrows.filter(arrow => arrow.before).reduce((most, arrow) =>
		!most || arrow.at - arrow.before.end > most.at - most.before.end ? arrow : most, null);
	if (waited) jump.append(element("option", {value: waited.i + jumps.length},
		`longest wait in a switch, ${timeText(waited.at - waited.before.end)}`));
	const changes = end => flow.states.filter(one => one.end === end)
		.map(one => `${one.state} from ${timeText(one.at_ps)}`).join(", ") || "never there";
	const status = wr ? `; the request ended ${wr.status}` : i === undefined ? "" : `; the flow ended ${data.flows.status[i] || "ok"}`;
	states.textContent = `Queue pairs: requester ${changes("requester")}; responder ${changes("responder")}${status}.`;
	states.dataset.requester = flow.states.filter(one => one.end === "requester").map(one => one.state).join(" ");
	states.dataset.responder = flow.states.filter(one => one.end === "responder").map(one => one.state).join(" ");
	note.textContent = flow.left_out ? `${flow.left_out} starts of packets are left out: after the first 3000 only retransmissions, marks, NAKs ` +
		"and CNPs are kept." : "";
	setState("ladder", flow.flow);
}
choice.addEventListener("change", () => { open(Number(choice.value)); go(0); });
jump.addEventListener("change", () => {
	if (jump.value === "") return;
	const j = Number(jump.value), arrow = j >= jumps.length ? view.arrows[j - jumps.length] : view.arrows.find(jumps[j][1]);
	go(arrow.i - 12, arrow);
	jump.value = "";
});
back.addEventListener("click", () => go(first - PAGE));
next.addEventListener("click", () => go(first + PAGE));
svg.addEventListener("pointermove", event => {
	const shape = event.target.closest("[data-i]");
	if (shape) choose(view.arrows[Number(shape.dataset.i)]);
});
svg.addEventListener("click", event => {
	const shape = event.target.closest("[data-i]");
	if (!shape) return;
	choose(view.arrows[Number(shape.dataset.i)]);
	inspect(chosen);
});
svg.addEventListener("keydown", event => {
	if (event.key === "Enter" && chosen) inspect(inspector.hidden ? chosen : null);
	if (event.key === "Escape") inspect(null);
	const way = {ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1}[event.key];
	if (!way || !chosen) return;
	event.preventDefault();
	const to = view.arrows[chosen.i + way];
	if (!to) return;
	if (!to.shape) go(way > 0 ? to.i : Math.max(0, to.i - PAGE + 1), to);
	choose(to);
	follows(to);
});

const key = element("p", {class: "legend"}, ...Object.entries(words).map(([kind, text]) =>
	element("span", {class: "scale"}, element("i", {class: "ladder-" + kind}), " " + text)),
element("span", {class: "scale"}, element("i", {class: "ladder-wait"}), " waiting in a switch"));
box.append(element("div", {class: "controls"}, element("label", {for: "ladder-flow"}, "Packets of "), choice,
	element("label", {for: "ladder-jump"}, "go to "), jump, back, next, count), states, note,
element("div", {class: "drawing"}, svg), key, detail, inspector);
const wanted = flows.findIndex(flow => String(flow.flow) === state.get("ladder")), from = Number(state.get("packet")) || 0;
const hadState = state.has("ladder");
choice.value = Math.max(0, wanted);
open(Math.max(0, wanted));
go(from);
if (!hadState) setState("ladder", null);
new ResizeObserver(() => { if (view.arrows.length && painted !== shapeOf(view.lanes).width) paint(); }).observe(box);
})();
