"use strict";
// Pages work without this. With it, times are those of the reader's zone, numbers stay up to date
// where they stand, and keys lead around.

const two = (n) => String(n).padStart(2, "0");

function offset(moment) {
  const minutes = -moment.getTimezoneOffset();
  const size = Math.abs(minutes);
  return (minutes < 0 ? "−" : "+") + two(Math.floor(size / 60)) + ":" + two(size % 60);
}

function inZone(iso) {
  const moment = new Date(iso);
  if (Number.isNaN(moment.getTime())) return iso;
  const clock = [moment.getHours(), moment.getMinutes(), moment.getSeconds()].map(two).join(":");
  const day = moment.getFullYear() + "-" + two(moment.getMonth() + 1) + "-" + two(moment.getDate());
  const isToday = moment.toDateString() === new Date().toDateString();
  return (isToday ? "" : day + " ") + clock + " " + offset(moment);
}

function showTime(element) {
  element.title = element.dateTime;
  element.textContent = inZone(element.dateTime);
}

function put(element, text) {
  if ("time" in element.dataset) {
    if (!text) { element.textContent = ""; return; }
    const time = element.querySelector("time") || element.appendChild(document.createElement("time"));
    time.dateTime = text;
    showTime(time);
    return;
  }
  if (element.tagName === "PROGRESS") element.value = Number(text);
  else if (element.tagName === "polyline") element.setAttribute("points", text);
  else if (element.textContent !== text) {
    element.textContent = text;
    element.classList.remove("fresh");
    requestAnimationFrame(() => element.classList.add("fresh"));
  }
}

function take(numbers) {
  for (const element of document.querySelectorAll("[data-n]")) {
    const text = numbers[element.dataset.n];
    if (text !== undefined) put(element, text);
  }
  if (numbers.lost !== undefined) document.getElementById("lost").hidden = !numbers.lost;
  const list = document.querySelector("[data-list]");
  if (list && numbers.list !== undefined && numbers.list !== list.dataset.list) {
    document.getElementById("changed").hidden = false;
  }
  if (numbers.done_with !== undefined && numbers.done_with) location.reload();
}

function listen(path) {
  const source = new EventSource(path);
  source.onmessage = (event) => take(JSON.parse(event.data).set || {});
  addEventListener("pagehide", () => source.close());
}

// -------- keys

function rows() {
  return [...document.querySelectorAll("table.list tbody tr")].filter((row) => row.offsetParent);
}

function step(by) {
  const all = rows();
  if (!all.length) return;
  const now = all.findIndex((row) => row.classList.contains("at"));
  const next = all[Math.min(Math.max(now + by, 0), all.length - 1)];
  all.forEach((row) => row.classList.toggle("at", row === next));
  const link = next.querySelector("a, button, input");
  if (link) link.focus({preventScroll: true});
  next.scrollIntoView({block: "nearest"});
}

let behind = "";

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && event.target.type !== "checkbox") return;
  if (behind === "g") {
    behind = "";
    const link = [...document.querySelectorAll("[data-go]")].find((a) => a.dataset.go === event.key);
    if (link) link.click();
    return;
  }
  const find = document.getElementById("find");
  if (event.key === "g") behind = "g";
  else if (event.key === "/" && find) { event.preventDefault(); find.focus(); }
  else if (event.key === "j") step(1);
  else if (event.key === "k") step(-1);
  else if (event.key === "p") {
    const link = document.activeElement.closest("tr")?.querySelector("a[data-raise]");
    if (link) link.click();
  }
}

// -------- a group dragged before another one asks what that would do

let dragged = null;

function drag(table) {
  for (const row of table.querySelectorAll("tr[data-group]")) {
    row.draggable = true;
    row.addEventListener("dragstart", (event) => {
      dragged = row;
      event.dataTransfer.setData("text/plain", row.dataset.group);
    });
    row.addEventListener("dragover", (event) => { event.preventDefault(); row.classList.add("over"); });
    row.addEventListener("dragleave", () => row.classList.remove("over"));
    row.addEventListener("drop", (event) => {
      event.preventDefault();
      row.classList.remove("over");
      if (!dragged || dragged === row) return;
      const query = new URLSearchParams({name: table.dataset.queue, group: dragged.dataset.group, before: row.dataset.group});
      location.assign("/promote?" + query);
    });
  }
}

// -------- on a phone a row is a card: each cell says what it is

function label(table) {
  const names = [...table.querySelectorAll("thead th")].map((head) => head.querySelector(".unseen") ? "" : head.textContent.trim());
  for (const row of table.querySelectorAll("tbody tr")) {
    [...row.cells].forEach((cell, k) => {
      if (cell.tagName === "TD" && cell.colSpan === 1 && names[k]) cell.dataset.label = names[k];
    });
  }
  table.classList.add("cards");
}

document.querySelectorAll("time[datetime]").forEach(showTime);
document.querySelectorAll(".keys").forEach((line) => { line.hidden = false; });
document.querySelectorAll("table").forEach(label);
document.querySelectorAll("table[data-queue]").forEach(drag);
document.querySelectorAll("input[data-all]").forEach((all) => {
  all.closest("label").hidden = false;
  all.addEventListener("change", () => {
    all.closest("form").querySelectorAll("input[type=checkbox]").forEach((one) => { one.checked = all.checked; });
  });
});
document.addEventListener("keydown", key);
if (document.body.dataset.live && window.EventSource) listen(document.body.dataset.live);
