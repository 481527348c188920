(() => {
"use strict";
const all = (what, within = document) => [...within.querySelectorAll(what)];

// The key / focuses the search.
const search = document.querySelector("[data-slash]");
addEventListener("keydown", event => {
  const typing = event.target.closest("input,textarea,select,[contenteditable]");
  if (search && event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    search.focus();
  }
});

// Shows a field only while another field has a value for which the field has an effect.
const conditional = all("[data-when]");
const update = () => conditional.forEach(field => {
  const [name, values] = field.dataset.when.split("=");
  const other = document.getElementById("f-" + name.replaceAll(".", "-"));
  field.hidden = !!other && !field.querySelector("[aria-invalid]") && !(values.split(",").includes(other.value) && !other.closest("[hidden]"));
});
if (conditional.length) {
  addEventListener("change", update);
  // The second update hides fields that depend on a field which the first update has hidden.
  update(); update();
}

// Adds a colour picker to each text field for a colour. Colours may have three or six digits.
const whole = colour => colour.replace(/^#([0-9a-f])([0-9a-f])([0-9a-f])$/i, "#$1$1$2$2$3$3");
all("[data-colour]").forEach(text => {
  const picker = document.createElement("input");
  picker.type = "color";
  picker.setAttribute("aria-label", text.dataset.colour);
  picker.disabled = text.disabled;
  const follow = () => {
    // An unset colour is shown as white.
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

// Completes a placeholder that the member begins to type. The added part is selected, so further typing replaces it.
const placeholders = all("[data-placeholders] code").map(code => code.textContent);
document.addEventListener("input", event => {
  const field = event.target;
  if (event.inputType !== "insertText" || event.isComposing || !field.matches("textarea,input:not([type])")) return;
  const cursor = field.selectionStart;
  const begun = /\{\{[^{}\n]+$/.exec(field.value.slice(0, cursor))?.[0];
  const whole = begun && placeholders.find(text => text.startsWith(begun));
  // Inside an existing placeholder the rest of the name follows already.
  if (whole && !/^[\w.}]/.test(field.value.slice(cursor))) field.setRangeText(whole.slice(begun.length), cursor, cursor, "select");
}, true);

// Adds a button that copies the text of a field, such as a token.
all("[data-copy]").forEach(field => {
  const button = document.createElement("button");
  const status = document.createElement("small");
  button.type = "button";
  button.className = "plain slim";
  button.textContent = field.dataset.copy;
  status.setAttribute("role", "status");
  button.addEventListener("click", async () => {
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
    } catch {
      // Without HTTPS the browser offers no clipboard, so the older command is used.
      if (!document.execCommand("copy")) return;
    }
    status.textContent = " " + field.dataset.copied;
  });
  field.after(button, status);
});

// Warns before typed text is lost, and prevents sending a form twice.
let leaving = false;
const free = () => all("form button").forEach(button => { button.disabled = false; });
all("form[data-guard]").forEach(form => {
  let changed = !!document.querySelector("[data-focus]");
  form.addEventListener("input", () => { changed = true; });
  form.addEventListener("change", () => { changed = true; });
  addEventListener("beforeunload", event => {
    if (!changed || leaving) return;
    event.preventDefault();
    // If the member stays on the page, the buttons must work again.
    setTimeout(free, 500);
  });
});
all("form").forEach(form => form.addEventListener("submit", () => {
  if (form.target) return;
  // Sending another form, such as the search, would lose the text typed into a guarded form.
  leaving = "guard" in form.dataset;
  setTimeout(() => all("button", form).forEach(button => { button.disabled = true; }));
}));
addEventListener("pageshow", event => {
  leaving = false;
  if (event.persisted) free();
});

// Loads the preview of the guest page with the typed values, and reloads it when they change.
all("[data-plain]").forEach(part => { part.hidden = true; });
all("form[data-auto]").forEach(form => {
  const edited = document.querySelector("#edit");
  let waiting;
  const show = () => {
    const frame = document.querySelector("iframe[name=preview]");
    // A new frame adds no entry to the browser's history.
    const fresh = frame.cloneNode();
    const scroll = frame.contentDocument?.defaultView.scrollY;
    fresh.addEventListener("load", () => fresh.contentDocument?.defaultView.scrollTo(0, scroll));
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

// Recomputes the contrast of colours while they are typed (WCAG).
const luminance = colour => [1, 3, 5].map(index => parseInt(colour.slice(index, index + 2), 16) / 255)
  .map(part => part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4)
  .reduce((sum, part, index) => sum + part * [.2126, .7152, .0722][index], .05);
const ratio = (one, other) => Math.max(luminance(one), luminance(other)) / Math.min(luminance(one), luminance(other));
const typed = name => whole(document.getElementById("f-" + name)?.value || "#ffffff");
const rate = () => all("[data-ground]").forEach(pair => {
  const ground = typed(pair.dataset.ground);
  const inks = pair.dataset.ink.split(" ").map(ink => ink[0] === "#" ? ink : typed(ink));
  if (![ground, ...inks].every(colour => /^#[0-9a-f]{6}$/i.test(colour))) return;
  const ink = inks.sort((one, other) => ratio(other, ground) - ratio(one, ground))[0];
  const is = ratio(ink, ground);
  const pill = pair.querySelector(".pill");
  pair.querySelector("rect").setAttribute("fill", ground);
  pair.querySelector("text").setAttribute("fill", ink);
  pill.className = is < 4.5 ? "pill off" : "pill on";
  pill.textContent = `${is.toFixed(1)} · ${is < 4.5 ? pair.dataset.poor : pair.dataset.good}`;
});
["input", "change"].forEach(kind => addEventListener(kind, rate));

// Lets the member drag rows. After a drag, the form of the rows sends the new order.
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

// Renders Markdown while it is typed.
all("[data-render]").forEach(area => {
  const output = document.getElementById(area.dataset.shown);
  let waiting;
  const show = async () => {
    const body = new URLSearchParams({ form: area.form.elements.form.value, text: area.value });
    try {
      const response = await fetch(area.dataset.render, { method: "POST", body });
      if (response.ok) output.innerHTML = await response.text();
    } catch { /* The saved page shows the text. */ }
  };
  area.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(show, 400); });
});
})();
