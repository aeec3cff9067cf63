// SPDX-License-Identifier: BSD-2-Clause
// Where things stand in the drawing: hosts at the bottom, switches in layers by their distance from hosts. Large
// fabrics are folded: by pods where there are some, otherwise by leaf switches; so is a broad top layer.
// A unit is what has a place of its own: a node, or (from nodes.name.length on) a group that is closed.
const fold = (function () {
const {nodes, links} = data, count = nodes.name.length, FOLD_ABOVE = 200, POD_MOST = 100, TOP_MOST = 16, IN_A_ROW = innerWidth < 640 ? 4 : 20;
const neighbours = nodes.name.map(() => []);
links.name.forEach((_, i) => {
	neighbours[links.a[i]].push(links.b[i]);
	neighbours[links.b[i]].push(links.a[i]);
});
const byName = (a, b) => natural(nodes.name[a], nodes.name[b]);

const layer = (function () {
	const found = nodes.switch.map(isSwitch => isSwitch ? -1 : 0);
	let front = [];
	found.forEach((at, i) => { if (at === 0) front.push(i); });
	for (let at = 1; front.length; at++) {
		const next = [];
		for (const i of front)
			for (const k of neighbours[i])
				if (found[k] === -1) {
					found[k] = at;
					next.push(k);
				}
		front = next;
	}
	return found.map(at => at === -1 ? 1 : at); // a switch without hosts anywhere
})();
const top = layer.reduce((most, at) => Math.max(most, at), 0), hosts = layer.filter(at => at === 0).length;
// The leaf switch of a host.
const leafOf = nodes.name.map((_, i) => layer[i] === 0 ? neighbours[i].find(k => layer[k] === 1) : undefined);

// ---- groups ----

const groups = [], parentOf = nodes.name.map(() => -1); // the innermost group of a node
const isLarge = hosts > FOLD_ABOVE;

function group(kind, name, members, parent) {
	const g = groups.length, sorted = members.sort(byName);
	groups.push({kind, name, members: sorted, parent, isOpen: false, layer: kind === "top" ? top : 1,
		hosts: sorted.filter(i => !nodes.switch[i]).length});
	sorted.forEach(i => { parentOf[i] = g; });
	return g;
}

function groupLeaves(members, parent) {
	for (const leaf of members.filter(i => layer[i] === 1).sort(byName)) {
		const below = members.filter(i => leafOf[i] === leaf);
		if (below.length > 1) group("leaf", nodes.name[leaf], [leaf, ...below], parent);
	}
}

// What hangs together without the top layer.
function podsOf() {
	const pods = [], of = nodes.name.map((_, i) => layer[i] === top ? -2 : -1);
	of.forEach((at, i) => {
		if (at !== -1) return;
		const pod = [i];
		of[i] = pods.length;
		for (let k = 0; k < pod.length; k++)
			for (const next of neighbours[pod[k]])
				if (of[next] === -1) {
					of[next] = pods.length;
					pod.push(next);
				}
		pods.push(pod);
	});
	return pods;
}

if (isLarge) {
	const all = nodes.name.map((_, i) => i), pods = top >= 3 ? podsOf() : [];
	if (pods.length > 1)
		pods.sort((a, b) => byName(a.filter(i => layer[i] === 1).sort(byName)[0] || 0, b.filter(i => layer[i] === 1).sort(byName)[0] || 0))
			.forEach((members, k) => {
				const pod = group("pod", `pod ${k}`, members, -1);
				if (groups[pod].hosts > POD_MOST) groupLeaves(members, pod);
			});
	else groupLeaves(all, -1);
	const tops = all.filter(i => layer[i] === top);
	if (top >= 2 && tops.length > TOP_MOST) group("top", "top switches", tops, -1);
}

// ---- units ----

const isGroup = unit => unit >= count, groupAt = unit => groups[unit - count];
const chainOf = i => { // its groups, the outermost first
	const chain = [];
	for (let g = parentOf[i]; g >= 0; g = groups[g].parent) chain.unshift(g);
	return chain;
};
function unitOf(i) {
	const closed = chainOf(i).find(g => !groups[g].isOpen);
	return closed === undefined ? i : count + closed;
}
const nameOf = unit => isGroup(unit) ? groupAt(unit).name : nodes.name[unit];
const unitName = unit => isGroup(unit) ? nodes.name[groupAt(unit).members.find(i => layer[i] === groupAt(unit).layer)] || "" : nodes.name[unit];
const unitLayer = unit => isGroup(unit) ? groupAt(unit).layer : layer[unit];
const byUnitName = (a, b) => natural(unitName(a), unitName(b));

// Links between the same two units are one line: {links, a, b}; of a link, @isTurned: its a is at the line's b.
function linesOf() {
	const lines = [], known = new Map();
	links.name.forEach((_, i) => {
		const a = unitOf(links.a[i]), b = unitOf(links.b[i]);
		if (a === b) return;
		const key = a < b ? `${a} ${b}` : `${b} ${a}`, isBundle = isGroup(a) || isGroup(b);
		let line = isBundle ? known.get(key) : undefined;
		if (!line) {
			line = {links: [], a, b};
			lines.push(line);
			if (isBundle) known.set(key, line);
		}
		line.links.push({i, isTurned: line.a !== a});
	});
	return lines;
}

// ---- places ----

// Hosts stand in blocks below their switch; upper switches in the middle of what is below them.
function placeAll() {
	const units = [...new Set(nodes.name.map((_, i) => unitOf(i)))], lines = linesOf(), near = new Map(units.map(u => [u, []]));
	for (const {a, b} of lines) {
		near.get(a).push(b);
		near.get(b).push(a);
	}
	const rows = Array.from({length: top + 1}, () => []);
	for (const unit of units) rows[unitLayer(unit)].push(unit);
	const below = rows[0], first = (rows[1] || []).sort(byUnitName), of = new Map(first.map(u => [u, []])), rest = [];
	below.sort(byName).forEach(i => (of.get(leafOf[i]) || rest).push(i));
	const most = Math.max(1, ...first.map(u => of.get(u).length)), dense = below.length > 96 && !isLarge, step = dense ? 13 : 40;
	const columns = below.length <= 20 && first.length <= 2 ? most : Math.max(1, Math.ceil(Math.sqrt(most * (dense ? 0.7 : 1))));
	const rowCount = Math.ceil(most / columns), place = new Map();
	// Closed groups take turns in several rows where they are many.
	const closed = first.filter(isGroup).length, turns = closed > IN_A_ROW ? Math.ceil(closed / IN_A_ROW) : 1;
	const fallen = new Map();
	let x = 0, turn = 0;
	const block = (list, unit) => {
		const width = Math.max(1, Math.min(columns, list.length)), isFolded = unit !== undefined && isGroup(unit);
		list.forEach((i, k) => { place.set(i, {x: x + (k % width + 0.5) * step, y: Math.floor(k / width) * step}); });
		const middle = x + (isFolded ? 42 : width * step / 2);
		if (isFolded && turns > 1) {
			fallen.set(unit, turn % turns);
			turn++;
			x += turn % turns === 0 ? 96 : 0;
			return middle;
		}
		x += isFolded ? 96 : Math.max(width * step, dense ? 20 : 76) + (dense ? 10 : 24);
		return middle;
	};
	first.forEach(u => { place.set(u, {x: block(of.get(u), u), y: 0}); });
	if (turns > 1) x += 96;
	if (rest.length) block(rest);
	const upper = rows.slice(2).reduce((n, row) => Math.max(n, row.length), 0);
	const width = Math.max(x, dense ? 500 : 360, isLarge ? upper * 64 : 0), gap = dense ? Math.max(90, x * 0.085) : isLarge ? Math.max(96, width * 0.06) : 84;
	const shift = (width - x) / 2; // a single column of something narrow goes to the middle
	place.forEach(at => { at.x += shift; });
	const fall = (turns - 1) * 56, base = gap * top + (top > 0 ? 10 : 26) + fall;
	first.forEach(u => { place.get(u).y = gap * top - gap + 26 + (fallen.get(u) || 0) * 56; });
	for (const i of below) if (place.has(i)) place.get(i).y += base;
	for (let at = 2; at <= top; at++) placeUpper(rows[at], near, place, width, gap * (top - at) + 26);
	const height = gap * top + fall + (rowCount - 1) * step + (top > 0 ? 30 : 46);
	return {place, lines, width, height, dense, order: [...rows].reverse().flat()};
}

// In a fabric that is not folded they share the width; in a folded one they stay above what is theirs.
function placeUpper(row, near, place, width, y) {
	const mean = new Map(row.map(u => {
		const below = near.get(u).map(k => place.get(k)).filter(p => p);
		return [u, below.reduce((sum, p) => sum + p.x, 0) / Math.max(1, below.length)];
	}));
	row.sort((a, b) => Math.abs(mean.get(a) - mean.get(b)) < 1 ? byUnitName(a, b) : mean.get(a) - mean.get(b));
	if (!isLarge) {
		row.forEach((u, k) => place.set(u, {x: (k + 0.5) * width / row.length, y}));
		return;
	}
	let free = 32;
	for (let k = 0, end; k < row.length; k = end) {
		for (end = k + 1; end < row.length && mean.get(row[end]) - mean.get(row[k]) < 1;) end++;
		const latest = width - 32 - (row.length - 1 - k) * 64;
		free = Math.max(free, Math.min(mean.get(row[k]) - (end - k - 1) * 32, latest));
		for (let j = k; j < end; j++, free += 64) place.set(row[j], {x: free, y});
	}
}
return {groups, isLarge, isGroup, groupAt, chainOf, unitOf, nameOf, placeAll};
})();
