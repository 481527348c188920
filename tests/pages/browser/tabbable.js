const isChosen = (it) => [...document.getElementsByName(it.name)].find((other) => other.type === 'radio' && other.form === it.form && other.checked);
const first = (it) => [...document.getElementsByName(it.name)].find((other) => other.type === 'radio' && other.form === it.form);
const tabbable = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, iframe, [tabindex]')].filter((it) =>
  it.tabIndex >= 0 && it.type !== 'hidden' && !it.matches(':disabled') && it.checkVisibility({ visibilityProperty: true })
  && (it.type !== 'radio' || it === (isChosen(it) || first(it))));
