//! Checks pages with axe (<https://github.com/dequelabs/axe-core>).

use std::path::Path;
use std::sync::LazyLock;

use serde_json::{Value, json};
use test_support::left_out::leave_out;

use super::driver::REQUIRED_BY;
use super::window::Window;

/// Source of `axe.min.js`, from the path in `VESTIBULE_AXE`; `None` if the variable is not set.
static AXE: LazyLock<Option<String>> = LazyLock::new(|| {
    let path = std::env::var_os("VESTIBULE_AXE")?;
    Some(
        std::fs::read_to_string(Path::new(&path))
            .unwrap_or_else(|error| panic!("VESTIBULE_AXE, {}: {error}", path.display())),
    )
});

/// Script that runs axe's rules for WCAG levels A and AA and its best practices.
const RUN: &str = "
    const values = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'];
    return axe.run(document, { runOnly: { type: 'tag', values }, resultTypes:
        ['violations'] }).then(({ violations }) =>
        violations.flatMap(({ id, help, nodes }) => nodes.map(({ target, html, any, all, none }) =>
            ({
            id, help, target: target.join(' '), html: html.slice(0, 160), why: [...any, ...all,
                ...none].map((check) => check.message).join(' '),
        }))));
";

/// Returns whether axe is available. If it is not, records the test as skipped.
pub fn is_there() -> bool {
    let is_there = AXE.is_some();
    if !is_there {
        leave_out("axe-core", "VESTIBULE_AXE names no axe.min.js", REQUIRED_BY);
    }
    is_there
}

/// Makes the window run axe's source in every page that it opens from now on, in addition to the
/// scripts of the page.
pub async fn install(window: &Window) {
    let source = AXE
        .as_ref()
        .expect("it has been asked whether axe is there");
    window
        .devtools(
            "Page.addScriptToEvaluateOnNewDocument",
            json!({ "source": source }),
        )
        .await;
}

/// Returns axe's violations on the current page, each as rule, requirement, element and reason.
pub async fn violations(window: &Window) -> Vec<String> {
    let found = window.run(RUN).await;
    let text =
        |violation: &Value, name: &str| violation[name].as_str().unwrap_or_default().to_owned();
    let message = |violation: &Value| {
        let [id, help, target, html, why] =
            ["id", "help", "target", "html", "why"].map(|name| text(violation, name));
        format!("{id}: {help}\n    at {target}\n    {html}\n    {why}")
    };
    found.as_array().unwrap().iter().map(message).collect()
}

/// Opens a page with its scripts disabled and returns axe's violations. The driver runs axe after
/// the page has loaded.
pub async fn violations_without_scripts(window: &Window, address: &str) -> Vec<String> {
    let source = AXE
        .as_ref()
        .expect("it has been asked whether axe is there");
    let disable = async |value: bool| {
        window
            .devtools(
                "Emulation.setScriptExecutionDisabled",
                json!({ "value": value }),
            )
            .await;
    };
    disable(true).await;
    window.go(address).await;
    disable(false).await;
    window.run(&format!("{source}; return true")).await;
    violations(window).await
}
