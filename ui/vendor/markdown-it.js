/*! markdown-it 15.0.3 https://github.com/markdown-it/markdown-it @license MIT */
//#region \0rolldown/runtime.js
var e = Object.defineProperty, t = (t, n) => {
let r = {};
for (var i in t) e(r, i, {
get: t[i],
enumerable: !0
});
return n || e(r, Symbol.toStringTag, { value: "Module" }), r;
}, n = {};
function r(e) {
let t = n[e];
if (t) return t;
t = n[e] = [];
for (let e = 0; e < 128; e++) {
let n = String.fromCharCode(e);
t.push(n);
}
for (let n = 0; n < e.length; n++) {
let r = e.charCodeAt(n);
t[r] = "%" + ("0" + r.toString(16).toUpperCase()).slice(-2);
}
return t;
}
function i(e, t) {
typeof t != "string" && (t = i.defaultChars);
let n = r(t);
return e.replace(/(%[a-f0-9]{2})+/gi, function(e) {
let t = "";
for (let r = 0, i = e.length; r < i; r += 3) {
let a = parseInt(e.slice(r + 1, r + 3), 16);
if (a < 128) t += n[a];
else {
if ((a & 224) == 192 && r + 3 < i) {
let n = parseInt(e.slice(r + 4, r + 6), 16);
if ((n & 192) == 128) {
let e = a << 6 & 1984 | n & 63;
t += e < 128 ? "��" : String.fromCharCode(e), r += 3;
continue;
}
}
if ((a & 240) == 224 && r + 6 < i) {
let n = parseInt(e.slice(r + 4, r + 6), 16), i = parseInt(e.slice(r + 7, r + 9), 16);
if ((n & 192) == 128 && (i & 192) == 128) {
let e = a << 12 & 61440 | n << 6 & 4032 | i & 63;
t += e < 2048 || e >= 55296 && e <= 57343 ? "���" : String.fromCharCode(e), r += 6;
continue;
}
}
if ((a & 248) == 240 && r + 9 < i) {
let n = parseInt(e.slice(r + 4, r + 6), 16), i = parseInt(e.slice(r + 7, r + 9), 16), o = parseInt(e.slice(r + 10, r + 12), 16);
if ((n & 192) == 128 && (i & 192) == 128 && (o & 192) == 128) {
let e = a << 18 & 1835008 | n << 12 & 258048 | i << 6 & 4032 | o & 63;
e < 65536 || e > 1114111 ? t += "����" : (e -= 65536, t += String.fromCharCode(55296 + (e >> 10), 56320 + (e & 1023))), r += 9;
continue;
}
}
t += "�";
}
}
return t;
});
}
i.defaultChars = ";/?:@&=+$,#", i.componentChars = "";
//#region node_modules/mdurl/lib/encode.mjs
var a = {};
function o(e) {
let t = a[e];
if (t) return t;
t = a[e] = [];
for (let e = 0; e < 128; e++) {
let n = String.fromCharCode(e);
/^[0-9a-z]$/i.test(n) ? t.push(n) : t.push("%" + ("0" + e.toString(16).toUpperCase()).slice(-2));
}
for (let n = 0; n < e.length; n++) t[e.charCodeAt(n)] = e[n];
return t;
}
function s(e, t, n) {
typeof t != "string" && (n = t, t = s.defaultChars), n === void 0 && (n = !0);
let r = o(t), i = "";
for (let t = 0, a = e.length; t < a; t++) {
let o = e.charCodeAt(t);
if (n && o === 37 && t + 2 < a && /^[0-9a-f]{2}$/i.test(e.slice(t + 1, t + 3))) i += e.slice(t, t + 3), t += 2;
else if (o < 128) i += r[o];
else if (o >= 55296 && o <= 57343) {
if (o >= 55296 && o <= 56319 && t + 1 < a) {
let n = e.charCodeAt(t + 1);
if (n >= 56320 && n <= 57343) {
i += encodeURIComponent(e[t] + e[t + 1]), t++;
continue;
}
}
i += "%EF%BF%BD";
} else i += encodeURIComponent(e[t]);
}
return i;
}
s.defaultChars = ";/?:@&=+$,-_.!~*'()#", s.componentChars = "-_.!~*'()";
//#region node_modules/mdurl/lib/format.mjs
function c(e) {
let t = "";
return t += e.protocol || "", t += e.slashes ? "//" : "", t += e.auth ? e.auth + "@" : "", e.hostname && e.hostname.indexOf(":") !== -1 ? t += "[" + e.hostname + "]" : t += e.hostname || "", t += e.port ? ":" + e.port : "", t += e.pathname || "", t += e.search || "", t += e.hash || "", t;
}
//#region node_modules/mdurl/lib/parse.mjs
function l() {
this.protocol = null, this.slashes = null, this.auth = null, this.port = null, this.hostname = null, this.hash = null, this.search = null, this.pathname = null;
}
var u = /^([a-z0-9.+-]+:)/i, d = /:[0-9]*$/, f = /^(\/\/?(?!\/)[^\?\s]*)(\?[^\s]*)?$/, p = [
"%",
"/",
"?",
";",
"#",
"'",
"{",
"}",
"|",
"\\",
"^",
"`",
"<",
">",
"\"",
"`",
" ",
"\r",
"\n",
"	"
], m = [
"/",
"?",
"#"
], h = 255, g = /^[+a-z0-9A-Z_-]{0,63}$/, _ = /^([+a-z0-9A-Z_-]{0,63})(.*)$/, v = {
javascript: !0,
"javascript:": !0
}, y = {
http: !0,
https: !0,
ftp: !0,
gopher: !0,
file: !0,
"http:": !0,
"https:": !0,
"ftp:": !0,
"gopher:": !0,
"file:": !0
};
function b(e, t) {
if (e && e instanceof l) return e;
let n = new l();
return n.parse(e, t), n;
}
l.prototype.parse = function(e, t) {
let n, r, i, a = e;
if (a = a.trim(), !t && e.split("#").length === 1) {
let e = f.exec(a);
if (e) return this.pathname = e[1], e[2] && (this.search = e[2]), this;
}
let o = u.exec(a);
if (o && (o = o[0], n = o.toLowerCase(), this.protocol = o, a = a.substr(o.length)), (t || o || a.match(/^\/\/[^@\/]+@[^@\/]+/)) && (i = a.substr(0, 2) === "//", i && !(o && v[o]) && (a = a.substr(2), this.slashes = !0)), !v[o] && (i || o && !y[o])) {
let e = -1;
for (let t = 0; t < m.length; t++) r = a.indexOf(m[t]), r !== -1 && (e === -1 || r < e) && (e = r);
let t, n;
n = e === -1 ? a.lastIndexOf("@") : a.lastIndexOf("@", e), n !== -1 && (t = a.slice(0, n), a = a.slice(n + 1), this.auth = t), e = -1;
for (let t = 0; t < p.length; t++) r = a.indexOf(p[t]), r !== -1 && (e === -1 || r < e) && (e = r);
e === -1 && (e = a.length), a[e - 1] === ":" && e--;
let i = a.slice(0, e);
a = a.slice(e), this.parseHost(i), this.hostname = this.hostname || "";
let o = this.hostname[0] === "[" && this.hostname[this.hostname.length - 1] === "]";
if (!o) {
let e = this.hostname.split(/\./);
for (let t = 0, n = e.length; t < n; t++) {
let n = e[t];
if (n && !n.match(g)) {
let r = "";
for (let e = 0, t = n.length; e < t; e++) n.charCodeAt(e) > 127 ? r += "x" : r += n[e];
if (!r.match(g)) {
let r = e.slice(0, t), i = e.slice(t + 1), o = n.match(_);
o && (r.push(o[1]), i.unshift(o[2])), i.length && (a = i.join(".") + a), this.hostname = r.join(".");
break;
}
}
}
}
this.hostname.length > h && (this.hostname = ""), o && (this.hostname = this.hostname.substr(1, this.hostname.length - 2));
}
let s = a.indexOf("#");
s !== -1 && (this.hash = a.substr(s), a = a.slice(0, s));
let c = a.indexOf("?");
return c !== -1 && (this.search = a.substr(c), a = a.slice(0, c)), a && (this.pathname = a), y[n] && this.hostname && !this.pathname && (this.pathname = ""), this;
}, l.prototype.parseHost = function(e) {
let t = d.exec(e);
t && (t = t[0], t !== ":" && (this.port = t.substr(1)), e = e.substr(0, e.length - t.length)), e && (this.hostname = e);
};
//#region node_modules/mdurl/index.mjs
var x = /* @__PURE__ */ t({
decode: () => i,
encode: () => s,
format: () => c,
parse: () => b
}), S = /* @__PURE__ */ t({
Any: () => C,
Cc: () => ee,
Cf: () => te,
P: () => ne,
S: () => re,
Z: () => ie
}), C = /[\0-\uD7FF\uE000-\uFFFF]|[\uD800-\uDBFF][\uDC00-\uDFFF]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?:[^\uD800-\uDBFF]|^)[\uDC00-\uDFFF]/, ee = /[\0-\x1F\x7F-\x9F]/, te = /[\xAD\u0600-\u0605\u061C\u06DD\u070F\u0890\u0891\u08E2\u180E\u200B-\u200F\u202A-\u202E\u2060-\u2064\u2066-\u206F\uFEFF\uFFF9-\uFFFB]|\uD804[\uDCBD\uDCCD]|\uD80D[\uDC30-\uDC3F]|\uD82F[\uDCA0-\uDCA3]|\uD834[\uDD73-\uDD7A]|\uDB40[\uDC01\uDC20-\uDC7F]/, ne = /[!-#%-\*,-\/:;\?@\[-\]_\{\}\xA1\xA7\xAB\xB6\xB7\xBB\xBF\u037E\u0387\u055A-\u055F\u0589\u058A\u05BE\u05C0\u05C3\u05C6\u05F3\u05F4\u0609\u060A\u060C\u060D\u061B\u061D-\u061F\u066A-\u066D\u06D4\u0700-\u070D\u07F7-\u07F9\u0830-\u083E\u085E\u0964\u0965\u0970\u09FD\u0A76\u0AF0\u0C77\u0C84\u0DF4\u0E4F\u0E5A\u0E5B\u0F04-\u0F12\u0F14\u0F3A-\u0F3D\u0F85\u0FD0-\u0FD4\u0FD9\u0FDA\u104A-\u104F\u10FB\u1360-\u1368\u1400\u166E\u169B\u169C\u16EB-\u16ED\u1735\u1736\u17D4-\u17D6\u17D8-\u17DA\u1800-\u180A\u1944\u1945\u1A1E\u1A1F\u1AA0-\u1AA6\u1AA8-\u1AAD\u1B4E\u1B4F\u1B5A-\u1B60\u1B7D-\u1B7F\u1BFC-\u1BFF\u1C3B-\u1C3F\u1C7E\u1C7F\u1CC0-\u1CC7\u1CD3\u2010-\u2027\u2030-\u2043\u2045-\u2051\u2053-\u205E\u207D\u207E\u208D\u208E\u2308-\u230B\u2329\u232A\u2768-\u2775\u27C5\u27C6\u27E6-\u27EF\u2983-\u2998\u29D8-\u29DB\u29FC\u29FD\u2CF9-\u2CFC\u2CFE\u2CFF\u2D70\u2E00-\u2E2E\u2E30-\u2E4F\u2E52-\u2E5D\u3001-\u3003\u3008-\u3011\u3014-\u301F\u3030\u303D\u30A0\u30FB\uA4FE\uA4FF\uA60D-\uA60F\uA673\uA67E\uA6F2-\uA6F7\uA874-\uA877\uA8CE\uA8CF\uA8F8-\uA8FA\uA8FC\uA92E\uA92F\uA95F\uA9C1-\uA9CD\uA9DE\uA9DF\uAA5C-\uAA5F\uAADE\uAADF\uAAF0\uAAF1\uABEB\uFD3E\uFD3F\uFE10-\uFE19\uFE30-\uFE52\uFE54-\uFE61\uFE63\uFE68\uFE6A\uFE6B\uFF01-\uFF03\uFF05-\uFF0A\uFF0C-\uFF0F\uFF1A\uFF1B\uFF1F\uFF20\uFF3B-\uFF3D\uFF3F\uFF5B\uFF5D\uFF5F-\uFF65]|\uD800[\uDD00-\uDD02\uDF9F\uDFD0]|\uD801\uDD6F|\uD802[\uDC57\uDD1F\uDD3F\uDE50-\uDE58\uDE7F\uDEF0-\uDEF6\uDF39-\uDF3F\uDF99-\uDF9C]|\uD803[\uDD6E\uDEAD\uDED0\uDF55-\uDF59\uDF86-\uDF89]|\uD804[\uDC47-\uDC4D\uDCBB\uDCBC\uDCBE-\uDCC1\uDD40-\uDD43\uDD74\uDD75\uDDC5-\uDDC8\uDDCD\uDDDB\uDDDD-\uDDDF\uDE38-\uDE3D\uDEA9\uDFD4\uDFD5\uDFD7\uDFD8]|\uD805[\uDC4B-\uDC4F\uDC5A\uDC5B\uDC5D\uDCC6\uDDC1-\uDDD7\uDE41-\uDE43\uDE60-\uDE6C\uDEB9\uDF3C-\uDF3E]|\uD806[\uDC3B\uDD44-\uDD46\uDDE2\uDE3F-\uDE46\uDE9A-\uDE9C\uDE9E-\uDEA2\uDF00-\uDF09\uDFE1]|\uD807[\uDC41-\uDC45\uDC70\uDC71\uDEF7\uDEF8\uDF43-\uDF4F\uDFFF]|\uD809[\uDC70-\uDC74]|\uD80B[\uDFF1\uDFF2]|\uD81A[\uDE6E\uDE6F\uDEF5\uDF37-\uDF3B\uDF44]|\uD81B[\uDD6D-\uDD6F\uDE97-\uDE9A\uDFE2]|\uD82F\uDC9F|\uD836[\uDE87-\uDE8B]|\uD839\uDDFF|\uD83A[\uDD5E\uDD5F]/, re = /\p{S}/u, ie = /[ \xA0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]/;
//#region \0@oxc-project+runtime@0.154.0/helpers/esm/typeof.js
function E(e) {
"@babel/helpers - typeof";
return E = typeof Symbol == "function" && typeof Symbol.iterator == "symbol" ? function(e) {
return typeof e;
} : function(e) {
return e && typeof Symbol == "function" && e.constructor === Symbol && e !== Symbol.prototype ? "symbol" : typeof e;
}, E(e);
}
//#region \0@oxc-project+runtime@0.154.0/helpers/esm/toPrimitive.js
function de(e, t) {
if (E(e) != "object" || !e) return e;
var n = e[Symbol.toPrimitive];
if (n !== void 0) {
var r = n.call(e, t || "default");
if (E(r) != "object") return r;
throw TypeError("@@toPrimitive must return a primitive value.");
}
return (t === "string" ? String : Number)(e);
}
//#region \0@oxc-project+runtime@0.154.0/helpers/esm/toPropertyKey.js
function fe(e) {
var t = de(e, "string");
return E(t) == "symbol" ? t : t + "";
}
//#region \0@oxc-project+runtime@0.154.0/helpers/esm/defineProperty.js
function D(e, t, n) {
return (t = fe(t)) in e ? Object.defineProperty(e, t, {
value: n,
enumerable: !0,
configurable: !0,
writable: !0
}) : e[t] = n, e;
}
export const named = new Map();
function Oe(e) {
return named.get(e) ?? e;
}
//#region src/common/utils.ts
var ke = /* @__PURE__ */ t({
arrayReplaceAt: () => je,
asciiTrim: () => R,
callable: () => Ae,
escapeHtml: () => M,
escapeRE: () => Ue,
fromCodePoint: () => A,
isMdAsciiPunct: () => I,
isPunctChar: () => We,
isPunctCharCode: () => F,
isSpace: () => N,
isValidEntityCode: () => Me,
isWhiteSpace: () => P,
lib: () => Ke,
normalizeReference: () => L,
unescapeAll: () => j,
unescapeMd: () => Le
});
function Ae(e) {
let t = function(...n) {
return Reflect.construct(e, n, new.target && new.target !== t ? new.target : e);
};
return Object.defineProperty(t, "name", { value: e.name }), Object.setPrototypeOf(t, e), t.prototype = e.prototype, t;
}
function je(e, t, n) {
return [].concat(e.slice(0, t), n, e.slice(t + 1));
}
function Me(e) {
return !(e >= 55296 && e <= 57343 || e >= 64976 && e <= 65007 || (e & 65535) == 65535 || (e & 65535) == 65534 || e >= 0 && e <= 8 || e === 11 || e >= 14 && e <= 31 || e >= 127 && e <= 159 || e > 1114111);
}
function A(e) {
if (e > 65535) {
e -= 65536;
let t = 55296 + (e >> 10), n = 56320 + (e & 1023);
return String.fromCharCode(t, n);
}
return String.fromCharCode(e);
}
var Ne = /\\([!"#$%&'()*+,\-./:;<=>?@[\\\]^_`{|}~])/g, Pe = RegExp(`${Ne.source}|&([a-z#][a-z0-9]{1,31});`, "gi"), Fe = /^#((?:x[a-f0-9]{1,8}|[0-9]{1,8}))$/i;
function Ie(e, t) {
if (t.charCodeAt(0) === 35 && Fe.test(t)) {
let n = t[1].toLowerCase() === "x" ? parseInt(t.slice(2), 16) : parseInt(t.slice(1), 10);
return Me(n) ? A(n) : e;
}
let n = Oe(e);
return n === e ? e : n;
}
function Le(e) {
return e.indexOf("\\") < 0 ? e : e.replace(Ne, "$1");
}
function j(e) {
return e.indexOf("\\") < 0 && e.indexOf("&") < 0 ? e : e.replace(Pe, function(e, t, n) {
return t || Ie(e, n);
});
}
var Re = /[&<>"]/, ze = /[&<>"]/g, Be = {
"&": "&amp;",
"<": "&lt;",
">": "&gt;",
"\"": "&quot;"
};
function Ve(e) {
return Be[e];
}
function M(e) {
return Re.test(e) ? e.replace(ze, Ve) : e;
}
var He = /[.?*+^$[\]\\(){}|-]/g;
function Ue(e) {
return e.replace(He, "\\$&");
}
function N(e) {
switch (e) {
case 9:
case 32: return !0;
}
return !1;
}
function P(e) {
if (e >= 8192 && e <= 8202) return !0;
switch (e) {
case 9:
case 10:
case 11:
case 12:
case 13:
case 32:
case 160:
case 5760:
case 8239:
case 8287:
case 12288: return !0;
}
return !1;
}
function We(e) {
return ne.test(e) || re.test(e);
}
function F(e) {
return We(A(e));
}
function I(e) {
switch (e) {
case 33:
case 34:
case 35:
case 36:
case 37:
case 38:
case 39:
case 40:
case 41:
case 42:
case 43:
case 44:
case 45:
case 46:
case 47:
case 58:
case 59:
case 60:
case 61:
case 62:
case 63:
case 64:
case 91:
case 92:
case 93:
case 94:
case 95:
case 96:
case 123:
case 124:
case 125:
case 126: return !0;
default: return !1;
}
}
function L(e) {
return e = e.trim().replace(/\s+/g, " "), e.toLowerCase().toUpperCase();
}
function Ge(e) {
return e === 32 || e === 9 || e === 10 || e === 13;
}
function R(e) {
let t = 0;
for (; t < e.length && Ge(e.charCodeAt(t)); t++);
let n = e.length - 1;
for (; n >= t && Ge(e.charCodeAt(n)); n--);
return e.slice(t, n + 1);
}
var Ke = {
mdurl: x,
ucmicro: S
};
//#region src/helpers/parse_link_label.ts
function qe(e, t, n) {
let r, i, a, o, s = e.posMax, c = e.pos;
for (e.pos = t + 1, r = 1; e.pos < s;) {
if (a = e.src.charCodeAt(e.pos), a === 93 && (r--, r === 0)) {
i = !0;
break;
}
if (o = e.pos, e.md.inline.skipToken(e), a === 91) {
if (o === e.pos - 1) r++;
else if (n) return e.pos = c, -1;
}
}
let l = -1;
return i && (l = e.pos), e.pos = c, l;
}
//#region src/helpers/parse_link_destination.ts
function Je(e, t, n) {
let r, i = t, a = {
ok: !1,
pos: 0,
str: ""
};
if (e.charCodeAt(i) === 60) {
for (i++; i < n;) {
if (r = e.charCodeAt(i), r === 10 || r === 60) return a;
if (r === 62) return a.pos = i + 1, a.str = j(e.slice(t + 1, i)), a.ok = !0, a;
r === 92 && i + 1 < n ? i += 2 : i++;
}
return a;
}
let o = 0;
for (; i < n && (r = e.charCodeAt(i), !(r === 32 || r < 32 || r === 127));) if (r === 92 && i + 1 < n) {
if (e.charCodeAt(i + 1) === 32) {
i++;
continue;
}
i += 2;
} else {
if (r === 40 && (o++, o > 32)) return a;
if (r === 41) {
if (o === 0) break;
o--;
}
i++;
}
return t === i || o !== 0 || (a.str = j(e.slice(t, i)), a.pos = i, a.ok = !0), a;
}
//#region src/helpers/parse_link_title.ts
function Ye(e, t, n, r) {
let i, a = t, o = {
ok: !1,
can_continue: !1,
pos: 0,
str: "",
marker: 0
};
if (r) o.str = r.str, o.marker = r.marker;
else {
if (a >= n) return o;
let r = e.charCodeAt(a);
if (r !== 34 && r !== 39 && r !== 40) return o;
t++, a++, r === 40 && (r = 41), o.marker = r;
}
for (; a < n;) {
if (i = e.charCodeAt(a), i === o.marker) return o.pos = a + 1, o.str += j(e.slice(t, a)), o.ok = !0, o;
if (i === 40 && o.marker === 41) return o;
i === 92 && a + 1 < n && a++, a++;
}
return o.can_continue = !0, o.str += j(e.slice(t, a)), o;
}
//#region src/helpers/index.ts
var Xe = /* @__PURE__ */ t({
parseLinkDestination: () => Je,
parseLinkLabel: () => qe,
parseLinkTitle: () => Ye
}), z = class {
constructor(e, t, n) {
D(this, "map", null), D(this, "level", 0), D(this, "children", null), D(this, "content", ""), D(this, "markup", ""), D(this, "info", ""), D(this, "block", !1), D(this, "hidden", !1), this.type = e, this.tag = t, this.attrs = null, this.nesting = n, this.meta = null;
}
attrIndex(e) {
if (!this.attrs) return -1;
let t = this.attrs;
for (let n = 0, r = t.length; n < r; n++) if (t[n][0] === e) return n;
return -1;
}
attrPush(e) {
this.attrs ? this.attrs.push(e) : this.attrs = [e];
}
attrSet(e, t) {
let n = this.attrIndex(e), r = [e, t];
n < 0 ? this.attrPush(r) : this.attrs[n] = r;
}
attrGet(e) {
let t = this.attrIndex(e), n = null;
return t >= 0 && (n = this.attrs[t][1]), n;
}
attrJoin(e, t) {
let n = this.attrIndex(e);
n < 0 ? this.attrPush([e, t]) : this.attrs[n][1] = `${this.attrs[n][1]} ${t}`;
}
}, B = class {
constructor() {
D(this, "__rules__", []), D(this, "__cache__", null);
}
__find__(e) {
for (let t = 0; t < this.__rules__.length; t++) if (this.__rules__[t].name === e) return t;
return -1;
}
__compile__() {
let e = /* @__PURE__ */ new Set();
this.__rules__.forEach((t) => {
t.enabled && t.alt.forEach((t) => {
t && e.add(t);
});
}), this.__cache__ = Object.create(null), this.__cache__[""] = [], this.__rules__.forEach((e) => {
e.enabled && this.__cache__[""].push(e.fn);
}), e.forEach((e) => {
this.__cache__[e] = [], this.__rules__.forEach((t) => {
t.enabled && t.alt.indexOf(e) >= 0 && this.__cache__[e].push(t.fn);
});
});
}
at(e, t, n = {}) {
let r = this.__find__(e);
if (r === -1) throw Error(`Parser rule not found: ${e}`);
this.__rules__[r].fn = t, this.__rules__[r].alt = n.alt || [], this.__cache__ = null;
}
before(e, t, n, r = {}) {
let i = this.__find__(e);
if (i === -1) throw Error(`Parser rule not found: ${e}`);
this.__rules__.splice(i, 0, {
name: t,
enabled: !0,
fn: n,
alt: r.alt || []
}), this.__cache__ = null;
}
after(e, t, n, r = {}) {
let i = this.__find__(e);
if (i === -1) throw Error(`Parser rule not found: ${e}`);
this.__rules__.splice(i + 1, 0, {
name: t,
enabled: !0,
fn: n,
alt: r.alt || []
}), this.__cache__ = null;
}
push(e, t, n = {}) {
this.__rules__.push({
name: e,
enabled: !0,
fn: t,
alt: n.alt || []
}), this.__cache__ = null;
}
enable(e, t = !1) {
Array.isArray(e) || (e = [e]);
let n = [];
return e.forEach((e) => {
let r = this.__find__(e);
if (r < 0) {
if (t) return;
throw Error(`Rules manager: invalid rule name ${e}`);
}
this.__rules__[r].enabled = !0, n.push(e);
}), this.__cache__ = null, n;
}
enableOnly(e, t = !1) {
Array.isArray(e) || (e = [e]), this.__rules__.forEach((e) => {
e.enabled = !1;
}), this.enable(e, t);
}
disable(e, t = !1) {
Array.isArray(e) || (e = [e]);
let n = [];
return e.forEach((e) => {
let r = this.__find__(e);
if (r < 0) {
if (t) return;
throw Error(`Rules manager: invalid rule name ${e}`);
}
this.__rules__[r].enabled = !1, n.push(e);
}), this.__cache__ = null, n;
}
getRules(e) {
return this.__cache__ || this.__compile__(), this.__cache__[e] || [];
}
};
var Ze = class {}, Qe = class {
constructor(e, t, n) {
D(this, "tokens", []), D(this, "inlineMode", !1), D(this, "Token", z), this.src = e, this.env = n, this.md = t;
}
}, $e = /\r\n?/g, et = /\0/g;
function tt(e) {
let t;
t = e.src.replace($e, "\n"), t = t.replace(et, "�"), e.src = t;
}
//block.ts
function nt(e) {
let t;
e.inlineMode ? (t = new e.Token("inline", "", 0), t.content = e.src, t.map = [0, 1], t.children = [], e.tokens.push(t)) : e.md.block.parse(e.src, e.md, e.env, e.tokens);
}
//strip_references.ts
function rt(e) {
let t = e.tokens, n = 0;
for (let e = 0; e < t.length; e++) t[e].type !== "reference_definition" && (e !== n && (t[n] = t[e]), n++);
t.length !== n && (t.length = n);
}
//inline.ts
function it(e) {
let t = e.tokens;
for (let n = 0, r = t.length; n < r; n++) {
let r = t[n];
r.type === "inline" && e.md.inline.parse(r.content, e.md, e.env, r.children);
}
}
//linkify.ts
function at(e) {
return /^<a[>\s]/i.test(e);
}
function ot(e) {
return /^<\/a\s*>/i.test(e);
}
function st(e) {
let t = e.tokens;
if (e.md.options.linkify) for (let n = 0, r = t.length; n < r; n++) {
if (t[n].type !== "inline" || !e.md.linkify.test(t[n].content)) continue;
let r = t[n].children, i = [], a = 0;
for (let t = r.length - 1; t >= 0; t--) {
let n = r[t];
if (n.type === "link_close") for (t--; r[t].level !== n.level && r[t].type !== "link_open";) t--;
else if (n.type === "html_inline" && (at(n.content) && a > 0 && a--, ot(n.content) && a++), !(a > 0) && n.type === "text" && e.md.linkify.test(n.content)) {
let a = n.content, o = e.md.linkify.match(a), s = [], c = n.level, l = 0;
o.length > 0 && o[0].index === 0 && t > 0 && r[t - 1].type === "text_special" && (o = o.slice(1));
for (let t = 0; t < o.length; t++) {
let n = o[t].url, r = e.md.normalizeLink(n);
if (!e.md.validateLink(r)) continue;
let i = o[t].text;
i = o[t].schema ? o[t].schema === "mailto:" && !/^mailto:/i.test(i) ? e.md.normalizeLinkText(`mailto:${i}`).replace(/^mailto:/, "") : e.md.normalizeLinkText(i) : e.md.normalizeLinkText(`http://${i}`).replace(/^http:\/\//, "");
let u = o[t].index;
if (u > l) {
let t = new e.Token("text", "", 0);
t.content = a.slice(l, u), t.level = c, s.push(t);
}
let d = new e.Token("link_open", "a", 1);
d.attrs = [["href", r]], d.level = c++, d.markup = "linkify", d.info = "auto", s.push(d);
let f = new e.Token("text", "", 0);
f.content = i, f.level = c, s.push(f);
let p = new e.Token("link_close", "a", -1);
p.level = --c, p.markup = "linkify", p.info = "auto", s.push(p), l = o[t].lastIndex;
}
if (l < a.length) {
let t = new e.Token("text", "", 0);
t.content = a.slice(l), t.level = c, s.push(t);
}
i.push({
index: t,
nodes: s
});
}
}
if (i.length > 0) {
let e = r.length;
for (let t of i) e += t.nodes.length - 1;
let a = Array(e), o = 0, s = 0;
i.reverse();
for (let e = 0; e < r.length; e++) {
let t = i[o];
if ((t == null ? void 0 : t.index) === e) {
for (let e of t.nodes) a[s++] = e;
o++;
} else a[s++] = r[e];
}
t[n].children = a;
}
}
}
function ht() {}
function Ct() {}
//text_join.ts
function wt(e) {
let t, n, r = e.length;
for (t = 0; t < r; t++) e[t].type === "text_special" && (e[t].type = "text");
for (t = n = 0; t < r; t++) e[t].type === "text" && t + 1 < r && e[t + 1].type === "text" ? e[t + 1].content = e[t].content + e[t + 1].content : (t !== n && (e[n] = e[t]), n++);
t !== n && (e.length = n);
}
function Tt(e) {
let t, n, r = e.tokens, i = r.length;
for (let e = 0; e < i; e++) {
if (r[e].type !== "inline") continue;
let i = r[e].children, a = i.length;
for (t = 0; t < a; t++) i[t].type === "text_special" && (i[t].type = "text"), i[t].children && wt(i[t].children);
for (t = n = 0; t < a; t++) i[t].type === "text" && t + 1 < a && i[t + 1].type === "text" ? i[t + 1].content = i[t].content + i[t + 1].content : (t !== n && (i[n] = i[t]), n++);
t !== n && (i.length = n);
}
}
//#region src/parser_core.ts
var U = [
["normalize", tt],
["block", nt],
["strip_references", rt],
["inline", it],
["linkify", st],
["replacements", ht],
["smartquotes", Ct],
["text_join", Tt]
], Et = class {
constructor() {
D(this, "ruler", new B()), D(this, "State", Qe);
for (let e = 0; e < U.length; e++) this.ruler.push(U[e][0], U[e][1]);
}
process(e) {
let t = this.ruler.getRules("");
for (let n = 0, r = t.length; n < r; n++) t[n](e);
}
}, Dt = class {
constructor(e, t, n, r) {
D(this, "bMarks", []), D(this, "eMarks", []), D(this, "tShift", []), D(this, "sCount", []), D(this, "bsCount", []), D(this, "blkIndent", 0), D(this, "line", 0), D(this, "lineMax", 0), D(this, "tight", !1), D(this, "listIndent", -1), D(this, "parentType", "root"), D(this, "level", 0), D(this, "Token", z), this.src = e, this.md = t, this.env = n, this.tokens = r;
let i = this.src;
for (let e = 0, t = 0, n = 0, r = 0, a = i.length, o = !1; t < a; t++) {
let s = i.charCodeAt(t);
if (!o) {
if (N(s)) {
n++, s === 9 ? r += 4 - r % 4 : r++;
continue;
}
o = !0;
}
(s === 10 || t === a - 1) && (s !== 10 && t++, this.bMarks.push(e), this.eMarks.push(t), this.tShift.push(n), this.sCount.push(r), this.bsCount.push(0), o = !1, n = 0, r = 0, e = t + 1);
}
this.bMarks.push(i.length), this.eMarks.push(i.length), this.tShift.push(0), this.sCount.push(0), this.bsCount.push(0), this.lineMax = this.bMarks.length - 1;
}
push(e, t, n) {
let r = new z(e, t, n);
return r.block = !0, n < 0 && this.level--, r.level = this.level, n > 0 && this.level++, this.tokens.push(r), r;
}
isEmpty(e) {
return this.bMarks[e] + this.tShift[e] >= this.eMarks[e];
}
skipEmptyLines(e) {
for (let t = this.lineMax; e < t && !(this.bMarks[e] + this.tShift[e] < this.eMarks[e]); e++);
return e;
}
skipSpaces(e) {
for (let t = this.src.length; e < t && N(this.src.charCodeAt(e)); e++);
return e;
}
skipSpacesBack(e, t) {
if (e <= t) return e;
for (; e > t;) if (!N(this.src.charCodeAt(--e))) return e + 1;
return e;
}
skipChars(e, t) {
for (let n = this.src.length; e < n && this.src.charCodeAt(e) === t; e++);
return e;
}
skipCharsBack(e, t, n) {
if (e <= n) return e;
for (; e > n;) if (t !== this.src.charCodeAt(--e)) return e + 1;
return e;
}
getLines(e, t, n, r) {
if (e >= t) return "";
let i = Array(t - e);
for (let a = 0, o = e; o < t; o++, a++) {
let e = 0, s = this.bMarks[o], c = s, l;
for (l = o + 1 < t || r ? this.eMarks[o] + 1 : this.eMarks[o]; c < l && e < n;) {
let t = this.src.charCodeAt(c);
if (N(t)) t === 9 ? e += 4 - (e + this.bsCount[o]) % 4 : e++;
else if (c - s < this.tShift[o]) e++;
else break;
c++;
}
e > n ? i[a] = Array(e - n + 1).join(" ") + this.src.slice(c, l) : i[a] = this.src.slice(c, l);
}
return i.join("");
}
}, Ot = 65536;
function kt(e, t) {
let n = e.bMarks[t] + e.tShift[t], r = e.eMarks[t];
return e.src.slice(n, r);
}
function At(e) {
let t = [], n = e.length, r = 0, i = e.charCodeAt(r), a = !1, o = 0, s = "";
for (; r < n;) i === 124 && (a ? (s += e.substring(o, r - 1), o = r) : (t.push(s + e.substring(o, r)), s = "", o = r + 1)), a = i === 92, r++, i = e.charCodeAt(r);
return t.push(s + e.substring(o)), t;
}
function jt(e, t, n, r) {
if (t + 2 > n) return !1;
let i = t + 1;
if (e.sCount[i] < e.blkIndent || e.sCount[i] - e.blkIndent >= 4) return !1;
let a = e.bMarks[i] + e.tShift[i];
if (a >= e.eMarks[i]) return !1;
let o = e.src.charCodeAt(a++);
if (o !== 124 && o !== 45 && o !== 58 || a >= e.eMarks[i]) return !1;
let s = e.src.charCodeAt(a++);
if (s !== 124 && s !== 45 && s !== 58 && !N(s) || o === 45 && N(s)) return !1;
for (; a < e.eMarks[i];) {
let t = e.src.charCodeAt(a);
if (t !== 124 && t !== 45 && t !== 58 && !N(t)) return !1;
a++;
}
let c = kt(e, t + 1), l = c.split("|"), u = [];
for (let e = 0; e < l.length; e++) {
let t = l[e].trim();
if (!t) {
if (e === 0 || e === l.length - 1) continue;
return !1;
}
if (!/^:?-+:?$/.test(t)) return !1;
t.charCodeAt(t.length - 1) === 58 ? u.push(t.charCodeAt(0) === 58 ? "center" : "right") : t.charCodeAt(0) === 58 ? u.push("left") : u.push("");
}
if (c = kt(e, t).trim(), c.indexOf("|") === -1 || e.sCount[t] - e.blkIndent >= 4) return !1;
l = At(c), l.length && l[0] === "" && l.shift(), l.length && l[l.length - 1] === "" && l.pop();
let d = l.length;
if (d === 0 || d !== u.length) return !1;
if (r) return !0;
let f = e.parentType;
e.parentType = "table";
let p = e.md.block.ruler.getRules("blockquote"), m = e.push("table_open", "table", 1), h = [t, 0];
m.map = h;
let g = e.push("thead_open", "thead", 1);
g.map = [t, t + 1];
let _ = e.push("tr_open", "tr", 1);
_.map = [t, t + 1];
for (let t = 0; t < l.length; t++) {
let n = e.push("th_open", "th", 1);
u[t] && (n.attrs = [["style", `text-align:${u[t]}`]]);
let r = e.push("inline", "", 0);
r.content = l[t].trim(), r.children = [], e.push("th_close", "th", -1);
}
e.push("tr_close", "tr", -1), e.push("thead_close", "thead", -1);
let v, y = 0;
for (i = t + 2; i < n && !(e.sCount[i] < e.blkIndent); i++) {
let r = !1;
for (let t = 0, a = p.length; t < a; t++) if (p[t](e, i, n, !0)) {
r = !0;
break;
}
if (r || (c = kt(e, i).trim(), !c) || e.sCount[i] - e.blkIndent >= 4 || (l = At(c), l.length && l[0] === "" && l.shift(), l.length && l[l.length - 1] === "" && l.pop(), y += d - l.length, y > Ot)) break;
if (i === t + 2) {
let n = e.push("tbody_open", "tbody", 1);
n.map = v = [t + 2, 0];
}
let a = e.push("tr_open", "tr", 1);
a.map = [i, i + 1];
for (let t = 0; t < d; t++) {
let n = e.push("td_open", "td", 1);
u[t] && (n.attrs = [["style", `text-align:${u[t]}`]]);
let r = e.push("inline", "", 0);
r.content = l[t] ? l[t].trim() : "", r.children = [], e.push("td_close", "td", -1);
}
e.push("tr_close", "tr", -1);
}
return v && (e.push("tbody_close", "tbody", -1), v[1] = i), e.push("table_close", "table", -1), h[1] = i, e.parentType = f, e.line = i, !0;
}
//code.ts
function Mt(e, t, n) {
if (e.sCount[t] - e.blkIndent < 4) return !1;
let r = t + 1, i = r;
for (; r < n;) if (e.isEmpty(r)) r++;
else if (e.sCount[r] - e.blkIndent >= 4) r++, i = r;
else break;
e.line = i;
let a = e.push("code_block", "code", 0);
return a.content = e.getLines(t, i, 4 + e.blkIndent, !1) + "\n", a.map = [t, e.line], !0;
}
//fence.ts
function Nt(e, t, n, r) {
let i = e.bMarks[t] + e.tShift[t], a = e.eMarks[t];
if (e.sCount[t] - e.blkIndent >= 4 || i + 3 > a) return !1;
let o = e.src.charCodeAt(i);
if (o !== 126 && o !== 96) return !1;
let s = i;
i = e.skipChars(i, o);
let c = i - s;
if (c < 3) return !1;
let l = e.src.slice(s, i), u = e.src.slice(i, a);
if (o === 96 && u.indexOf(String.fromCharCode(o)) >= 0) return !1;
if (r) return !0;
let d = t, f = !1;
for (; d++, !(d >= n || (i = s = e.bMarks[d] + e.tShift[d], a = e.eMarks[d], i < a && e.sCount[d] < e.blkIndent));) if (e.src.charCodeAt(i) === o && !(e.sCount[d] - e.blkIndent >= 4) && (i = e.skipChars(i, o), !(i - s < c) && (i = e.skipSpaces(i), !(i < a)))) {
f = !0;
break;
}
c = e.sCount[t], e.line = d + +!!f;
let p = e.push("fence", "code", 0);
return p.info = u, p.content = e.getLines(t + 1, d, c, !0), p.markup = l, p.map = [t, e.line], !0;
}
//blockquote.ts
function Pt(e, t, n, r) {
let i = e.bMarks[t] + e.tShift[t], a = e.eMarks[t], o = e.lineMax;
if (e.sCount[t] - e.blkIndent >= 4 || e.src.charCodeAt(i) !== 62) return !1;
if (r) return !0;
let s = [], c = [], l = [], u = [], d = e.md.block.ruler.getRules("blockquote"), f = e.parentType;
e.parentType = "blockquote";
let p = !1, m;
for (m = t; m < n; m++) {
let t = e.sCount[m] < e.blkIndent;
if (i = e.bMarks[m] + e.tShift[m], a = e.eMarks[m], i >= a) break;
if (e.src.charCodeAt(i++) === 62 && !t) {
let t = e.sCount[m] + 1, n, r;
e.src.charCodeAt(i) === 32 ? (i++, t++, r = !1, n = !0) : e.src.charCodeAt(i) === 9 ? (n = !0, (e.bsCount[m] + t) % 4 == 3 ? (i++, t++, r = !1) : r = !0) : n = !1;
let o = t;
for (s.push(e.bMarks[m]), e.bMarks[m] = i; i < a;) {
let t = e.src.charCodeAt(i);
if (N(t)) t === 9 ? o += 4 - (o + e.bsCount[m] + +!!r) % 4 : o++;
else break;
i++;
}
p = i >= a, c.push(e.bsCount[m]), e.bsCount[m] = e.sCount[m] + 1 + +!!n, l.push(e.sCount[m]), e.sCount[m] = o - t, u.push(e.tShift[m]), e.tShift[m] = i - e.bMarks[m];
continue;
}
if (p) break;
let r = !1;
for (let t = 0, i = d.length; t < i; t++) if (d[t](e, m, n, !0)) {
r = !0;
break;
}
if (r) {
e.lineMax = m, e.blkIndent !== 0 && (s.push(e.bMarks[m]), c.push(e.bsCount[m]), u.push(e.tShift[m]), l.push(e.sCount[m]), e.sCount[m] -= e.blkIndent);
break;
}
s.push(e.bMarks[m]), c.push(e.bsCount[m]), u.push(e.tShift[m]), l.push(e.sCount[m]), e.sCount[m] = -1;
}
let h = e.blkIndent;
e.blkIndent = 0;
let g = e.push("blockquote_open", "blockquote", 1);
g.markup = ">";
let _ = [t, 0];
g.map = _, e.md.block.tokenize(e, t, m);
let v = e.push("blockquote_close", "blockquote", -1);
v.markup = ">", e.lineMax = o, e.parentType = f, _[1] = e.line;
for (let n = 0; n < u.length; n++) e.bMarks[n + t] = s[n], e.tShift[n + t] = u[n], e.sCount[n + t] = l[n], e.bsCount[n + t] = c[n];
return e.blkIndent = h, !0;
}
//hr.ts
function Ft(e, t, n, r) {
let i = e.eMarks[t];
if (e.sCount[t] - e.blkIndent >= 4) return !1;
let a = e.bMarks[t] + e.tShift[t], o = e.src.charCodeAt(a++);
if (o !== 42 && o !== 45 && o !== 95) return !1;
let s = 1;
for (; a < i;) {
let t = e.src.charCodeAt(a++);
if (t !== o && !N(t)) return !1;
t === o && s++;
}
if (s < 3) return !1;
if (r) return !0;
e.line = t + 1;
let c = e.push("hr", "hr", 0);
return c.map = [t, e.line], c.markup = Array(s + 1).join(String.fromCharCode(o)), !0;
}
//list.ts
function It(e, t) {
let n = e.eMarks[t], r = e.bMarks[t] + e.tShift[t], i = e.src.charCodeAt(r++);
return i !== 42 && i !== 45 && i !== 43 || r < n && !N(e.src.charCodeAt(r)) ? -1 : r;
}
function Lt(e, t) {
let n = e.bMarks[t] + e.tShift[t], r = e.eMarks[t], i = n;
if (i + 1 >= r) return -1;
let a = e.src.charCodeAt(i++);
if (a < 48 || a > 57) return -1;
for (;;) {
if (i >= r) return -1;
if (a = e.src.charCodeAt(i++), a >= 48 && a <= 57) {
if (i - n >= 10) return -1;
} else {
if (a === 41 || a === 46) break;
return -1;
}
}
return i < r && (a = e.src.charCodeAt(i), !N(a)) ? -1 : i;
}
function Rt(e, t) {
let n = e.level + 2;
for (let r = t + 2, i = e.tokens.length - 2; r < i; r++) e.tokens[r].level === n && e.tokens[r].type === "paragraph_open" && (e.tokens[r + 2].hidden = !0, e.tokens[r].hidden = !0, r += 2);
}
function zt(e, t, n, r) {
let i, a, o, s, c = t, l = !0;
if (e.sCount[c] - e.blkIndent >= 4 || e.listIndent >= 0 && e.sCount[c] - e.listIndent >= 4 && e.sCount[c] < e.blkIndent) return !1;
let u = !1;
r && e.parentType === "paragraph" && e.sCount[c] >= e.blkIndent && (u = !0);
let d, f, p;
if ((p = Lt(e, c)) >= 0) {
if (d = !0, o = e.bMarks[c] + e.tShift[c], f = Number(e.src.slice(o, p - 1)), u && f !== 1) return !1;
} else if ((p = It(e, c)) >= 0) d = !1;
else return !1;
if (u && e.skipSpaces(p) >= e.eMarks[c]) return !1;
if (r) return !0;
let m = e.src.charCodeAt(p - 1), h = e.tokens.length;
d ? (s = e.push("ordered_list_open", "ol", 1), f !== 1 && (s.attrs = [["start", f]])) : s = e.push("bullet_list_open", "ul", 1);
let g = [c, 0];
s.map = g, s.markup = String.fromCharCode(m);
let _ = !1, v = e.md.block.ruler.getRules("list"), y = e.parentType;
for (e.parentType = "list"; c < n;) {
a = p, i = e.eMarks[c];
let t = e.sCount[c] + p - (e.bMarks[c] + e.tShift[c]), r = t;
for (; a < i;) {
let t = e.src.charCodeAt(a);
if (t === 9) r += 4 - (r + e.bsCount[c]) % 4;
else if (t === 32) r++;
else break;
a++;
}
let u = a, f;
f = u >= i ? 1 : r - t, f > 4 && (f = 1);
let h = t + f;
s = e.push("list_item_open", "li", 1), s.markup = String.fromCharCode(m);
let g = [c, 0];
s.map = g, d && (s.info = e.src.slice(o, p - 1));
let y = e.tight, b = e.tShift[c], x = e.sCount[c], S = e.listIndent;
if (e.listIndent = e.blkIndent, e.blkIndent = h, e.tight = !0, e.tShift[c] = u - e.bMarks[c], e.sCount[c] = r, u >= i && e.isEmpty(c + 1) ? e.line = Math.min(e.line + 2, n) : e.md.block.tokenize(e, c, n), (!e.tight || _) && (l = !1), _ = e.line - c > 1 && e.isEmpty(e.line - 1), e.blkIndent = e.listIndent, e.listIndent = S, e.tShift[c] = b, e.sCount[c] = x, e.tight = y, s = e.push("list_item_close", "li", -1), s.markup = String.fromCharCode(m), c = e.line, g[1] = c, c >= n || e.sCount[c] < e.blkIndent || e.sCount[c] - e.blkIndent >= 4) break;
let C = !1;
for (let t = 0, r = v.length; t < r; t++) if (v[t](e, c, n, !0)) {
C = !0;
break;
}
if (C) break;
if (d) {
if (p = Lt(e, c), p < 0) break;
o = e.bMarks[c] + e.tShift[c];
} else if (p = It(e, c), p < 0) break;
if (m !== e.src.charCodeAt(p - 1)) break;
}
return s = d ? e.push("ordered_list_close", "ol", -1) : e.push("bullet_list_close", "ul", -1), s.markup = String.fromCharCode(m), g[1] = c, e.line = c, e.parentType = y, l && Rt(e, h), !0;
}
//reference.ts
var Bt = 999;
function Vt(e) {
let t = e.length;
for (let n = 0; n < e.length - 1; n++) {
let r = e.charCodeAt(n);
if (r < 55296 || r > 56319) continue;
let i = e.charCodeAt(n + 1);
i >= 56320 && i <= 57343 && (t--, n++);
}
return t;
}
function W(e, t) {
return Math.min(e.eMarks[t] + 1, e.src.length);
}
function G(e, t) {
let n = e.lineMax;
if (t >= n || e.isEmpty(t)) return -1;
let r = !1;
if (e.sCount[t] - e.blkIndent > 3 && (r = !0), e.sCount[t] < 0 && (r = !0), !r) {
let r = e.md.block.ruler.getRules("reference"), i = e.parentType;
e.parentType = "reference";
let a = !1;
for (let i = 0, o = r.length; i < o; i++) if (r[i](e, t, n, !0)) {
a = !0;
break;
}
if (e.parentType = i, a) return -1;
}
return e.bMarks[t] + e.tShift[t];
}
function Ht(e, t, n, r) {
let i = e.src, a = e.bMarks[t] + e.tShift[t], o = t + 1;
if (e.sCount[t] - e.blkIndent >= 4 || i.charCodeAt(a) !== 91) return !1;
let s = W(e, t), c = "", l = -1, u = ++a;
for (; a < s;) {
if (c.length + a - u > Bt * 2) return !1;
let t = i.charCodeAt(a);
if (t === 91) return !1;
if (t === 93) {
l = a;
break;
}
if (t === 92 && (t = i.charCodeAt(++a)), t === 10 && a < s) {
let t = G(e, o);
if (t < 0) return !1;
c += i.slice(u, s), a = u = t, s = W(e, o++);
} else a++;
}
if (l < 0 || i.charCodeAt(l + 1) !== 58 || (c += i.slice(u, l), c.length > Bt && Vt(c) > Bt)) return !1;
for (a = l + 2; a < s;) {
let t = i.charCodeAt(a);
if (t === 10) {
let t = G(e, o);
if (t < 0) break;
a = t, s = W(e, o++);
} else if (N(t)) a++;
else break;
}
let d = e.md.helpers.parseLinkDestination(i, a, s);
if (!d.ok) return !1;
let f = e.md.normalizeLink(d.str);
if (!e.md.validateLink(f)) return !1;
a = d.pos;
let p = a, m = s, h = o;
for (; a < s;) {
let t = i.charCodeAt(a);
if (t === 10) {
let t = G(e, o);
if (t < 0) break;
a = t, s = W(e, o++);
} else if (N(t)) a++;
else break;
}
let g = a, _ = e.md.helpers.parseLinkTitle(i, a, s);
for (; _.can_continue;) {
let t = G(e, o);
if (t < 0) break;
a = t, s = W(e, o++), _ = e.md.helpers.parseLinkTitle(i, a, s, _);
}
let v;
for (g !== p && _.ok ? (v = _.str, a = _.pos) : (v = "", a = p, s = m, o = h); a < s && N(i.charCodeAt(a));) a++;
if (a < s && i.charCodeAt(a) !== 10 && v) for (v = "", a = p, s = m, o = h; a < s && N(i.charCodeAt(a));) a++;
if (a < s && i.charCodeAt(a) !== 10) return !1;
let y = L(c);
if (!y) return !1;
/* istanbul ignore if */
if (r) return !0;
e.env.references === void 0 && (e.env.references = {}), e.env.references[y] === void 0 && (e.env.references[y] = {
title: v,
href: f
});
let b = e.push("reference_definition", "", 0);
b.map = [t, o], b.hidden = !0;
let x = Object.create(null);
return x.label = y, b.meta = x, e.line = o, !0;
}
function qt() {
return !1;
}
//heading.ts
function Jt(e, t, n, r) {
let i = e.bMarks[t] + e.tShift[t], a = e.eMarks[t];
if (e.sCount[t] - e.blkIndent >= 4) return !1;
let o = e.src.charCodeAt(i);
if (o !== 35 || i >= a) return !1;
let s = 1;
for (o = e.src.charCodeAt(++i); o === 35 && i < a && s <= 6;) s++, o = e.src.charCodeAt(++i);
if (s > 6 || i < a && !N(o)) return !1;
if (r) return !0;
a = e.skipSpacesBack(a, i);
let c = e.skipCharsBack(a, 35, i);
c > i && N(e.src.charCodeAt(c - 1)) && (a = c), e.line = t + 1;
let l = e.push("heading_open", `h${s}`, 1);
l.markup = "########".slice(0, s), l.map = [t, e.line];
let u = e.push("inline", "", 0);
u.content = R(e.src.slice(i, a)), u.map = [t, e.line], u.children = [];
let d = e.push("heading_close", `h${s}`, -1);
return d.markup = "########".slice(0, s), !0;
}
//lheading.ts
function Yt(e, t, n) {
let r = e.md.block.ruler.getRules("paragraph");
if (e.sCount[t] - e.blkIndent >= 4) return !1;
let i = e.parentType;
e.parentType = "paragraph";
let a = 0, o, s = t + 1;
for (; s < n && !e.isEmpty(s); s++) {
if (e.sCount[s] - e.blkIndent > 3) continue;
if (e.sCount[s] >= e.blkIndent) {
let t = e.bMarks[s] + e.tShift[s], n = e.eMarks[s];
if (t < n && (o = e.src.charCodeAt(t), (o === 45 || o === 61) && (t = e.skipChars(t, o), t = e.skipSpaces(t), t >= n))) {
a = o === 61 ? 1 : 2;
break;
}
}
if (e.sCount[s] < 0) continue;
let t = !1;
for (let i = 0, a = r.length; i < a; i++) if (r[i](e, s, n, !0)) {
t = !0;
break;
}
if (t) break;
}
if (!a) return e.parentType = i, !1;
let c = R(e.getLines(t, s, e.blkIndent, !1));
e.line = s + 1;
let l = e.push("heading_open", `h${a}`, 1);
l.markup = String.fromCharCode(o), l.map = [t, e.line];
let u = e.push("inline", "", 0);
u.content = c, u.map = [t, e.line - 1], u.children = [];
let d = e.push("heading_close", `h${a}`, -1);
return d.markup = String.fromCharCode(o), e.parentType = i, !0;
}
//paragraph.ts
function Xt(e, t, n) {
let r = e.md.block.ruler.getRules("paragraph"), i = e.parentType, a = t + 1;
for (e.parentType = "paragraph"; a < n && !e.isEmpty(a); a++) {
if (e.sCount[a] - e.blkIndent > 3 || e.sCount[a] < 0) continue;
let t = !1;
for (let i = 0, o = r.length; i < o; i++) if (r[i](e, a, n, !0)) {
t = !0;
break;
}
if (t) break;
}
let o = R(e.getLines(t, a, e.blkIndent, !1));
e.line = a;
let s = e.push("paragraph_open", "p", 1);
s.map = [t, e.line];
let c = e.push("inline", "", 0);
return c.content = o, c.map = [t, e.line], c.children = [], e.push("paragraph_close", "p", -1), e.parentType = i, !0;
}
//#region src/parser_block.ts
var q = [
[
"table",
jt,
["paragraph", "reference"]
],
["code", Mt],
[
"fence",
Nt,
[
"paragraph",
"reference",
"blockquote",
"list"
]
],
[
"blockquote",
Pt,
[
"paragraph",
"reference",
"blockquote",
"list"
]
],
[
"hr",
Ft,
[
"paragraph",
"reference",
"blockquote",
"list"
]
],
[
"list",
zt,
[
"paragraph",
"reference",
"blockquote"
]
],
["reference", Ht],
[
"html_block",
qt,
[
"paragraph",
"reference",
"blockquote"
]
],
[
"heading",
Jt,
[
"paragraph",
"reference",
"blockquote"
]
],
["lheading", Yt],
["paragraph", Xt]
], Zt = class {
constructor() {
D(this, "ruler", new B()), D(this, "State", Dt);
for (let e = 0; e < q.length; e++) this.ruler.push(q[e][0], q[e][1], { alt: (q[e][2] || []).slice() });
}
tokenize(e, t, n) {
let r = this.ruler.getRules(""), i = r.length, a = e.md.options.maxNesting, o = t, s = !1;
for (; o < n && (e.line = o = e.skipEmptyLines(o), !(o >= n || e.sCount[o] < e.blkIndent));) {
if (e.level >= a) {
e.line = n;
break;
}
let t = e.line, c = !1;
for (let a = 0; a < i; a++) if (c = r[a](e, o, n, !1), c) {
if (t >= e.line) throw Error("block rule didn't increment state.line");
break;
}
if (!c) throw Error("none of the block rules matched");
e.tight = !s, e.isEmpty(e.line - 1) && (s = !0), o = e.line, o < n && e.isEmpty(o) && (s = !0, o++, e.line = o);
}
}
parse(e, t, n, r) {
if (!e) return;
let i = new this.State(e, t, n, r);
this.tokenize(i, i.line, i.lineMax);
}
}, Qt = class {
constructor(e, t, n, r) {
D(this, "pos", 0), D(this, "level", 0), D(this, "pending", ""), D(this, "pendingLevel", 0), D(this, "cache", {}), D(this, "backticks", {}), D(this, "backticksScanned", !1), D(this, "skipHtmlSpecial", !1), D(this, "linkLevel", 0), D(this, "delimiters", []), D(this, "_prev_delimiters", []), D(this, "Token", z), this.src = e, this.env = n, this.md = t, this.tokens = r, this.tokens_meta = Array(r.length), this.posMax = this.src.length;
}
pushPending() {
let e = new z("text", "", 0);
return e.content = this.pending, e.level = this.pendingLevel, this.tokens.push(e), this.pending = "", e;
}
push(e, t, n) {
this.pending && this.pushPending();
let r = new z(e, t, n), i;
return n < 0 && (this.level--, this.delimiters = this._prev_delimiters.pop()), r.level = this.level, n > 0 && (this.level++, this._prev_delimiters.push(this.delimiters), this.delimiters = [], i = { delimiters: this.delimiters }), this.pendingLevel = this.level, this.tokens.push(r), this.tokens_meta.push(i), r;
}
scanDelims(e, t) {
let n = this.posMax, r = this.src.charCodeAt(e), i;
if (e === 0) i = 32;
else if (e === 1) i = this.src.charCodeAt(0), (i & 63488) == 55296 && (i = 65533);
else if (i = this.src.charCodeAt(e - 1), (i & 64512) == 56320) {
let t = this.src.charCodeAt(e - 2);
i = (t & 64512) == 55296 ? 65536 + (t - 55296 << 10) + (i - 56320) : 65533;
} else (i & 64512) == 55296 && (i = 65533);
let a = e;
for (; a < n && this.src.charCodeAt(a) === r;) a++;
let o = a - e, s = a < n ? this.src.charCodeAt(a) : 32;
if ((s & 64512) == 55296) {
let e = this.src.charCodeAt(a + 1);
s = (e & 64512) == 56320 ? 65536 + (s - 55296 << 10) + (e - 56320) : 65533;
} else (s & 64512) == 56320 && (s = 65533);
let c = I(i) || F(i), l = I(s) || F(s), u = P(i), d = P(s), f = !d && (!l || u || c), p = !u && (!c || d || l);
return {
can_open: f && (t || !p || c),
can_close: p && (t || !f || l),
length: o
};
}
};
//text.ts
function $t(e) {
switch (e) {
case 10:
case 33:
case 35:
case 36:
case 37:
case 38:
case 42:
case 43:
case 45:
case 58:
case 60:
case 61:
case 62:
case 64:
case 91:
case 92:
case 93:
case 94:
case 95:
case 96:
case 123:
case 125:
case 126: return !0;
default: return !1;
}
}
function en(e, t) {
let n = e.pos;
for (; n < e.posMax && !$t(e.src.charCodeAt(n));) n++;
return n !== e.pos && (t || (e.pending += e.src.slice(e.pos, n)), e.pos = n, !0);
}
//linkify.ts
function tn(e) {
return e >= 65 && e <= 90 || e >= 97 && e <= 122;
}
function nn(e) {
return e >= 65 && e <= 90 || e >= 97 && e <= 122 || e >= 48 && e <= 57 || e === 43 || e === 45 || e === 46;
}
function rn(e, t) {
if (!e.md.options.linkify || e.linkLevel > 0) return !1;
let n = e.pos, r = e.posMax;
if (n + 3 > r || e.src.charCodeAt(n) !== 58 || e.src.charCodeAt(n + 1) !== 47 || e.src.charCodeAt(n + 2) !== 47) return !1;
let i = n - Math.min(10, e.pending.length, n), a = n;
for (; a > i && nn(e.src.charCodeAt(a - 1));) a--;
if (a === n || !tn(e.src.charCodeAt(a))) return !1;
let o = n - a, s = e.md.linkify.matchAtStart(e.src.slice(a));
if (!s) return !1;
let c = s.url;
if (c.length <= o) return !1;
let l = c.length;
for (; l > 0 && c.charCodeAt(l - 1) === 42;) l--;
l !== c.length && (c = c.slice(0, l));
let u = e.md.normalizeLink(c);
if (!e.md.validateLink(u)) return !1;
if (!t) {
e.pending = e.pending.slice(0, -o);
let t = e.push("link_open", "a", 1);
t.attrs = [["href", u]], t.markup = "linkify", t.info = "auto";
let n = e.push("text", "", 0);
n.content = e.md.normalizeLinkText(c);
let r = e.push("link_close", "a", -1);
r.markup = "linkify", r.info = "auto";
}
return e.pos += c.length - o, !0;
}
//newline.ts
function an(e, t) {
let n = e.pos;
if (e.src.charCodeAt(n) !== 10) return !1;
let r = e.pending.length - 1, i = e.posMax;
if (!t) {
if (r >= 0 && e.pending.charCodeAt(r) === 32) {
if (r >= 1 && e.pending.charCodeAt(r - 1) === 32) {
let t = r - 1;
for (; t >= 1 && e.pending.charCodeAt(t - 1) === 32;) t--;
e.pending = e.pending.slice(0, t), e.push("hardbreak", "br", 0);
} else e.pending = e.pending.slice(0, -1), e.push("softbreak", "br", 0);
} else e.push("softbreak", "br", 0);
}
for (n++; n < i && N(e.src.charCodeAt(n));) n++;
return e.pos = n, !0;
}
//escape.ts
var on = [];
for (let e = 0; e < 256; e++) on.push(0);
"\\!\"#$%&'()*+,./:;<=>?@[]^_`{|}~-".split("").forEach(function(e) {
on[e.charCodeAt(0)] = 1;
});
function sn(e, t) {
let n = e.pos, r = e.posMax;
if (e.src.charCodeAt(n) !== 92 || (n++, n >= r)) return !1;
let i = e.src.charCodeAt(n);
if (i === 10) {
for (t || e.push("hardbreak", "br", 0), n++; n < r && (i = e.src.charCodeAt(n), N(i));) n++;
return e.pos = n, !0;
}
if (i === 32) {
if (!t) {
let t = e.push("text_special", "", 0);
t.content = "\\", t.markup = "\\", t.info = "escape";
}
return e.pos = n, !0;
}
let a = e.src[n];
if (i >= 55296 && i <= 56319 && n + 1 < r) {
let t = e.src.charCodeAt(n + 1);
t >= 56320 && t <= 57343 && (a += e.src[n + 1], n++);
}
let o = "\\" + a;
if (!t) {
let t = e.push("text_special", "", 0);
t.content = i < 256 && on[i] !== 0 ? a : o, t.markup = o, t.info = "escape";
}
return e.pos = n + 1, !0;
}
//backticks.ts
function cn(e) {
let t = {}, n = 0;
for (; (n = e.indexOf("`", n)) !== -1;) {
let r = n;
for (; e.charCodeAt(++n) === 96;);
t[n - r] = r;
}
return t;
}
function ln(e, t) {
var n;
let r = e.pos;
if (e.src.charCodeAt(r) !== 96) return !1;
let i = e.posMax, a = r + 1;
for (; a < i && e.src.charCodeAt(a) === 96;) a++;
let o = e.src.slice(r, a), s = o.length;
if (e.backticksScanned || (e.backticks = cn(e.src), e.backticksScanned = !0), ((n = e.backticks[s]) == null ? -1 : n) >= a) {
let n = a, r;
for (; (r = e.src.indexOf("`", n)) !== -1 && r < i;) {
for (n = r + 1; e.src.charCodeAt(n) === 96;) n++;
if (n > i) break;
if (n - r === s) {
if (!t) {
let t = e.push("code_inline", "code", 0);
t.markup = o;
let n = e.src.slice(a, r).replace(/\n/g, " ");
n.startsWith(" ") && n.endsWith(" ") && /[^ ]/.test(n) && (n = n.slice(1, -1)), t.content = n;
}
return e.pos = n, !0;
}
}
}
return t || (e.pending += o), e.pos = a, !0;
}
//strikethrough.ts
function un(e, t) {
let n = e.pos, r = e.src.charCodeAt(n);
if (t || r !== 126) return !1;
let i = e.scanDelims(e.pos, !0), a = i.length, o = String.fromCharCode(r);
if (a < 2) return !1;
let s;
a % 2 && (s = e.push("text", "", 0), s.content = o, a--);
for (let t = 0; t < a; t += 2) s = e.push("text", "", 0), s.content = o + o, e.delimiters.push({
marker: r,
length: 0,
token: e.tokens.length - 1,
end: -1,
open: i.can_open,
close: i.can_close
});
return e.pos += i.length, !0;
}
function dn(e, t) {
let n, r = [], i = t.length;
for (let a = 0; a < i; a++) {
let i = t[a];
if (i.marker !== 126 || i.end === -1) continue;
let o = t[i.end];
n = e.tokens[i.token], n.type = "s_open", n.tag = "s", n.nesting = 1, n.markup = "~~", n.content = "", n = e.tokens[o.token], n.type = "s_close", n.tag = "s", n.nesting = -1, n.markup = "~~", n.content = "", e.tokens[o.token - 1].type === "text" && e.tokens[o.token - 1].content === "~" && r.push(o.token - 1);
}
for (; r.length;) {
let t = r.pop(), i = t + 1;
for (; i < e.tokens.length && e.tokens[i].type === "s_close";) i++;
i--, t !== i && (n = e.tokens[i], e.tokens[i] = e.tokens[t], e.tokens[t] = n);
}
}
function fn(e) {
let t = e.tokens_meta, n = e.tokens_meta.length;
dn(e, e.delimiters);
for (let i = 0; i < n; i++) {
var r;
let n = (r = t[i]) == null ? void 0 : r.delimiters;
n && dn(e, n);
}
}
var pn = {
tokenize: un,
postProcess: fn
};
//emphasis.ts
function mn(e, t) {
let n = e.pos, r = e.src.charCodeAt(n);
if (t || r !== 95 && r !== 42) return !1;
let i = e.scanDelims(e.pos, r === 42);
for (let t = 0; t < i.length; t++) {
let t = e.push("text", "", 0);
t.content = String.fromCharCode(r), e.delimiters.push({
marker: r,
length: i.length,
token: e.tokens.length - 1,
end: -1,
open: i.can_open,
close: i.can_close
});
}
return e.pos += i.length, !0;
}
function hn(e, t) {
let n = t.length;
for (let r = n - 1; r >= 0; r--) {
let n = t[r];
if (n.marker !== 95 && n.marker !== 42 || n.end === -1) continue;
let i = t[n.end], a = r > 0 && t[r - 1].end === n.end + 1 && t[r - 1].marker === n.marker && t[r - 1].token === n.token - 1 && t[n.end + 1].token === i.token + 1, o = String.fromCharCode(n.marker), s = e.tokens[n.token];
s.type = a ? "strong_open" : "em_open", s.tag = a ? "strong" : "em", s.nesting = 1, s.markup = a ? o + o : o, s.content = "";
let c = e.tokens[i.token];
c.type = a ? "strong_close" : "em_close", c.tag = a ? "strong" : "em", c.nesting = -1, c.markup = a ? o + o : o, c.content = "", a && (e.tokens[t[r - 1].token].content = "", e.tokens[t[n.end + 1].token].content = "", r--);
}
}
function gn(e) {
let t = e.tokens_meta, n = e.tokens_meta.length;
hn(e, e.delimiters);
for (let i = 0; i < n; i++) {
var r;
let n = (r = t[i]) == null ? void 0 : r.delimiters;
n && hn(e, n);
}
}
var _n = {
tokenize: mn,
postProcess: gn
};
//link.ts
function vn(e, t) {
let n, r, i, a, o = "", s = "", c = e.pos, l = !0;
if (e.src.charCodeAt(e.pos) !== 91) return !1;
let u = e.pos, d = e.posMax, f = e.pos + 1, p = e.md.helpers.parseLinkLabel(e, e.pos, !0);
if (p < 0) return !1;
let m = p + 1;
if (m < d && e.src.charCodeAt(m) === 40) {
for (l = !1, m++; m < d && (n = e.src.charCodeAt(m), N(n) || n === 10); m++);
if (m >= d) return !1;
if (c = m, i = e.md.helpers.parseLinkDestination(e.src, m, e.posMax), i.ok) {
for (o = e.md.normalizeLink(i.str), e.md.validateLink(o) ? m = i.pos : o = "", c = m; m < d && (n = e.src.charCodeAt(m), N(n) || n === 10); m++);
if (i = e.md.helpers.parseLinkTitle(e.src, m, e.posMax), m < d && c !== m && i.ok) for (s = i.str, m = i.pos; m < d && (n = e.src.charCodeAt(m), N(n) || n === 10); m++);
}
(m >= d || e.src.charCodeAt(m) !== 41) && (l = !0), m++;
}
if (l) {
if (e.env.references === void 0) return !1;
if (m < d && e.src.charCodeAt(m) === 91 ? (c = m + 1, m = e.md.helpers.parseLinkLabel(e, m), m >= 0 ? r = e.src.slice(c, m++) : m = p + 1) : m = p + 1, r || (r = e.src.slice(f, p)), r = L(r), a = e.env.references[r], !a) return e.pos = u, !1;
o = a.href, s = a.title;
}
if (!t) {
e.pos = f, e.posMax = p;
let t = e.push("link_open", "a", 1), n = [["href", o]];
if (t.attrs = n, s && n.push(["title", s]), r) {
let e = Object.create(null);
e.label = r, t.meta = e;
}
e.linkLevel++, e.md.inline.tokenize(e), e.linkLevel--, e.push("link_close", "a", -1);
}
return e.pos = m, e.posMax = d, !0;
}
//image.ts
function yn(e, t) {
let n, r, i, a, o, s, c, l, u = "", d = e.pos, f = e.posMax;
if (e.src.charCodeAt(e.pos) !== 33 || e.src.charCodeAt(e.pos + 1) !== 91) return !1;
let p = e.pos + 2, m = e.md.helpers.parseLinkLabel(e, e.pos + 1, !1);
if (m < 0) return !1;
if (a = m + 1, a < f && e.src.charCodeAt(a) === 40) {
for (a++; a < f && (n = e.src.charCodeAt(a), N(n) || n === 10); a++);
if (a >= f) return !1;
for (l = a, s = e.md.helpers.parseLinkDestination(e.src, a, e.posMax), s.ok && (u = e.md.normalizeLink(s.str), e.md.validateLink(u) ? a = s.pos : u = ""), l = a; a < f && (n = e.src.charCodeAt(a), N(n) || n === 10); a++);
if (s = e.md.helpers.parseLinkTitle(e.src, a, e.posMax), a < f && l !== a && s.ok) for (c = s.str, a = s.pos; a < f && (n = e.src.charCodeAt(a), N(n) || n === 10); a++);
else c = "";
if (a >= f || e.src.charCodeAt(a) !== 41) return e.pos = d, !1;
a++;
} else {
if (e.env.references === void 0) return !1;
if (a < f && e.src.charCodeAt(a) === 91 ? (l = a + 1, a = e.md.helpers.parseLinkLabel(e, a), a >= 0 ? i = e.src.slice(l, a++) : a = m + 1) : a = m + 1, i || (i = e.src.slice(p, m)), i = L(i), o = e.env.references[i], !o) return e.pos = d, !1;
u = o.href, c = o.title;
}
if (!t) {
r = e.src.slice(p, m);
let t = [];
e.md.inline.parse(r, e.md, e.env, t);
let n = e.push("image", "img", 0), a = [["src", u], ["alt", ""]];
if (n.attrs = a, n.children = t, n.content = r, c && a.push(["title", c]), i) {
let e = Object.create(null);
e.label = i, n.meta = e;
}
}
return e.pos = a, e.posMax = f, !0;
}
//autolink.ts
var bn = /^([a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*)$/, xn = /^([a-zA-Z][a-zA-Z0-9+.-]{1,31}):([^<>\x00-\x20]*)$/;
function Sn(e, t) {
let n = e.pos;
if (e.src.charCodeAt(n) !== 60) return !1;
let r = e.pos, i = e.posMax;
for (;;) {
if (++n >= i) return !1;
let t = e.src.charCodeAt(n);
if (t === 60) return !1;
if (t === 62) break;
}
let a = e.src.slice(r + 1, n);
if (xn.test(a)) {
let n = e.md.normalizeLink(a);
if (!e.md.validateLink(n)) return !1;
if (!t) {
let t = e.push("link_open", "a", 1);
t.attrs = [["href", n]], t.markup = "autolink", t.info = "auto";
let r = e.push("text", "", 0);
r.content = e.md.normalizeLinkText(a);
let i = e.push("link_close", "a", -1);
i.markup = "autolink", i.info = "auto";
}
return e.pos += a.length + 2, !0;
}
if (bn.test(a)) {
let n = e.md.normalizeLink(`mailto:${a}`);
if (!e.md.validateLink(n)) return !1;
if (!t) {
let t = e.push("link_open", "a", 1);
t.attrs = [["href", n]], t.markup = "autolink", t.info = "auto";
let r = e.push("text", "", 0);
r.content = e.md.normalizeLinkText(a);
let i = e.push("link_close", "a", -1);
i.markup = "autolink", i.info = "auto";
}
return e.pos += a.length + 2, !0;
}
return !1;
}
function Dn() {
return !1;
}
//entity.ts
var On = /^&#((?:x[a-f0-9]{1,6}|[0-9]{1,7}));/i, kn = /^&([a-z][a-z0-9]{1,31});/i;
function An(e, t) {
let n = e.pos, r = e.posMax;
if (e.src.charCodeAt(n) !== 38 || n + 1 >= r) return !1;
if (e.src.charCodeAt(n + 1) === 35) {
let r = e.src.slice(n).match(On);
if (r) {
if (!t) {
let t = r[1][0].toLowerCase() === "x" ? parseInt(r[1].slice(1), 16) : parseInt(r[1], 10), n = e.push("text_special", "", 0);
n.content = Me(t) ? A(t) : A(65533), n.markup = r[0], n.info = "entity";
}
return e.pos += r[0].length, !0;
}
} else {
let r = e.src.slice(n).match(kn);
if (r) {
let n = Oe(r[0]);
if (n !== r[0]) {
if (!t) {
let t = e.push("text_special", "", 0);
t.content = n, t.markup = r[0], t.info = "entity";
}
return e.pos += r[0].length, !0;
}
}
}
return !1;
}
//balance_pairs.ts
function jn(e) {
let t = {}, n = e.length;
if (!n) return;
let r = 0, i = -2, a = [];
for (let o = 0; o < n; o++) {
let n = e[o];
if (a.push(0), (e[r].marker !== n.marker || i !== n.token - 1) && (r = o), i = n.token, n.length = n.length || 0, !n.close) continue;
t.hasOwnProperty(n.marker) || (t[n.marker] = [
-1,
-1,
-1,
-1,
-1,
-1
]);
let s = t[n.marker][(n.open ? 3 : 0) + n.length % 3], c = r - a[r] - 1, l = c;
for (; c > s; c -= a[c] + 1) {
let t = e[c];
if (t.marker === n.marker && t.open && t.end < 0) {
let r = !1;
if ((t.close || n.open) && (t.length + n.length) % 3 == 0 && (t.length % 3 != 0 || n.length % 3 != 0) && (r = !0), !r) {
let r = c > 0 && !e[c - 1].open ? a[c - 1] + 1 : 0;
a[o] = o - c + r, a[c] = r, n.open = !1, t.end = o, t.close = !1, l = -1, i = -2;
break;
}
}
}
l !== -1 && (t[n.marker][(n.open ? 3 : 0) + (n.length || 0) % 3] = l);
}
}
function Mn(e) {
let t = e.tokens_meta, n = e.tokens_meta.length;
jn(e.delimiters);
for (let e = 0; e < n; e++) {
var r;
let n = (r = t[e]) == null ? void 0 : r.delimiters;
n && jn(n);
}
}
//fragments_join.ts
function Nn(e) {
let t, n, r = 0, i = e.tokens, a = e.tokens.length;
for (t = n = 0; t < a; t++) i[t].nesting < 0 && r--, i[t].level = r, i[t].nesting > 0 && r++, i[t].type === "text" && t + 1 < a && i[t + 1].type === "text" ? i[t + 1].content = i[t].content + i[t + 1].content : (t !== n && (i[n] = i[t]), n++);
t !== n && (i.length = n);
}
//#region src/parser_inline.ts
var Pn = [
["text", en],
["linkify", rn],
["newline", an],
["escape", sn],
["backticks", ln],
["strikethrough", pn.tokenize],
["emphasis", _n.tokenize],
["link", vn],
["image", yn],
["autolink", Sn],
["html_inline", Dn],
["entity", An]
], Fn = [
["balance_pairs", Mn],
["strikethrough", pn.postProcess],
["emphasis", _n.postProcess],
["fragments_join", Nn]
], In = class {
constructor() {
D(this, "ruler", new B()), D(this, "ruler2", new B()), D(this, "State", Qt);
for (let e = 0; e < Pn.length; e++) this.ruler.push(Pn[e][0], Pn[e][1]);
for (let e = 0; e < Fn.length; e++) this.ruler2.push(Fn[e][0], Fn[e][1]);
}
skipToken(e) {
let t = e.pos, n = this.ruler.getRules(""), r = n.length, i = e.md.options.maxNesting, a = e.cache;
if (a[t] !== void 0) {
e.pos = a[t];
return;
}
let o = !1;
if (e.level < i) {
for (let i = 0; i < r; i++) if (e.level++, o = n[i](e, !0), e.level--, o) {
if (t >= e.pos) throw Error("inline rule didn't increment state.pos");
break;
}
} else e.pos = e.posMax;
o || e.pos++, a[t] = e.pos;
}
tokenize(e) {
let t = this.ruler.getRules(""), n = t.length, r = e.posMax, i = e.md.options.maxNesting;
for (; e.pos < r;) {
let a = e.pos, o = !1;
if (e.level < i) {
for (let r = 0; r < n; r++) if (o = t[r](e, !1), o) {
if (a >= e.pos) throw Error("inline rule didn't increment state.pos");
break;
}
}
if (o) {
if (e.pos >= r) break;
} else e.pending += e.src[e.pos++];
}
e.pending && e.pushPending();
}
parse(e, t, n, r) {
let i = new this.State(e, t, n, r);
this.tokenize(i);
let a = this.ruler2.getRules(""), o = a.length;
for (let e = 0; e < o; e++) a[e](i);
}
}, Ln = class {
constructor(e = {}) {
D(this, "src_Any", C.source), D(this, "src_Cc", ee.source), D(this, "src_Z", ie.source), D(this, "src_P", ne.source), D(this, "src_ZPCc", [
this.src_Z,
this.src_P,
this.src_Cc
].join("|")), D(this, "src_ZCc", [this.src_Z, this.src_Cc].join("|")), D(this, "cache", {}), D(this, "opts", {
maxLength: 1e4,
urlAuth: !1,
schema_names: []
}), this.opts = {
...this.opts,
...e
};
}
set(e = {}) {
return this.opts = {
...this.opts,
...e
}, this.cache = {}, this;
}
escapeRE(e) {
return e.replace(/[.?*+^$[\]\\(){}|-]/g, "\\$&");
}
nestedPairRE(e, t, n = 4) {
let r = this.escapeRE(e), i = this.escapeRE(t), a = `(?:(?!${this.src_ZCc}|${r}|${i}).)`, o = `${r}${a}{0,1000}${i}`;
for (let e = 2; e <= n; e++) o = `${r}(?:${a}|${o}){0,1000}${i}`;
return o;
}
get_text_separators() {
var e, t;
return (t = (e = this.cache).text_separators) == null ? e.text_separators = /[><\uff5c]/ : t;
}
get_pseudo_letter() {
var e, t;
return (t = (e = this.cache).src_pseudo_letter) == null ? e.src_pseudo_letter = RegExp(`(?:(?!${this.get_text_separators().source}|${this.src_ZPCc})${this.src_Any})`) : t;
}
get_ipv4_addr() {
var e, t;
return (t = (e = this.cache).src_ip4) == null ? e.src_ip4 = /* @__PURE__ */ RegExp("(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9][0-9]|[0-9])[.]){3}(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9][0-9]|[0-9])") : t;
}
get_ipv6_addr() {
var e, t;
let n = "[0-9A-Fa-f]{1,4}", r = `(?:(?:${n}:${n})|${this.get_ipv4_addr().source})`;
return (t = (e = this.cache).src_ip6_addr) == null ? e.src_ip6_addr = RegExp(`(?:(?:${n}:){6}${r}|::(?:${n}:){5}${r}|(?:${n})?::(?:${n}:){4}${r}|(?:(?:${n}:){0,1}${n})?::(?:${n}:){3}${r}|(?:(?:${n}:){0,2}${n})?::(?:${n}:){2}${r}|(?:(?:${n}:){0,3}${n})?::${n}:${r}|(?:(?:${n}:){0,4}${n})?::${r}|(?:(?:${n}:){0,5}${n})?::${n}|(?:(?:${n}:){0,6}${n})?::)`) : t;
}
get_ipv6_url_host() {
var e, t;
return (t = (e = this.cache).src_ip6_host) == null ? e.src_ip6_host = RegExp(`\\[${this.get_ipv6_addr().source}\\]`) : t;
}
get_ipv6_mail_host() {
var e, t;
return (t = (e = this.cache).src_ipv6_mail_host) == null ? e.src_ipv6_mail_host = RegExp(`\\[IPv6:${this.get_ipv6_addr().source}\\]`) : t;
}
get_auth() {
var e, t;
return (t = (e = this.cache).src_auth) == null ? e.src_auth = RegExp(`(?:(?:(?!${this.src_ZCc}|[@/\\[\\]()]).){1,50}@)?`) : t;
}
get_port() {
var e, t;
return (t = (e = this.cache).src_port) == null ? e.src_port = /* @__PURE__ */ RegExp("(?::(?:6(?:[0-4]\\d{3}|5(?:[0-4]\\d{2}|5(?:[0-2]\\d|3[0-5])))|[1-5]?\\d{1,4}))?") : t;
}
get_host_terminator() {
var e, t;
return (t = (e = this.cache).src_host_terminator) == null ? e.src_host_terminator = RegExp(`(?=$|${this.get_text_separators().source}|${this.src_ZPCc})(?!${this.opts["---"] ? "-(?!--)|" : "-|"}_|:\\d|\\.-|\\.(?!$|${this.src_ZPCc}))`) : t;
}
get_path_terminator() {
var e, t;
return (t = (e = this.cache).src_path_terminator) == null ? e.src_path_terminator = RegExp(`${this.src_ZPCc}|${this.get_text_separators().source}`) : t;
}
get_path() {
var e, t;
return (t = (e = this.cache).src_path) == null ? e.src_path = RegExp(`(?:[/?#](?:${this.nestedPairRE("[", "]")}|${this.nestedPairRE("(", ")")}|${this.nestedPairRE("{", "}")}|\\"(?:(?!${this.src_ZCc}|["]).){1,100}\\"|\\'(?:(?!${this.src_ZCc}|[']).){1,100}\\'|\\'(?=${this.get_pseudo_letter().source}|[-])|\\.{2,20}[:]?[a-zA-Z0-9%/&]|\\.(?!${this.src_ZCc}|[.]|$)|` + (this.opts["---"] ? "\\-(?!--(?:[^-]|$))(?:-{0,19})|" : "\\-{1,20}|") + `,(?!${this.src_ZCc}|$)|;(?!${this.src_ZCc}|$)|\\!{1,20}(?!${this.src_ZCc}|[!]|$)|\\?(?!${this.src_ZCc}|[?]|$)|` + this.get_path_extra().source + `[\\\\/:%@#&=_~*]|(?!${this.get_path_terminator().source}).){1,${this.opts.maxLength}}|\\/)?`) : t;
}
get_mail_name() {
var e, t;
return (t = (e = this.cache).src_mail_name) == null ? e.src_mail_name = /* @__PURE__ */ RegExp("[-!#$%&'*+/=?^_`{|}~a-zA-Z0-9](?:[-!#$%&'*+/=?^_`{|}~a-zA-Z0-9]|[.](?=[-!#$%&'*+/=?^_`{|}~a-zA-Z0-9])){0,63}") : t;
}
get_xn() {
var e, t;
return (t = (e = this.cache).src_xn) == null ? e.src_xn = /* @__PURE__ */ RegExp("xn--[a-z0-9\\-]{1,59}") : t;
}
get_tld() {
if (this.cache.tld) return this.cache.tld;
let e = [...new Set(this.opts.tlds || [])].sort().reverse().join("|");
return this.cache.tld = RegExp(`${e || "$#none#$"}|${this.get_xn().source}`), this.cache.tld;
}
get_domain_root() {
var e, t;
return (t = (e = this.cache).src_domain_root) == null ? e.src_domain_root = RegExp("(?:" + this.get_xn().source + `|${this.get_pseudo_letter().source}{1,63})`) : t;
}
get_domain() {
var e, t;
return (t = (e = this.cache).src_domain) == null ? e.src_domain = RegExp("(?:" + this.get_xn().source + `|(?:${this.get_pseudo_letter().source})|(?:${this.get_pseudo_letter().source}(?:-|${this.get_pseudo_letter().source}){0,61}${this.get_pseudo_letter().source}))`) : t;
}
get_url_host_port() {
var e, t;
return (t = (e = this.cache).url_host_port) == null ? e.url_host_port = RegExp("(?:" + this.get_ipv6_url_host().source + `|(?:(?:(?:${this.get_domain().source})\\.){0,10}${this.get_domain().source}))` + this.get_port().source + this.get_host_terminator().source) : t;
}
get_fuzzy_url_host_port() {
var e, t;
return (t = (e = this.cache).fuzzy_url_host_port) == null ? e.fuzzy_url_host_port = RegExp("(?:" + (this.opts.fuzzyIP ? this.get_ipv4_addr().source + "|" : "") + `(?:(?:(?:${this.get_domain().source})\\.){1,10}(?:${this.get_tld().source})))` + this.get_host_terminator().source) : t;
}
get_mail_host() {
var e, t;
return (t = (e = this.cache).src_mail_host) == null ? e.src_mail_host = RegExp("(?:" + this.get_ipv6_mail_host().source + `|(?:(?:(?:${this.get_domain().source})\\.){0,4}${this.get_domain().source}))` + this.get_host_terminator().source) : t;
}
get_fuzzy_mail_host() {
var e, t;
return (t = (e = this.cache).src_fuzzy_mail_host) == null ? e.src_fuzzy_mail_host = RegExp("(?:" + this.get_ipv6_mail_host().source + `|(?:(?:(?:${this.get_domain().source})[.]){1,4}${this.get_domain_root().source}))` + this.get_host_terminator().source) : t;
}
get_path_extra() {
var e, t;
return (t = (e = this.cache).src_path_extra) == null ? e.src_path_extra = /* @__PURE__ */ RegExp("") : t;
}
get_fuzzy_mail_host_search() {
var e, t;
return (t = (e = this.cache).mail_fuzzy_host_search) == null ? e.mail_fuzzy_host_search = RegExp(`@${this.get_fuzzy_mail_host().source}`, "ig") : t;
}
get_fuzzy_link_search() {
var e, t;
return (t = (e = this.cache).link_fuzzy_search) == null ? e.link_fuzzy_search = RegExp(`(^|(?![.:/\\-_@])(?:[$+<=>^\`|\uff5c]|${this.src_ZPCc}))(?:(?![$+<=>^\`|\uff5c])${this.get_fuzzy_url_host_port().source}${this.get_path().source})`, "ig") : t;
}
get_http_validator() {
var e, t;
return (t = (e = this.cache).http_validator) == null ? e.http_validator = RegExp("\\/\\/" + (this.opts.urlAuth ? this.get_auth().source : "") + this.get_url_host_port().source + this.get_path().source, "iy") : t;
}
get_relative_proto_validator() {
var e, t;
return (t = (e = this.cache).relative_proto_validator) == null ? e.relative_proto_validator = RegExp((this.opts.urlAuth ? this.get_auth().source : "") + `(?:localhost|${this.get_ipv6_url_host().source}|(?:(?:${this.get_domain().source})[.]){1,10}${this.get_domain_root().source})` + this.get_port().source + this.get_host_terminator().source + this.get_path().source, "iy") : t;
}
get_mail_name_validator() {
var e, t;
return (t = (e = this.cache).mail_name_validator) == null ? e.mail_name_validator = RegExp(`(?:^|${this.get_text_separators().source}|"|\\(|${this.src_ZCc})(${this.get_mail_name().source})$`) : t;
}
get_mailto_validator() {
var e, t;
return (t = (e = this.cache).mailto_validator) == null ? e.mailto_validator = RegExp(`${this.get_mail_name().source}@${this.get_mail_host().source}`, "iy") : t;
}
get_schema_names() {
var e, t;
return (t = (e = this.cache).schema_names) == null ? e.schema_names = new RegExp((this.opts.schema_names || []).map((e) => this.escapeRE(e)).join("|")) : t;
}
get_schema_search() {
var e, t;
return (t = (e = this.cache).schema_search) == null ? e.schema_search = RegExp(`(^|(?!_)(?:[><\uff5c]|${this.src_ZPCc}))(${this.get_schema_names().source})`, "ig") : t;
}
get_schema_at_start() {
var e, t;
return (t = (e = this.cache).schema_at_start) == null ? e.schema_at_start = RegExp(`^${this.get_schema_search().source}`, "i") : t;
}
}, Rn = {
validate: (e, t, n) => {
let r = n.re.get_http_validator();
r.lastIndex = t;
let i = r.exec(e);
return i ? i[0].length : 0;
},
normalize: (e, t) => t.normalize(e)
}, zn = {
"http:": Rn,
"https:": Rn,
"ftp:": Rn,
"//": {
validate: function(e, t, n) {
let r = n.re.get_relative_proto_validator();
r.lastIndex = t;
let i = r.exec(e);
return i ? t >= 3 && e[t - 3] === ":" || t >= 3 && e[t - 3] === "/" ? 0 : i[0].length : 0;
},
normalize: (e, t) => t.normalize(e)
},
"mailto:": {
validate: function(e, t, n) {
let r = n.re.get_mailto_validator();
r.lastIndex = t;
let i = r.exec(e);
return i ? i[0].length : 0;
},
normalize: (e, t) => t.normalize(e)
}
}, Bn = "a:cdefgilmnoqrstuwxz|b:abdefghijmnorstvwyz|c:acdfghiklmnoruvwxyz|d:ejkmoz|e:cegrstu|f:ijkmor|g:abdefghilmnpqrstuwy|h:kmnrtu|i:delmnoqrst|j:emop|k:eghimnprwyz|l:abcikrstuvy|m:acdeghklmnopqrstuvwxyz|n:acefgilopruz|o:m|p:aefghklmnrstwy|q:a|r:eosuw|s:abcdeghijklmnortuvxyz|t:cdfghjklmnortvwz|u:agksyz|v:aceginu|w:fs|y:et|z:amw", Vn = "biz|com|edu|gov|net|org|pro|web|xxx|aero|asia|coop|info|museum|name|shop|рф";
function Hn() {
let e = Vn.split("|");
return Bn.split("|").forEach((t) => {
let n = t.indexOf(":"), r = t.slice(0, n);
for (let i of t.slice(n + 1)) e.push(r + i);
}), e;
}
var Un = {
fuzzyLink: !1,
fuzzyEmail: !0,
fuzzyIP: !1,
"---": !1,
tlds: Hn(),
urlAuth: !1,
maxLength: 1e4
}, Wn = class {
constructor(e, t, n, r) {
D(this, "schema", void 0), D(this, "index", void 0), D(this, "lastIndex", void 0), D(this, "raw", void 0), D(this, "text", void 0), D(this, "url", void 0);
let i = e.slice(n, r);
this.schema = t.toLowerCase(), this.index = n, this.lastIndex = r, this.raw = i, this.text = i, this.url = i;
}
}, Gn = class {
constructor(e = {}) {
D(this, "__opts__", void 0), D(this, "__schemas__", void 0), D(this, "re", void 0);
let { rebuilder: t, ...n } = e;
this.__opts__ = {
...Un,
...n
}, this.__schemas__ = { ...zn }, this.re = t || new Ln(), this.re.set({
...this.__opts__,
schema_names: Object.keys(this.__schemas__)
});
}
add(e, t = null) {
if (!t) delete this.__schemas__[e];
else {
let n = {
normalize: (e, t) => t.normalize(e),
...t
};
this.__schemas__[e] = n;
}
return this.re.set({
...this.__opts__,
schema_names: Object.keys(this.__schemas__)
}), this;
}
set(e = {}) {
return this.__opts__ = {
...this.__opts__,
...e
}, this.re.set({
...this.__opts__,
schema_names: Object.keys(this.__schemas__)
}), this;
}
test(e) {
if (!e.length) return !1;
let t, n;
for (n = this.re.get_schema_search(), n.lastIndex = 0; (t = n.exec(e)) !== null;) if (this.testSchemaAt(e, t[2], n.lastIndex)) return !0;
if (this.__opts__.fuzzyLink && this.__schemas__["http:"] && (n = this.re.get_fuzzy_link_search(), n.lastIndex = 0, n.exec(e) !== null)) return !0;
if (this.__opts__.fuzzyEmail && this.__schemas__["mailto:"] && e.indexOf("@") >= 0) {
let n = this.re.get_fuzzy_mail_host_search(), r = this.re.get_mail_name_validator();
for (n.lastIndex = 0; (t = n.exec(e)) !== null;) {
let n = e.slice(Math.max(0, t.index - 65), t.index);
if (r.test(n)) return !0;
}
}
return !1;
}
testSchemaAt(e, t, n) {
return this.__schemas__[t.toLowerCase()] ? this.__schemas__[t.toLowerCase()].validate(e.slice(0, n + this.__opts__.maxLength), n, this) : 0;
}
match(e) {
let t = [], n = this.re.get_schema_search(), r, i, a, o, s, c, l = !1, u = !1, d = !1, f = 0;
if (!e.length) return null;
for (n.lastIndex = 0, this.__opts__.fuzzyLink && this.__schemas__["http:"] && (r = this.re.get_fuzzy_link_search(), r.lastIndex = 0), this.__opts__.fuzzyEmail && this.__schemas__["mailto:"] && (i = this.re.get_fuzzy_mail_host_search(), i.lastIndex = 0, a = this.re.get_mail_name_validator());;) {
let p = Math.max(f - 1, 0);
if (i && a && !d && (!s || s.index < f)) for (i.lastIndex < p && (i.lastIndex = p);;) {
let t = i.exec(e);
if (!t) {
d = !0, s = void 0;
break;
}
let n = a.exec(e.slice(Math.max(0, t.index - 65), t.index));
if (n) {
if (s = {
schema: "mailto:",
index: t.index - n[1].length,
lastIndex: t.index + t[0].length
}, s.index >= f) break;
i.lastIndex < p && (i.lastIndex = p);
}
}
if (r && !u && (!o || o.index < f)) for (r.lastIndex < p && (r.lastIndex = p);;) {
let t = r.exec(e);
if (!t) {
u = !0, o = void 0;
break;
}
if (o = {
schema: "",
index: t.index + t[1].length,
lastIndex: t.index + t[0].length
}, o.index >= f) break;
r.lastIndex < p && (r.lastIndex = p);
}
let m = s;
(!m || o && (o.index < m.index || o.index === m.index && o.lastIndex > m.lastIndex)) && (m = o);
let h;
if (!l) for (;;) {
if (!c) {
n.lastIndex < p && (n.lastIndex = p);
let t = n.exec(e);
if (!t) {
l = !0;
break;
}
c = {
schema: t[2],
index: t.index + t[1].length,
lastIndex: t.index + t[0].length
};
}
if (c.index < f) {
c = void 0;
continue;
}
if (m && c.index > m.index) break;
let t = c;
c = void 0;
let r = this.testSchemaAt(e, t.schema, t.lastIndex);
if (r) {
h = {
schema: t.schema,
index: t.index,
lastIndex: t.lastIndex + r
};
break;
}
}
let g = h;
if ((!g || s && (s.index < g.index || s.index === g.index && s.lastIndex > g.lastIndex)) && (g = s), (!g || o && (o.index < g.index || o.index === g.index && o.lastIndex > g.lastIndex)) && (g = o), !g) break;
g === s ? s = void 0 : g === o && (o = void 0);
let _ = new Wn(e, g.schema, g.index, g.lastIndex);
_.schema ? this.__schemas__[_.schema].normalize(_, this) : this.normalize(_), t.push(_), f = g.lastIndex;
}
return t.length ? t : null;
}
matchAtStart(e) {
if (!e.length) return null;
let t = this.re.get_schema_at_start().exec(e);
if (!t) return null;
let n = this.testSchemaAt(e, t[2], t[0].length);
if (!n) return null;
let r = new Wn(e, t[2], t.index + t[1].length, t.index + t[0].length + n);
return this.__schemas__[r.schema].normalize(r, this), r;
}
tlds(e, t = !1) {
return e = Array.isArray(e) ? e : [e], t ? this.__opts__.tlds = this.__opts__.tlds.concat(e) : this.__opts__.tlds = e, this.re.set({
...this.__opts__,
schema_names: Object.keys(this.__schemas__)
}), this;
}
normalize(e) {
e.schema || (e.url = `http://${e.url}`), e.schema === "mailto:" && !/^mailto:/i.test(e.url) && (e.url = `mailto:${e.url}`);
}
}, J = 2147483647, Y = 36, Kn = 1, X = 26, qn = 38, Jn = 700, Yn = 72, Xn = 128, Zn = "-", Qn = /^xn--/, $n = /[^\0-\x7F]/, er = /[\x2E\u3002\uFF0E\uFF61]/g, tr = {
overflow: "Overflow: input needs wider integers to process",
"not-basic": "Illegal input >= 0x80 (not a basic code point)",
"invalid-input": "Invalid input"
}, nr = 35, Z = Math.floor, rr = String.fromCharCode;
function Q(e) {
throw RangeError(tr[e]);
}
function ir(e, t) {
let n = [], r = e.length;
for (; r--;) n[r] = t(e[r]);
return n;
}
function ar(e, t) {
let n = e.split("@"), r = "";
n.length > 1 && (r = n[0] + "@", e = n[1]), e = e.replace(er, ".");
let i = ir(e.split("."), t).join(".");
return r + i;
}
function or(e) {
let t = [], n = 0, r = e.length;
for (; n < r;) {
let i = e.charCodeAt(n++);
if (i >= 55296 && i <= 56319 && n < r) {
let r = e.charCodeAt(n++);
(r & 64512) == 56320 ? t.push(((i & 1023) << 10) + (r & 1023) + 65536) : (t.push(i), n--);
} else t.push(i);
}
return t;
}
var sr = (e) => String.fromCodePoint(...e), cr = function(e) {
return e >= 48 && e < 58 ? 26 + (e - 48) : e >= 65 && e < 91 ? e - 65 : e >= 97 && e < 123 ? e - 97 : Y;
}, lr = function(e, t) {
return e + 22 + 75 * (e < 26) - ((t != 0) << 5);
}, ur = function(e, t, n) {
let r = 0;
for (e = n ? Z(e / Jn) : e >> 1, e += Z(e / t); e > 455; r += Y) e = Z(e / nr);
return Z(r + 36 * e / (e + qn));
}, dr = function(e) {
let t = [], n = e.length, r = 0, i = Xn, a = Yn, o = e.lastIndexOf(Zn);
o < 0 && (o = 0);
for (let n = 0; n < o; ++n) e.charCodeAt(n) >= 128 && Q("not-basic"), t.push(e.charCodeAt(n));
for (let s = o > 0 ? o + 1 : 0; s < n;) {
let o = r;
for (let t = 1, i = Y;; i += Y) {
s >= n && Q("invalid-input");
let o = cr(e.charCodeAt(s++));
o >= Y && Q("invalid-input"), o > Z((J - r) / t) && Q("overflow"), r += o * t;
let c = i <= a ? Kn : i >= a + X ? X : i - a;
if (o < c) break;
let l = Y - c;
t > Z(J / l) && Q("overflow"), t *= l;
}
let c = t.length + 1;
a = ur(r - o, c, o == 0), Z(r / c) > J - i && Q("overflow"), i += Z(r / c), r %= c, t.splice(r++, 0, i);
}
return String.fromCodePoint(...t);
}, fr = function(e) {
let t = [];
e = or(e);
let n = e.length, r = Xn, i = 0, a = Yn;
for (let n of e) n < 128 && t.push(rr(n));
let o = t.length, s = o;
for (o && t.push(Zn); s < n;) {
let n = J;
for (let t of e) t >= r && t < n && (n = t);
let c = s + 1;
n - r > Z((J - i) / c) && Q("overflow"), i += (n - r) * c, r = n;
for (let n of e) if (n < r && ++i > J && Q("overflow"), n === r) {
let e = i;
for (let n = Y;; n += Y) {
let r = n <= a ? Kn : n >= a + X ? X : n - a;
if (e < r) break;
let i = e - r, o = Y - r;
t.push(rr(lr(r + i % o, 0))), e = Z(i / o);
}
t.push(rr(lr(e, 0))), a = ur(i, c, s === o), i = 0, ++s;
}
++i, ++r;
}
return t.join("");
}, pr = {
version: "2.3.1",
ucs2: {
decode: or,
encode: sr
},
decode: dr,
encode: fr,
toASCII: function(e) {
return ar(e, function(e) {
return $n.test(e) ? "xn--" + fr(e) : e;
});
},
toUnicode: function(e) {
return ar(e, function(e) {
return Qn.test(e) ? dr(e.slice(4).toLowerCase()) : e;
});
}
}, mr = {
default: {
options: {
html: !1,
xhtmlOut: !1,
breaks: !1,
langPrefix: "language-",
linkify: !1,
typographer: !1,
quotes: "“”‘’",
highlight: null,
maxNesting: 100
},
components: {
core: {},
block: {},
inline: {}
}
}
}, hr = /^(vbscript|javascript|file|data):/, gr = /^data:image\/(gif|png|jpeg|webp);/, _r = [
"http:",
"https:",
"mailto:"
], $ = class {
validateLink(e) {
let t = e.trim().toLowerCase();
return !hr.test(t) || gr.test(t);
}
normalizeLink(e) {
let t = b(e, !0);
if (t.hostname && (!t.protocol || _r.indexOf(t.protocol) >= 0)) try {
t.hostname = pr.toASCII(t.hostname);
} catch (e) {}
return t.auth && (t.auth = s(t.auth)), t.hostname && (t.hostname = s(t.hostname)), t.pathname && (t.pathname = s(t.pathname)), t.search && (t.search = s(t.search)), t.hash && (t.hash = s(t.hash)), c(t);
}
normalizeLinkText(e) {
let t = b(e, !0);
if (t.hostname && (!t.protocol || _r.indexOf(t.protocol) >= 0)) try {
t.hostname = pr.toUnicode(t.hostname);
} catch (e) {}
return i(c(t), i.defaultChars + "%");
}
constructor(...e) {
D(this, "inline", new In()), D(this, "block", new Zt()), D(this, "core", new Et()), D(this, "renderer", new Ze()), D(this, "linkify", new Gn()), D(this, "utils", ke), D(this, "helpers", Object.assign({}, Xe));
let [t, n] = e;
typeof t == "string" ? (this.configure(t), n && this.set(n)) : (this.configure("default"), this.set(t || {}));
}
set(e) {
return Object.assign(this.options, e), this;
}
configure(e) {
let t;
if (typeof e == "string") {
let n = e;
if (t = mr[n], !t) throw Error(`Wrong 'markdown-it' preset "${n}", check name`);
} else t = e;
if (!t) throw Error("Wrong `markdown-it` preset, can't be empty");
t.options && (this.options = { ...t.options });
let n = t.components;
if (n) {
var r;
[
"core",
"block",
"inline"
].forEach((e) => {
var t;
let r = (t = n[e]) == null ? void 0 : t.rules;
r && this[e].ruler.enableOnly(r);
});
let e = (r = n.inline) == null ? void 0 : r.rules2;
e && this.inline.ruler2.enableOnly(e);
}
return this;
}
parse(e, t) {
if (typeof e != "string") throw Error("Input data should be a String");
let n = new this.core.State(e, this, t);
return this.core.process(n), n.tokens;
}
};
//#region src/index.ts
var vr = Ae($);
export { vr as default };

