// Replaces the live part of the page every two seconds while it is visible. What comes is HTML
// that the server made and escaped; no other host is asked.
"use strict";

const EVERY_MS = 2000;
const live = document.getElementById("live");
const state = document.getElementById("state");

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
      // Tables stay where the reader has scrolled them.
      const places = [...live.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
      live.innerHTML = await answer.text();
      live.querySelectorAll(".scroll").forEach((box, index) => {
        box.scrollLeft = places[index] ?? 0;
      });
      state.textContent = "Updated " + new Date().toLocaleTimeString();
    } catch (error) {
      state.textContent = "Not updated since: " + error.message;
    }
  }
  setTimeout(update, EVERY_MS);
}

setTimeout(update, EVERY_MS);
