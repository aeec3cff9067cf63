// SPDX-License-Identifier: BSD-2-Clause
// The headers of a packet, field by field: [name, bits, how its value is written, where it is defined]. What
// stands for itself comes first, what it means behind a dash. The bytes are those of a capture.
const headers = (function () {
const IBTA = "IBTA vol. 1, ", BTH = IBTA + "9.2", EXTENSION = IBTA + "9.3", A17 = IBTA + "annex A17";
const IPV4 = "RFC 791, 3.1", IPV6 = "RFC 8200, 3", IRN = "Mittal et al., SIGCOMM 2018, 4.3.1";
const INT = "none of IBTA’s: telemetry as in the HPCC authors’ simulator, int-header.h";

const plain = value => String(value), hex = (value, bits) => "0x" + value.toString(16).padStart(Math.ceil(bits / 4), "0");
const groups = (value, bits, each, by) => hex(value, bits).slice(2).match(new RegExp(`.{${each}}`, "g")).join(by);
const mac = (value, bits) => groups(value, bits, 2, ":");
const ipv4 = (value, bits) => groups(value, bits, 2, ".").split(".").map(byte => parseInt(byte, 16)).join(".");
const ipv6 = (value, bits) => groups(value, bits, 4, ":").split(":").map(word => word.replace(/^0{1,3}/, "")).join(":")
	.replace(/\b0(:0)+\b/, ":").replace(/:{3,}/, "::");
const named = (names, write = plain) => (value, bits) => write(value, bits) + (names[value] ? ` – ${names[value]}` : "");
const flag = (yes, no) => value => `${value} – ${value ? yes : no}`;
const ecn = named(["not ECN-capable", "ECT(1)", "ECT(0)", "CE: congestion was met"]);
const naks = ["PSN sequence error", "invalid request", "remote access error", "remote operational error", "invalid RD request"];
function syndrome(value, bits) {
	const type = Number(value) >> 5, low = Number(value) & 31;
	return hex(value, bits) + (type === 0 ? ` – ACK, ${low === 31 ? "no limit of credits" : "credit code " + low}`
		: type === 1 ? ` – RNR NAK, timer code ${low}` : type === 3 ? ` – NAK, ${naks[low] || "code " + low}` : "");
}

const FIELDS = {
	Ethernet: [["destination address", 48, mac, "IEEE 802.3"], ["source address", 48, mac, "IEEE 802.3"]],
	"802.1Q tag": [["tag protocol", 16, hex, "IEEE 802.1Q"], ["priority (PCP)", 3, plain, "IEEE 802.1Q"],
		["drop eligible (DEI)", 1, plain, "IEEE 802.1Q"], ["VLAN", 12, plain, "IEEE 802.1Q"]],
	Ethertype: [["Ethertype", 16, named({0x0800: "IPv4", 0x86dd: "IPv6"}, hex), "IEEE 802.3"]],
	IPv4: [["version", 4, plain, IPV4], ["header length", 4, value => `${value} – ${value * 4n} bytes`, IPV4],
		["DSCP", 6, plain, "RFC 2474, 3"], ["ECN", 2, ecn, "RFC 3168, 5"], ["total length", 16, plain, IPV4],
		["identification", 16, hex, IPV4], ["reserved flag", 1, plain, IPV4], ["don’t fragment", 1, plain, IPV4],
		["more fragments", 1, plain, IPV4], ["fragment offset", 13, plain, IPV4], ["time to live", 8, plain, IPV4],
		["protocol", 8, named({17: "UDP"}), IPV4], ["header checksum", 16, hex, IPV4],
		["source address", 32, ipv4, IPV4], ["destination address", 32, ipv4, IPV4]],
	IPv6: [["version", 4, plain, IPV6], ["DSCP", 6, plain, "RFC 2474, 3"], ["ECN", 2, ecn, "RFC 3168, 5"],
		["flow label", 20, hex, IPV6], ["payload length", 16, plain, IPV6], ["next header", 8, named({17: "UDP"}), IPV6],
		["hop limit", 8, plain, IPV6], ["source address", 128, ipv6, IPV6], ["destination address", 128, ipv6, IPV6]],
	UDP: [["source port", 16, plain, "RFC 768"], ["destination port", 16, named({4791: "RoCEv2"}), "RFC 768; " + A17],
		["length", 16, plain, "RFC 768"], ["checksum", 16, flag("", "none: the ICRC is there for it"), "RFC 768"]],
	BTH: [["opcode", 8, hex, BTH], ["solicited event", 1, plain, BTH], ["MigReq", 1, plain, BTH],
		["pad count", 2, plain, BTH], ["transport version", 4, plain, BTH], ["P_Key", 16, hex, BTH],
		["FECN", 1, plain, BTH], ["BECN", 1, plain, BTH + "; " + A17], ["reserved", 6, plain, BTH],
		["destination QP", 24, hex, BTH], ["acknowledge request", 1, plain, BTH],
		["reserved", 7, value => value & 0x40n ? `${value} – telemetry follows (not IBTA’s)` : plain(value), BTH],
		["PSN", 24, plain, BTH]],
	RDETH: [["reserved", 8, plain, EXTENSION], ["EE context", 24, hex, EXTENSION]],
	DETH: [["Q_Key", 32, hex, EXTENSION], ["reserved", 8, plain, EXTENSION], ["source QP", 24, hex, EXTENSION]],
	XRCETH: [["reserved", 8, plain, IBTA + "annex A14"], ["XRC SRQ", 24, hex, IBTA + "annex A14"]],
	FETH: [["selectivity and type", 32, hex, IBTA + "annex A19"]],
	RETH: [["virtual address", 64, hex, EXTENSION], ["R_Key", 32, hex, EXTENSION], ["DMA length", 32, plain, EXTENSION]],
	AtomicETH: [["virtual address", 64, hex, EXTENSION], ["R_Key", 32, hex, EXTENSION],
		["swap or add", 64, hex, EXTENSION], ["compare", 64, hex, EXTENSION]],
	SETH: [["reserved", 8, plain, IRN], ["number of the receive", 24, plain, IRN], ["offset", 32, plain, IRN]],
	AETH: [["syndrome", 8, syndrome, EXTENSION], ["MSN", 24, plain, EXTENSION]],
	ImmDt: [["immediate data", 32, hex, EXTENSION]],
	IETH: [["R_Key", 32, hex, EXTENSION]],
	SACKETH: [["reserved", 8, plain, IRN], ["PSN that came", 24, plain, IRN], ["those before it", 32, hex, IRN]],
	AtomicAckETH: [["original value", 64, hex, EXTENSION]],
	CNP: [["reserved", 128, hex, IBTA + "annex A17.9.3"]],
	Telemetry: [["hops", 8, plain, INT], ["reserved", 24, plain, INT],
		...[1, 2, 3, 4, 5].map(hop => [`hop ${hop}`, 64, hex, INT])],
	ICRC: [["invariant CRC", 32, hex, IBTA + "7.8.1; annex A17.3.3"]],
};
const TITLES = {Ethernet: "Ethernet", UDP: "UDP", BTH: "Base transport header (BTH)", CNP: "Rest of a CNP"};

// @net: from Ethernet to UDP, @transport: BTH, what follows it and the ICRC, both hexadecimal; @layout: what
// follows the BTH. A list of {header, from, fields: [{name, bits, value, text, clause}]}; @from: byte of the frame.
function read(net, transport, layout, opcode) {
	const found = [], part = (text, names, from) => {
		const all = BigInt("0x" + text), total = text.length * 4;
		let at = 0;
		for (const header of names) {
			const begin = at, fields = FIELDS[header].map(([name, bits, write, clause]) => {
				at += bits;
				const value = all >> BigInt(total - at) & (1n << BigInt(bits)) - 1n;
				return {name, bits, value, clause, text: name === "opcode" ? `${hex(value, bits)} – ${opcode}` : write(value, bits)};
			});
			found.push({header, from: from + begin / 8, to: from + at / 8, fields});
		}
	};
	const tag = net.slice(24, 28) === "8100" ? ["802.1Q tag"] : [], type = net.substr(tag.length ? 32 : 24, 4);
	const bytes = net.length / 2, udp = parseInt(net.slice(-8, -4), 16), icrc = bytes - 12 + udp;
	part(net, ["Ethernet", ...tag, "Ethertype", type === "86dd" ? "IPv6" : "IPv4", "UDP"], 0);
	part(transport.slice(0, -8), ["BTH", ...layout, ...(parseInt(transport.substr(16, 2), 16) & 0x40 ? ["Telemetry"] : [])], bytes);
	const payload = icrc - found[found.length - 1].to;
	if (payload > 0) found.push({header: "Payload", from: icrc - payload, to: icrc, fields: []});
	part(transport.slice(-8), ["ICRC"], icrc);
	return found;
}

// A table of them.
function tableOf(net, transport, layout, opcode) {
	const table = element("table", {class: "headers"}, element("thead", {}, element("tr", {}, ...["field", "value", "defined in"]
		.map(text => element("th", {scope: "col", class: "text"}, text)))));
	for (const {header, from, to, fields} of read(net, transport, layout, opcode))
		table.append(element("tbody", {"data-header": header, "data-from": from, "data-to": to},
			element("tr", {}, element("th", {colspan: 3, scope: "rowgroup"}, TITLES[header] || header, element("small", {},
				` bytes ${from} to ${to - 1}` + (fields.length ? "" : ", with its pad")))),
			...fields.map(({name, bits, value, text, clause}) => element("tr", {"data-field": name, "data-bits": bits,
				"data-value": value}, element("td", {class: "text"}, name), element("td", {class: "text"}, text),
			element("td", {class: "text muted"}, clause)))));
	return table;
}

// Hexadecimal of hexadecimal in which (N) stands for N bytes of zeros.
const unpack = text => text.replace(/\((\d+)\)/g, (_, bytes) => "00".repeat(Number(bytes)));

return {tableOf, unpack};
})();
