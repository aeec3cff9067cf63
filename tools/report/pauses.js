// SPDX-License-Identifier: BSD-2-Clause
// How pauses spread: the tree of who had whom pause, the roots first.
(function () {
const box = document.getElementById("pause-tree"), tree = data.pauses;
if (!box || !tree) return;
const {places, spans} = tree, AT_FIRST = 300;
const count = places.node.length, children = places.node.map(() => []), roots = [];
places.parent.forEach((parent, i) => (parent < 0 ? roots : children[parent]).push(i));
const hosts = new Set(data.nodes.name.filter((_, i) => !data.nodes.switch[i]));
const byLink = new Map(data.links.name.map((name, i) => [name, i]));
const peerOf = i => {
	const l = byLink.get(places.link[i]), {a, b} = data.links, {name} = data.nodes;
	return l === undefined ? NOTHING : name[name[a[l]] === places.node[i] ? b[l] : a[l]];
};

function reasonOf(i) {
	if (places.why[i] === "alone")
		return "no buffer had asked for it: a pause storm, or a fault that sends pauses";
	const held = `it held ${bytesText(places.held[i])} from there, the threshold was ${bytesText(places.limit[i])}`;
	if (hosts.has(places.node[i]))
		return held + ": it took packets in more slowly than its link brought them" +
			(places.inside[i] ? `, since ${places.inside[i]}` : "");
	if (places.queue_bytes[i] === 0)
		return held + "; next to nothing of it waited there: others had taken the shared buffer";
	const queue = `; most waited for ${places.way_out[i]}, ${bytesText(places.queue_bytes[i])}`;
	return held + queue + (places.why[i] === "paused" ? `, which had paused it`
		: `: more came than that link could take`);
}

function lineOf(i) {
	const last = places.last_ps[i], n = places.count[i];
	const line = element("span", {class: "pause-line"},
		element("b", {}, places.node[i]), " paused ", element("b", {}, peerOf(i)),
		` at ${timeText(places.first_ps[i])}`);
	const more = [];
	if (n > 1) more.push(`${n} times`);
	more.push(last === null ? `${timeText(places.total_ps[i])} in all, and for good`
		: `${timeText(places.total_ps[i])} in all, until ${timeText(last)}`);
	more.push(`priority ${places.priority[i]}`);
	line.append(element("span", {class: "muted"}, ` – ${more.join(", ")}`));
	return line;
}

const items = []; // by place
let left = 0;

function itemOf(i) {
	const peer = peerOf(i), item = element("li", {"data-place": i, "data-node": places.node[i], "data-peer": peer,
		"data-priority": places.priority[i], "data-count": places.count[i], "data-first-ps": places.first_ps[i],
		"data-total-ps": places.total_ps[i], "data-why": places.why[i]});
	items[i] = item;
	const reason = element("p", {class: "reason"}, reasonOf(i));
	left--;
	const below = left > 0 ? children[i].slice(0, left) : [];
	if (children[i].length === 0) {
		item.append(lineOf(i), reason);
		return item;
	}
	const details = element("details", {}, element("summary", {}, lineOf(i),
		element("span", {class: "led"}, ` led to ${children[i].length} more`)), reason);
	details.open = true;
	details.append(element("ul", {}, ...below.map(itemOf)));
	item.append(details);
	return item;
}

// The first thing that a reader wants: the one that began it all.
function summary() {
	const deepest = [];
	places.parent.forEach((parent, i) => { deepest[i] = parent < 0 ? 1 : deepest[parent] + 1; });
	const first = roots[0], depth = Math.max(...deepest), n = tree.count;
	const text = [element("b", {}, `${places.node[first]} was the first: it paused ${peerOf(first)} at ` +
		`${timeText(places.first_ps[first])}. `),
		`${n} ${n === 1 ? "pause" : "pauses"} in all, from ${roots.length} ${roots.length === 1 ? "root" : "roots"}, ` +
		`in chains of up to ${depth}.`];
	if (tree.deep) text.push(` ${tree.deep} had longer chains than 32: pauses went round in a circle.`);
	if (tree.other) text.push(` ${tree.other} more are not shown: there are too many ways that they took.`);
	if (tree.count - tree.other > spans.place.length)
		text.push(` The moments of the first ${spans.place.length} are known.`);
	return element("p", {class: "lead"}, ...text);
}

function show(limit) {
	left = limit;
	const list = element("ul", {class: "tree"}, ...roots.map(i => left > 0 ? itemOf(i) : null).filter(item => item));
	box.replaceChildren(summary(), list);
	const hidden = count - list.querySelectorAll("li").length;
	if (hidden > 0) {
		const all = element("button", {type: "button"}, `Show ${hidden} more`);
		all.addEventListener("click", () => { show(Infinity); light(moment.frame); });
		box.append(all);
	}
}

// Those that lasted at the chosen moment.
function light(frame) {
	const now = new Set();
	if (frame !== null)
		spans.place.forEach((place, k) => {
			const until = spans.until_ps[k];
			if (spans.from_ps[k] <= moment.end(frame) && (until === null || until > moment.begin(frame))) now.add(place);
		});
	items.forEach((item, i) => item && item.classList.toggle("now", now.has(i)));
}
if (count) show(AT_FIRST);
moment.listeners.push(light);
})();
