// SPDX-License-Identifier: BSD-2-Clause
// Tables that sort by a click on a column's head, or by Enter on it.
(function () {
const valueOf = cell => {
	const text = cell.dataset.v !== undefined ? cell.dataset.v : cell.textContent.replace(/\u202f/g, "");
	return text !== "" && !isNaN(text) ? Number(text) : text;
};
const order = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : natural(String(a), String(b));

for (const table of document.querySelectorAll("table.sortable"))
	table.querySelectorAll("th").forEach((head, column) => {
		const button = element("button", {type: "button"}, head.textContent);
		head.replaceChildren(button);
		button.addEventListener("click", () => {
			const down = head.getAttribute("aria-sort") !== "descending", body = table.tBodies[0];
			const rows = [...body.rows].map(row => [valueOf(row.cells[column]), row]);
			rows.sort((a, b) => down ? order(b[0], a[0]) : order(a[0], b[0]));
			table.querySelectorAll("th").forEach(other => other.removeAttribute("aria-sort"));
			head.setAttribute("aria-sort", down ? "descending" : "ascending");
			body.append(...rows.map(row => row[1]));
		});
	});
})();
