const it = document.activeElement || document.body;
const style = getComputedStyle(it);
const form = it.form;
const group = it.type === 'radio' && form ? [...form.elements].filter((other) => other.name === it.name) : [];
return {
  is: it.outerHTML.slice(0, 120),
  tag: it.localName,
  role: it.getAttribute('role'),
  type: it.type || '',
  name: it.getAttribute('name') || '',
  href: it.href || '',
  value: it.value || '',
  isRequired: it.required === true,
  isInvalid: it.getAttribute('aria-invalid') === 'true',
  described: (it.getAttribute('aria-describedby') || '').split(' ').map((id) => document.getElementById(id)?.textContent || '').join(' '),
  isChosen: it.checked === true || group.some((other) => other.checked),
  // Each part of a date field gets the focus separately, and Chromium itself draws the outline.
  isOutlined: it.type === 'date' || style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0,
  sendsTo: form ? new URL(form.getAttribute('action') || '', location).pathname : '',
};
