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

// A colour can be picked as well as typed, also with three digits.
const whole = colour => colour.replace(/^#([0-9a-f])([0-9a-f])([0-9a-f])$/i, "#$1$1$2$2$3$3");
all("[data-colour]").forEach(text => {
  const picker = document.createElement("input");
  picker.type = "color";
  picker.setAttribute("aria-label", text.dataset.colour);
  picker.disabled = text.disabled;
  const follow = () => {
    // What is not set is white.
    const value = whole(text.value || "#ffffff");
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

// A placeholder that is begun is completed. The completed part is selected, so that typing on replaces it.
const placeholders = all("[data-placeholders] code").map(code => code.textContent);
document.addEventListener("input", event => {
  const field = event.target;
  if (event.inputType !== "insertText" || event.isComposing || !field.matches("textarea,input:not([type])")) return;
  const place = field.selectionStart;
  const begun = /\{\{[^{}\n]+$/.exec(field.value.slice(0, place))?.[0];
  const whole = begun && placeholders.find(text => text.startsWith(begun));
  // In the middle of a placeholder the rest is there already.
  if (whole && !/^[\w.}]/.test(field.value.slice(place))) field.setRangeText(whole.slice(begun.length), place, place, "select");
}, true);

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

// The guest's page is shown without being asked for, with what is typed beside it, and again when that is another.
all("[data-plain]").forEach(part => { part.hidden = true; });
all("form[data-auto]").forEach(form => {
  const edited = document.querySelector("#edit");
  let waiting;
  const show = () => {
    const frame = document.querySelector("iframe[name=preview]");
    // A frame that is new leaves nothing behind to go back to.
    const fresh = frame.cloneNode();
    const place = frame.contentDocument?.defaultView.scrollY;
    fresh.addEventListener("load", () => fresh.contentDocument?.defaultView.scrollTo(0, place));
    frame.replaceWith(fresh);
    form.requestSubmit(form.elements.look);
  };
  const later = () => { clearTimeout(waiting); waiting = setTimeout(show, 700); };
  form.addEventListener("change", show);
  form.addEventListener("formdata", event => {
    const own = new Set(event.formData.keys());
    if (edited) new FormData(edited).forEach((value, name) => own.has(name) || event.formData.append(name, value));
  });
  if (edited) ["input", "change"].forEach(kind => edited.addEventListener(kind, later));
  form.requestSubmit(form.elements.look);
});

// How well colours can be read is told of those that are typed.
const luminance = colour => [1, 3, 5].map(place => parseInt(colour.slice(place, place + 2), 16) / 255)
  .map(part => part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4)
  .reduce((sum, part, place) => sum + part * [.2126, .7152, .0722][place], .05);
const ratio = (one, other) => Math.max(luminance(one), luminance(other)) / Math.min(luminance(one), luminance(other));
const typed = name => whole(document.getElementById("f-" + name)?.value || "#ffffff");
const meet = () => all("[data-ground]").forEach(meeting => {
  const ground = typed(meeting.dataset.ground);
  const inks = meeting.dataset.ink.split(" ").map(ink => ink[0] === "#" ? ink : typed(ink));
  if (![ground, ...inks].every(colour => /^#[0-9a-f]{6}$/i.test(colour))) return;
  const ink = inks.sort((one, other) => ratio(other, ground) - ratio(one, ground))[0];
  const is = ratio(ink, ground);
  const pill = meeting.querySelector(".pill");
  meeting.querySelector("rect").setAttribute("fill", ground);
  meeting.querySelector("text").setAttribute("fill", ink);
  pill.className = is < 4.5 ? "pill off" : "pill on";
  pill.textContent = `${is.toFixed(1)} · ${is < 4.5 ? meeting.dataset.poor : meeting.dataset.good}`;
});
["input", "change"].forEach(kind => addEventListener(kind, meet));

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
