(() => {
"use strict";
const all = (what, within = document) => [...within.querySelectorAll(what)];

// The search is one key away.
const search = document.querySelector("[data-slash]");
addEventListener("keydown", event => {
  const typing = event.target.closest("input,textarea,select,[contenteditable]");
  if (search && event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    search.focus();
  }
});

// A field is there while another has the value that it is for.
const conditional = all("[data-when]");
const update = () => conditional.forEach(field => {
  const [name, values] = field.dataset.when.split("=");
  const other = document.getElementById("f-" + name.replaceAll(".", "-"));
  field.hidden = !!other && !field.querySelector("[aria-invalid]") && !(values.split(",").includes(other.value) && !other.closest("[hidden]"));
});
if (conditional.length) {
  addEventListener("change", update);
  // A field may hang on one that hangs on another.
  update(); update();
}

// A colour can be picked as well as typed.
all("[data-colour]").forEach(text => {
  const picker = document.createElement("input");
  picker.type = "color";
  picker.setAttribute("aria-label", text.dataset.colour);
  picker.disabled = text.disabled;
  const follow = () => {
    const short = /^#([0-9a-f])([0-9a-f])([0-9a-f])$/i.exec(text.value);
    const value = short ? "#" + short.slice(1).map(digit => digit + digit).join("") : text.value;
    if (/^#[0-9a-f]{6}$/i.test(value)) picker.value = value;
  };
  follow();
  text.addEventListener("input", follow);
  picker.addEventListener("input", () => {
    text.value = picker.value;
    text.dispatchEvent(new Event("change", { bubbles: true }));
  });
  text.before(picker);
});

// What is shown to be taken along is copied by a button.
all("[data-copy]").forEach(field => {
  const button = document.createElement("button");
  const said = document.createElement("small");
  button.type = "button";
  button.className = "plain slim";
  button.textContent = field.dataset.copy;
  said.setAttribute("role", "status");
  button.addEventListener("click", async () => {
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
    } catch {
      // Without TLS there is no other way.
      if (!document.execCommand("copy")) return;
    }
    said.textContent = " " + field.dataset.copied;
  });
  field.after(button, said);
});

// Nothing that was typed is left behind by mistake, and nothing is sent twice.
let leaving = false;
const free = () => all("form button").forEach(button => { button.disabled = false; });
all("form[data-guard]").forEach(form => {
  let changed = !!document.querySelector("[data-focus]");
  form.addEventListener("input", () => { changed = true; });
  form.addEventListener("change", () => { changed = true; });
  addEventListener("beforeunload", event => {
    if (!changed || leaving) return;
    event.preventDefault();
    // Whoever stays can press what they had pressed.
    setTimeout(free, 500);
  });
});
all("form").forEach(form => form.addEventListener("submit", () => {
  if (form.target) return;
  // What another form sends, such as a search, leaves behind what was typed into this one.
  leaving = "guard" in form.dataset;
  setTimeout(() => all("button", form).forEach(button => { button.disabled = true; }));
}));
addEventListener("pageshow", event => {
  leaving = false;
  if (event.persisted) free();
});

// A preview is shown without being asked for.
all("form[data-auto]").forEach(form => form.requestSubmit());

// Rows can be dragged; the order is sent by the form that has them.
all("[data-order]").forEach(list => {
  let dragged = null;
  const rows = () => all("[data-row]", list);
  rows().forEach(row => {
    row.draggable = true;
    row.addEventListener("dragstart", event => {
      dragged = row;
      row.classList.add("dragged");
      event.dataTransfer.effectAllowed = "move";
    });
    row.addEventListener("dragend", () => {
      row.classList.remove("dragged");
      if (dragged && list.dataset.was !== rows().map(each => each.dataset.row).join()) {
        const form = document.getElementById(list.dataset.order);
        form.elements.order.value = rows().map(each => each.dataset.row).join(",");
        form.elements.moved.value = row.dataset.row;
        form.requestSubmit();
      }
      dragged = null;
    });
    row.addEventListener("dragover", event => {
      if (!dragged || dragged === row || dragged.parentNode !== row.parentNode) return;
      event.preventDefault();
      const box = row.getBoundingClientRect();
      row.parentNode.insertBefore(dragged, event.clientY > box.top + box.height / 2 ? row.nextSibling : row);
    });
  });
  list.dataset.was = rows().map(each => each.dataset.row).join();
});

// Markdown is shown as it is written.
all("[data-render]").forEach(area => {
  const shown = document.getElementById(area.dataset.shown);
  let waiting;
  const show = async () => {
    const body = new URLSearchParams({ form: area.form.elements.form.value, text: area.value });
    try {
      const answer = await fetch(area.dataset.render, { method: "POST", body });
      if (answer.ok) shown.innerHTML = await answer.text();
    } catch { /* It is shown when it is saved. */ }
  };
  area.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(show, 400); });
});
})();
