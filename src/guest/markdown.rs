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
    // HTML that stands in it is shown as far as it is harmless, which is decided of the whole below.
    options.render.r#unsafe = true;
    options
});

/// Links open away from the portal and tell nothing of where they were followed.
static SAFE: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut builder = Builder::default();
    builder.url_schemes(["http", "https", "mailto", "tel"].into()).link_rel(Some("noopener noreferrer nofollow"));
    // A picture is loaded when it is looked at.
    builder.set_tag_attribute_value("img", "loading", "lazy");
    builder
});

/// The greatest heading of a manual.
const FIRST_HEADING: u32 = 3;
/// The least heading that there is.
const LAST_HEADING: u32 = 6;

/// Markdown as HTML. What is not on the list of harmless tags and attributes is left out; nothing where nothing is left.
pub(crate) fn to_html(text: &str) -> Option<String> {
    let html = SAFE.clean(&comrak::markdown_to_html(text, &OPTIONS)).to_string();
    is_something(&html).then(|| below_two_headings(&html))
}

/// Whether there is anything to see in what has been cleaned: a text, a picture or a line.
fn is_something(html: &str) -> bool {
    let texts = html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    html.contains("<img") || html.contains("<hr") || texts.into_iter().any(|text| !text.trim().is_empty())
}

/// HTML whose headings begin with the third, whichever they were written with, and go down by one at a time: above them stand
/// those of the page and of the manual's category, and whoever listens to them misses none.
///
/// It has been cleaned, so that a tag is written in one way, and what is no tag has no `<`, but in an attribute, where this
/// changes a title's wording at the most.
fn below_two_headings(html: &str) -> String {
    let mut headed = String::with_capacity(html.len());
    let (mut first, mut current) = (None, FIRST_HEADING - 1);
    for (place, part) in html.split('<').enumerate() {
        if place > 0 {
            headed.push('<');
        }
        let (slash, tag) = part.strip_prefix('/').map_or(("", part), |tag| ("/", tag));
        let level = tag.strip_prefix('h').and_then(|rest| rest.chars().next()).and_then(|digit| digit.to_digit(10)).filter(|_| place > 0);
        let Some(level) = level else {
            headed.push_str(part);
            continue;
        };
        if slash.is_empty() {
            let below = level.saturating_sub(*first.get_or_insert(level));
            current = (FIRST_HEADING + below).min(current + 1).min(LAST_HEADING);
        }
        headed.extend([slash, "h", &current.to_string(), &tag[2..]]);
    }
    headed
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
            to_html("Network **Casa Azul**\npassword `1234`").unwrap().trim(),
            "<p>Network <strong>Casa Azul</strong><br>\npassword <code>1234</code></p>"
        );
        assert!(to_html("https://example.com").unwrap().contains("rel=\"noopener noreferrer nofollow\""));
        assert!(to_html("| a | b |\n|---|---|\n| 1 | 2 |").unwrap().contains("<td>1</td>"));
    }

    #[test]
    fn headings_begin_below_those_of_the_page() {
        let headings = to_html("# One\n## Two\n### Three\n##### Five\n\n<h1>Raw</h1>").unwrap();
        for heading in ["<h3>One</h3>", "<h4>Two</h4>", "<h5>Three</h5>", "<h6>Five</h6>", "<h3>Raw</h3>"] {
            assert!(headings.contains(heading), "{heading} is not in {headings}");
        }
        let gaps = to_html("## One\n##### Two\n# Three\n#### Four").unwrap();
        for heading in ["<h3>One</h3>", "<h4>Two</h4>", "<h3>Three</h3>", "<h4>Four</h4>"] {
            assert!(gaps.contains(heading), "{heading} in {gaps}");
        }
    }

    #[test]
    fn html_is_shown_as_far_as_it_is_harmless() {
        assert_eq!(to_html("<p onclick=x()>Hello <b>you</b></p>").unwrap().trim(), "<p>Hello <b>you</b></p>");
        assert!(to_html("<img src=\"https://a.example/1.jpg\">").unwrap().contains(" loading=\"lazy\""));
        for nothing in ["<script>alert(1)</script>", "<!-- note -->", "<video src=x></video>", " "] {
            assert_eq!(to_html(nothing), None, "{nothing}");
        }
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
            let html = to_html(text).unwrap_or_default().to_lowercase();
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
            prop_assert!(!to_html(&text).unwrap_or_default().to_lowercase().contains("<script"));
        }
    }
}
