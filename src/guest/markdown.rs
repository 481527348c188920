//! The bodies of manuals as HTML that is safe to show, whatever was written.

use std::sync::LazyLock;

use ammonia::Builder;
use comrak::Options;

static OPTIONS: LazyLock<Options<'static>> = LazyLock::new(|| {
    let mut options = Options::default();
    options.extension.strikethrough = true;
    options.extension.table = true;
    options.extension.autolink = true;
    // A line is a line: those who write a door code under an address mean two lines.
    options.render.hardbreaks = true;
    options
});

/// Links open away from the portal and tell nothing of where they were followed.
static SAFE: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut builder = Builder::default();
    builder.url_schemes(["http", "https", "mailto", "tel"].into()).link_rel(Some("noopener noreferrer nofollow"));
    builder
});

/// Markdown as HTML. What is not on the list of harmless tags and attributes is left out.
pub(super) fn to_html(text: &str) -> String {
    SAFE.clean(&comrak::markdown_to_html(text, &OPTIONS)).to_string()
}

/// A text as HTML that shows it as it is, line by line.
pub(super) fn escape(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(ammonia::clean_text).collect();
    format!("<p>{}</p>", lines.join("<br>"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markdown_is_rendered() {
        assert_eq!(
            to_html("Network **Casa Azul**\npassword `1234`").trim(),
            "<p>Network <strong>Casa Azul</strong><br>\npassword <code>1234</code></p>"
        );
        assert!(to_html("https://example.com").contains("rel=\"noopener noreferrer nofollow\""));
        assert!(to_html("| a | b |\n|---|---|\n| 1 | 2 |").contains("<td>1</td>"));
    }

    #[test]
    fn nothing_that_runs_comes_through() {
        for text in [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "[x](javascript:alert(1))",
            "<iframe src='https://a.example'></iframe>",
            "<a href='data:text/html,x'>x</a>",
            "<svg onload=alert(1)>",
            "<style>body{display:none}</style>",
            "<form action=/x><button>go</button></form>",
        ] {
            let html = to_html(text).to_lowercase();
            for part in ["<script", "onerror", "javascript:", "<iframe", "data:", "onload", "<style", "<form", "<button"] {
                assert!(!html.contains(part), "{text} gave {html}");
            }
        }
        assert_eq!(escape("<b> & co"), "<p>&lt;b&gt;&#32;&amp;&#32;co</p>");
        assert_eq!(escape("4711\r\n<br>\n"), "<p>4711<br>&lt;br&gt;</p>");
    }

    proptest! {
        #[test]
        fn whatever_is_written_never_becomes_a_script(text: String) {
            prop_assert!(!to_html(&text).to_lowercase().contains("<script"));
        }
    }
}
