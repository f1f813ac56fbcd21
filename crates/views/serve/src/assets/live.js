// Brings the live part of the page up to date every two seconds while it is visible. What comes is
// HTML that the server made and escaped; no other host is asked.
"use strict";

const EVERY_MS = 2000;
const live = document.getElementById("live");
const state = document.getElementById("state");
const clock = () => new Date().toISOString().slice(11, 19) + " UTC";
let updated = clock();

// Changes what differs and keeps the rest, so that nothing that the reader has reached is lost:
// selected text, the focus, and where tables are scrolled to.
function patch(shown, fresh) {
  if (shown.nodeName !== fresh.nodeName) {
    shown.replaceWith(fresh);
    return;
  }
  if (shown.nodeType === Node.TEXT_NODE) {
    if (shown.data !== fresh.data) {
      shown.data = fresh.data;
    }
    return;
  }
  for (const { name, value } of fresh.attributes) {
    if (shown.getAttribute(name) !== value) {
      shown.setAttribute(name, value);
    }
  }
  const parts = [...fresh.childNodes];
  if (shown.childNodes.length !== parts.length) {
    shown.replaceChildren(...parts);
    return;
  }
  [...shown.childNodes].forEach((part, at) => patch(part, parts[at]));
}

function replace(html) {
  const selection = getSelection();
  const { anchorNode, anchorOffset, focusNode, focusOffset, isCollapsed } = selection;
  const fresh = live.cloneNode(false);
  fresh.innerHTML = html;
  patch(live, fresh);
  const isLeft = !isCollapsed && live.contains(anchorNode) && live.contains(focusNode);
  if (isLeft) {
    const end = (node) => node.nodeType === Node.TEXT_NODE ? node.length : node.childNodes.length;
    selection.setBaseAndExtent(anchorNode, Math.min(anchorOffset, end(anchorNode)),
      focusNode, Math.min(focusOffset, end(focusNode)));
  }
}

async function update() {
  if (!document.hidden) {
    try {
      const answer = await fetch("/live", { cache: "no-store" });
      if (answer.status === 401) {
        location.assign("/login");
        return;
      }
      if (!answer.ok) {
        throw new Error(await answer.text());
      }
      replace(await answer.text());
      updated = clock();
      state.className = "";
      state.textContent = "Updated " + updated;
    } catch (error) {
      state.className = "old";
      state.textContent = `Not updated since ${updated}: ${error.message}`;
    }
  }
  setTimeout(update, EVERY_MS);
}

setTimeout(update, EVERY_MS);
