// SPDX-License-Identifier: BSD-2-Clause
// Two pages beside each other, each from the text that stands in this one.
"use strict";
for (const frame of document.querySelectorAll("iframe[data-page]")) {
	const page = JSON.parse(document.getElementById(frame.dataset.page).textContent);

	frame.src = URL.createObjectURL(new Blob([page], { type: "text/html" }));
}
