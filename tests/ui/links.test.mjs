// What is said beside a link whose text names another place than it leads to.

import assert from "node:assert/strict";
import test from "node:test";
import { isAllowed, warningFor } from "../../ui/text/links.js";

test("a text that names another place is told where the link leads", () => {
  const texts = [
    "https://bank.example/login",
    "HTTPS://Bank.example",
    "bank.example",
    "www.bank.example/login",
    "Visit https://bank.example today",
    "https://bank.example (official)",
    "bank.example, the official page",
    "b\u0430nk.example",
    " bank.example",
    "192.168.0.1",
    "evil.example:8080",
  ];
  for (const text of texts) assert.equal(warningFor("https://evil.example/a", text), "evil.example", text);
});

test("a host that reads as another, and one behind a name, is told whatever the text says", () => {
  assert.equal(warningFor("https://p\u0430ypal.example/", "pay"), "xn--pypal-4ve.example");
  assert.equal(warningFor("https://bank.example@evil.example/", "news"), "evil.example");
});

test("a text that misleads nobody is left alone", () => {
  const texts = ["news", "https://a.example/b", "a.example", "A.example/b?c", "a.example, the page", "See https://a.example.", "see b.example", "1.5", "1.5 of 2", "v1.2", "e.g. this", ""];
  for (const text of texts) assert.equal(warningFor("https://a.example/b", text), "", text);
  assert.equal(warningFor("mailto:a@b.example", "c@d.example"), "");
  assert.equal(warningFor("#part", "a.example"), "");
});

test("only what opens a page, a message or a part of this text is a link", () => {
  for (const href of ["http://a.example", "HTTPS://a.example", "mailto:a@b.example", "#part"]) assert.ok(isAllowed(href), href);
  for (const href of ["javascript:1", "data:text/html,x", "//a.example", "/v1/models", "../x", "file:///x", " https://a.example", "blob:https://a.example/1"])
    assert.ok(!isAllowed(href), href);
});
