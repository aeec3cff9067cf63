// SPDX-License-Identifier: BSD-2-Clause
// The table of flows: all that the page knows, searched and sorted; a page of it at a time.
(function () {
const table = document.getElementById("flow-table"), box = document.getElementById("flow-search");
if (!table) return;
const PAGE = 100, {flows} = data, all = flows.id.map((_, i) => i);
const time = ps => timeText(ps < 0 ? null : ps);
const statusOf = i => flows.status[i] || "ok";
const columns = [
	{key: "id", of: i => flows.id[i], text: i => String(flows.id[i])},
	{key: "class", of: i => flows.classes[flows.class[i]], isText: true},
	{key: "from", of: i => flows.hosts[flows.src[i]], isText: true},
	{key: "to", of: i => flows.hosts[flows.dst[i]], isText: true},
	{key: "bytes", of: i => flows.bytes[i], text: i => bytesText(flows.bytes[i])},
	{key: "start", of: i => flows.start_ps[i], text: i => time(flows.start_ps[i])},
	{key: "fct", of: i => flows.fct_ps[i], text: i => time(flows.fct_ps[i])},
	{key: "ideal", of: i => flows.ideal_ps[i], text: i => time(flows.ideal_ps[i])},
	{key: "slowdown", of: i => flows.slowdown_millionths[i],
		text: i => flows.slowdown_millionths[i] < 0 ? NOTHING : (flows.slowdown_millionths[i] / 1e6).toFixed(2)},
	{key: "again", of: i => flows.packets_retransmitted[i], text: i => String(flows.packets_retransmitted[i])},
	{key: "status", of: statusOf, isText: true},
];
const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
let shown = all, first = 0, sorted = null, isDown = true;

// ---- searching: words, each of which must be in the flow; KEY:WORD, KEY>NUMBER, KEY<NUMBER of a column ----

const haystack = i => columns.filter(column => column.isText).map(column => column.of(i)).join(" ").toLowerCase();
function testOf(word) {
	const found = /^([a-z]+)([:<>])(.+)$/.exec(word), column = found && columns.find(one => one.key === found[1]);
	if (!column) return i => String(flows.id[i]) === word || haystack(i).includes(word);
	if (found[2] === ":") return column.isText ? i => column.of(i).toLowerCase() === found[3]
		: i => column.of(i) === Number(found[3]);
	const by = column.key === "slowdown" ? 1e6 : 1, limit = Number(found[3]) * by;
	return found[2] === "<" ? i => column.of(i) < limit : i => column.of(i) > limit;
}
function search(text) {
	const tests = text.toLowerCase().split(/\s+/).filter(word => word).map(testOf);
	shown = tests.length ? all.filter(i => tests.every(test => test(i))) : all.slice();
	sort();
}

// ---- sorting ----

function sort() {
	if (sorted !== null) {
		const {of, isText} = columns[sorted], way = isDown ? -1 : 1;
		shown.sort((a, b) => way * (isText ? natural(of(a), of(b)) : of(a) - of(b)) || a - b);
	}
	first = 0;
	show();
}
heads.forEach((head, column) => {
	const button = element("button", {type: "button"}, head.textContent);
	head.replaceChildren(button);
	button.addEventListener("click", () => {
		isDown = sorted !== column || !isDown;
		sorted = column;
		heads.forEach(other => other.removeAttribute("aria-sort"));
		head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
		shown = shown.slice();
		sort();
	});
});

// ---- showing ----

const field = element("input", {type: "search", id: "flow-field", size: 34, "aria-describedby": "flow-help",
	placeholder: "h3, incast, from:h3, slowdown>5"});
const count = element("output", {for: "flow-field", id: "flow-count"});
const back = element("button", {type: "button"}, "Previous"), next = element("button", {type: "button"}, "Next");
field.addEventListener("input", () => {
	search(field.value);
	setState("flows", field.value);
});
back.addEventListener("click", () => { first -= PAGE; show(); });
next.addEventListener("click", () => { first += PAGE; show(); });

function rowOf(i) {
	const row = element("tr", {"data-flow": flows.id[i]});
	for (const {key, of, isText, text} of columns) {
		const cell = element("td", {"data-v": of(i)}, isText ? of(i) : text(i));
		if (isText) cell.className = key === "status" ? "text " + (flows.status[i] ? "bad" : "good") : "text";
		row.append(cell);
	}
	return row;
}
function show() {
	const last = Math.min(first + PAGE, shown.length);
	body.replaceChildren(...shown.slice(first, last).map(rowOf));
	count.textContent = shown.length === 0 ? "none" : `${first + 1} to ${last} of ${shown.length}`;
	count.dataset.count = shown.length;
	back.disabled = first === 0;
	next.disabled = last >= shown.length;
}
box.append(element("label", {for: "flow-field"}, "Search "), field, back, next, count,
	element("span", {class: "muted", id: "flow-help"},
		"Words, each of which must be there; of a column: class: from: to: status: bytes> start> fct> ideal> slowdown> again>, in bytes and ps."));
field.value = state.get("flows") || "";
search(field.value);
})();
