//! Renders texts of hosts as HTML. The HTML is safe for any content of a text. Only this
//! module turns a text of a host into HTML.
//!
//! A text is shown as it was typed, except for clear formatting ([`guard`]). HTML tags that are not
//! on the list of harmless elements are dropped. The parts of a number are shown in their order
//! even in texts that are written from right to left ([`isolate`]). Values that are inserted into a
//! text are never read as formatting ([`values`]).

mod guard;
mod isolate;
mod tags;
mod values;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use ammonia::Builder;
use comrak::nodes::{AstNode, NodeList, NodeValue};
use comrak::{Arena, Options};
pub use values::{escaped_value, mark};

/// An unticked and a ticked checkbox: the placeholder character in the text until it is sanitized,
/// and the HTML that then replaces the character. The placeholders are private-use characters of
/// Unicode. They are removed from texts of hosts first, because they would become checkboxes.
const BOXES: [(char, &str); 2] = [
    ('\u{e0f0}', "<input type=\"checkbox\">"),
    ('\u{e0f1}', "<input type=\"checkbox\" checked>"),
];

static OPTIONS: LazyLock<Options<'static>> = LazyLock::new(|| {
    let mut options = Options::default();
    options.extension.strikethrough = true;
    options.extension.table = true;
    options.extension.autolink = true;
    options.extension.tasklist = true;
    // Chinese and Japanese texts have no blanks around emphasis. Without this option, the renderer
    // would not find the emphasis.
    options.extension.cjk_friendly_emphasis = true;
    // Each line end in the text becomes a line break in the HTML. For example, a host who writes a
    // door code below an address wants two lines.
    options.render.hardbreaks = true;
    // The Markdown renderer does not filter HTML, because the sanitizer removes the harmful parts
    // afterwards.
    options.render.r#unsafe = true;
    options
});

/// The sanitizer. It sets the attribute `rel` of links, so that linked sites get no referrer and no
/// access to the portal's window.
static SAFE: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut builder = Builder::default();
    builder
        .add_tags(["label"])
        .url_schemes(guard::SCHEMES.into())
        .link_rel(Some("noopener noreferrer nofollow"));
    // With this attribute, a browser loads a picture only when the picture scrolls into view.
    builder.set_tag_attribute_value("img", "loading", "lazy");
    builder
});

/// The names of the HTML elements that the sanitizer does not remove.
static HARMLESS_ELEMENTS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| SAFE.clone_tags());

/// The level of the topmost headings of a manual.
const FIRST_HEADING: u32 = 3;
/// The level of the deepest headings of HTML.
const LAST_HEADING: u32 = 6;

/// Renders Markdown as HTML. Removes all tags and attributes that are not known to be harmless.
/// Returns `None` if nothing visible remains. `language` is the language of the text, if it is
/// known.
#[must_use]
pub fn to_html(text: &str, language: Option<&str>) -> Option<String> {
    to_html_with(text, &[], language)
}

/// Renders Markdown that contains a [`mark`] for each of these values. The values are inserted into
/// the rendered HTML as plain text, before the HTML is sanitized. Returns `None` if the HTML has no
/// visible content.
#[must_use]
pub fn to_html_with(text: &str, values: &[String], language: Option<&str>) -> Option<String> {
    let (text, _) = tags::with_links_to_videos(&without_marks(text));
    let markdown = guard::escape_unformatted(&text, &|_| false).markdown;
    rendered(&markdown, values, language)
}

/// Renders Markdown as HTML for the author of the text. A tag that the page for guests leaves out
/// is shown as text in a `<mark>` element. Returns `None` if the HTML has no visible content.
#[must_use]
pub fn to_marked_html(text: &str) -> Option<String> {
    let (text, _) = tags::with_links_to_videos(&without_marks(text));
    rendered(
        &guard::escape_unformatted(&text, &is_dropped).markdown,
        &[],
        None,
    )
}

/// Returns HTML that shows a text unchanged. `language` is the language of the text, if it is
/// known.
#[must_use]
pub fn plain(text: &str, language: Option<&str>) -> String {
    isolate::plain(text, language)
}

/// Returns HTML that shows a text unchanged, line by line.
#[must_use]
pub fn lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(isolate::line).collect();
    format!("<p>{}</p>", lines.join("<br>"))
}

/// Returns a warning for the author of a text. It names the HTML that guests do not see, and says
/// if embedded players become links. Returns `None` if guests see everything.
#[must_use]
pub fn warning(text: &str) -> Option<String> {
    let (text, has_player) = tags::with_links_to_videos(text);
    let elements = guard::escape_unformatted(&text, &|_| false).elements;
    let dropped: Vec<String> = elements
        .iter()
        .filter(|name| is_dropped(name))
        .map(|name| format!("<{name}>"))
        .collect();
    let of_tags = (!dropped.is_empty())
        .then(|| format!("has HTML that guests do not see: {}", dropped.join(", ")));
    let of_players = has_player
        .then(|| "has an embedded player, which guests see as a link to the video".to_owned());
    let message: Vec<String> = of_tags.into_iter().chain(of_players).collect();
    (!message.is_empty()).then(|| message.join("; "))
}

fn is_dropped(element: &str) -> bool {
    !HARMLESS_ELEMENTS.contains(element)
}

/// Removes from a text the private-use characters of [`BOXES`]. After sanitizing, each such
/// character becomes a checkbox, so a text with these characters could add checkboxes.
fn without_marks(text: &str) -> Cow<'_, str> {
    let is_mark = |character: char| BOXES.iter().any(|(mark, _)| *mark == character);
    if text.contains(is_mark) {
        text.replace(is_mark, "").into()
    } else {
        text.into()
    }
}

fn rendered(markdown: &str, values: &[String], language: Option<&str>) -> Option<String> {
    let arena = Arena::new();
    let root = comrak::parse_document(&arena, markdown, &OPTIONS);
    for node in root.descendants() {
        label_task_item(&arena, node);
    }
    let mut html = String::new();
    comrak::format_html(root, &OPTIONS, &mut html).ok()?;
    if !values.is_empty() {
        html = values::insert_values(&html, values);
    }
    let html = SAFE.clean(&html).to_string();
    if !has_visible_content(&html) {
        return None;
    }
    let mut html = isolate::in_html(renumber_headings(&html), language);
    for (mark, input) in BOXES {
        html = html.replace(mark, input);
    }
    Some(html)
}

/// Turns an item of a check list into a label that begins with a placeholder for the checkbox. The
/// sanitizer would remove the HTML of a checkbox.
fn label_task_item<'a>(arena: &'a Arena<'a>, node: &'a AstNode<'a>) {
    let symbol = match &node.data().value {
        NodeValue::TaskItem(item) => item.symbol,
        _ => return,
    };
    node.data_mut().value = NodeValue::Item(NodeList::default());
    let (mark, _) = BOXES[usize::from(symbol.is_some())];
    let inline = |html: String| &*arena.alloc(NodeValue::HtmlInline(html).into());
    let is_paragraph = |text: &&AstNode<'_>| matches!(text.data().value, NodeValue::Paragraph);
    if let Some(text) = node.first_child().filter(is_paragraph) {
        text.prepend(inline(format!("<label>{mark} ")));
        text.append(inline("</label>".to_owned()));
    }
}

/// Returns whether sanitized HTML has visible content: a text, a picture or a horizontal rule.
fn has_visible_content(html: &str) -> bool {
    let texts = html
        .split('<')
        .map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    html.contains("<img")
        || html.contains("<hr")
        || texts
            .into_iter()
            .any(|text| !engine::typed::is_blank(&text.replace("&nbsp;", " ")))
}

/// Renumbers headings so that they start at level 3 and go down by one level at a time, whatever
/// levels the text uses. Levels 1 and 2 are those of the page and of the manual's category. Users
/// of screen readers would stumble over a gap between levels.
///
/// The HTML is sanitized, so each tag has only one spelling. A `<` that does not begin a tag occurs
/// only in an attribute, such as `title`. There, this function can at most change a digit in the
/// text.
fn renumber_headings(html: &str) -> String {
    let mut output = String::with_capacity(html.len());
    let (mut first, mut current) = (None, FIRST_HEADING - 1);
    for (index, part) in html.split('<').enumerate() {
        if index > 0 {
            output.push('<');
        }
        let (slash, tag) = part.strip_prefix('/').map_or(("", part), |tag| ("/", tag));
        let level = tag
            .strip_prefix('h')
            .and_then(|rest| rest.chars().next())
            .and_then(|digit| digit.to_digit(10))
            .filter(|_| index > 0);
        let Some(level) = level else {
            output.push_str(part);
            continue;
        };
        if slash.is_empty() {
            let below = level.saturating_sub(*first.get_or_insert(level));
            current = (FIRST_HEADING + below).min(current + 1).min(LAST_HEADING);
        }
        output.extend([slash, "h", &current.to_string(), &tag[2..]]);
    }
    output
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn html(text: &str) -> Option<String> {
        to_html(text, None)
    }

    #[test]
    fn markdown_is_rendered_as_html() {
        assert_eq!(
            html("Network **Casa Azul**\npassword `1234`")
                .unwrap()
                .trim(),
            "<p>Network <strong>Casa Azul</strong><br>\npassword <code>1234</code></p>"
        );
        assert!(
            html("https://example.com")
                .unwrap()
                .contains("rel=\"noopener noreferrer nofollow\"")
        );
        assert!(
            html("| a | b |\n|---|---|\n| 1 | 2 |")
                .unwrap()
                .contains("<td>1</td>")
        );
    }

    #[test]
    fn headings_begin_below_those_of_the_page() {
        let headings = html("# One\n## Two\n### Three\n##### Five\n\n<h1>Raw</h1>").unwrap();
        for heading in [
            "<h3>One</h3>",
            "<h4>Two</h4>",
            "<h5>Three</h5>",
            "<h6>Five</h6>",
            "<h3>Raw</h3>",
        ] {
            assert!(headings.contains(heading), "{heading} is not in {headings}");
        }
        let gaps = html("## One\n##### Two\n# Three\n#### Four").unwrap();
        for heading in [
            "<h3>One</h3>",
            "<h4>Two</h4>",
            "<h3>Three</h3>",
            "<h4>Four</h4>",
        ] {
            assert!(gaps.contains(heading), "{heading} in {gaps}");
        }
    }

    #[test]
    fn harmless_html_is_kept_and_empty_content_is_dropped() {
        assert_eq!(
            html("<p onclick=x()>Hello <b>you</b></p>").unwrap().trim(),
            "<p>Hello <b>you</b></p>"
        );
        assert!(
            html("<img src=\"https://a.example/1.jpg\">")
                .unwrap()
                .contains(" loading=\"lazy\"")
        );
        for nothing in [
            "<script>alert(1)</script>",
            "<!-- note -->",
            "<video src=x></video>",
            " ",
        ] {
            assert_eq!(html(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn scripts_frames_and_forms_are_removed() {
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
            let html = html(text).unwrap_or_default().to_lowercase();
            for part in [
                "<script",
                "onerror",
                "javascript:",
                "<iframe",
                "data:",
                "onload",
                "<style",
                "<form",
                "<button",
            ] {
                assert!(!html.contains(part), "{text} gave {html}");
            }
        }
        assert_eq!(lines("<b> & co"), "<p>&lt;b&gt; &amp; co</p>");
        assert_eq!(lines("4711\r\n<br>\n"), "<p>4711<br>&lt;br&gt;</p>");
    }

    /// Returns the text of HTML as a reader sees it: without tags, line by line.
    fn read(html: &str) -> String {
        let lines = html
            .replace("<br>", "")
            .replace("</p>\n<p>", "\n\n")
            .replace("<hr>", "---");
        let texts = lines
            .split('<')
            .map(|part| part.split_once('>').map_or(part, |(_, text)| text));
        texts
            .collect::<String>()
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&nbsp;", "\u{a0}")
            .replace("&quot;", "\"")
            .replace("&amp;", "&")
            .trim()
            .to_owned()
    }

    /// Examples of texts that hosts write. None of them has formatting, so each is shown as it was
    /// typed.
    const TYPED: [&str; 46] = [
        "Press *1234*, then 5*6*7#. Password: <b3ach>",
        "a*b*c_d_e<f>&g",
        "*4321#",
        "#4321*",
        "Dial *99# or **99#",
        "Door: * 4321 #",
        "Gate code *12*34#, keypad ~5~",
        "Wi-Fi: my_home_net_5G / pass_word_1",
        "Password: __a1__b2__",
        "Password: ~~12~~",
        "2*3*4 = 24, 5 * 6 = 30",
        "Alarm: 1*2*3*A*4",
        "Key_safe_code_#7",
        "Password: <3cats> & <dogs1>",
        "Password: p@ss<word>1",
        "Password: <p@ss>",
        "Code <1234> then <#>",
        "Wi-Fi <guest> net",
        "x<y>z and 1<2>1",
        "Password: a\\1\\b",
        "Share \\\\server\\photos",
        "Path C:\\",
        "[Door]: 4321#",
        "[1](2)",
        "[Wi-Fi]: abc123",
        "Floor #3, door #12",
        "# 4321",
        "# 4321 #",
        "> 18",
        "+ 34 600 123 456",
        "+34 600 123 456",
        "- 4321",
        "* 4321 #",
        "1234-5678!",
        "don`t touch, can`t break",
        "Use the ` key",
        "Name: ____",
        "``` 1234",
        "Bins: Mon*, Tue*",
        "*see below",
        "5 stars: *****, 4 stars: ****",
        "WPA2: {Casa|2024}*_~",
        "Tel. 600_123_456",
        "Bell 2B*, flat 3_",
        "Code *A1*",
        "Wi-Fi 5GHz_*_2.4GHz",
    ];

    #[test]
    fn a_text_without_formatting_is_read_as_it_was_typed() {
        for text in TYPED {
            assert_eq!(read(&html(text).unwrap_or_default()), text);
        }
        let listed = TYPED.join("\n\n");
        assert_eq!(read(&html(&listed).unwrap()), listed);
    }

    #[test]
    fn formatting_around_letters_is_kept() {
        for (text, expected) in [
            ("The **blue** door", "<p>The <strong>blue</strong> door</p>"),
            ("*Please* ring", "<p><em>Please</em> ring</p>"),
            ("_Please_ ring", "<p><em>Please</em> ring</p>"),
            ("~~old~~ new", "<p><del>old</del> new</p>"),
            ("~old~ new", "<p>~old~ new</p>"),
            ("**Wi-Fi**: 1234", "<p><strong>Wi-Fi</strong>: 1234</p>"),
            ("请按**门铃**进入", "<p>请按<strong>门铃</strong>进入</p>"),
            ("***Note***", "<p><em><strong>Note</strong></em></p>"),
            ("*1* and *really*", "<p>*1* and <em>really</em></p>"),
            ("**Code: 1234**", "<p>**Code: 1234**</p>"),
            ("**one\ntwo**", "<p><strong>one<br>\ntwo</strong></p>"),
            ("`*12#`", "<p><code>*12#</code></p>"),
            ("<b>Door</b> <b3ach>", "<p><b>Door</b> &lt;b3ach&gt;</p>"),
            ("\\*no\\*", "<p>*no*</p>"),
        ] {
            assert_eq!(html(text).unwrap().trim(), expected, "{text}");
        }
    }

    #[test]
    fn blanks_at_the_beginning_of_a_line_make_no_code() {
        for text in [
            "    Door code 1234",
            "\tDoor",
            "One\n\n      Two",
            "- One\n\n          Two",
        ] {
            let html = html(text).unwrap();
            assert!(!html.contains("<code") && !html.contains("<pre"), "{html}");
        }
        let nested = html("- One\n  - Two\n    - Three\n\n1. A\n   - B").unwrap();
        assert_eq!(nested.matches("<ul>").count(), 4, "{nested}");
        let code = html("```\n    *12#\n```").unwrap();
        assert_eq!(code.trim(), "<pre><code>    *12#\n</code></pre>");
    }

    #[test]
    fn links_open_what_their_scheme_names() {
        for (text, href) in [
            ("[Call](tel:+34600123456)", "tel:+34600123456"),
            ("[Call](tel:+34 600 123 456)", "tel:+34600123456"),
            ("[Text](sms:+34600123456)", "sms:+34600123456"),
            ("[Write](mailto:a@example.com)", "mailto:a@example.com"),
            ("[Map](geo:41.4,2.15)", "geo:41.4,2.15"),
            (
                "[Chat](whatsapp://send?phone=34600)",
                "whatsapp://send?phone=34600",
            ),
            ("<https://a.example/x_y_z>", "https://a.example/x_y_z"),
            ("https://a.example/x_1_y*z", "https://a.example/x_1_y*z"),
            ("[Map](www.example.com)", "https://www.example.com"),
        ] {
            let html = html(text).unwrap();
            assert!(
                html.contains(&format!("href=\"{href}\"")),
                "{text} gave {html}"
            );
        }
        assert!(!html("[x](javascript:alert(1))").unwrap().contains("href"));
    }

    #[test]
    fn a_check_list_has_boxes() {
        let list = html("- [ ] Close the windows\n- [x] Take the keys\n- [ ] 2").unwrap();
        assert_eq!(
            list.trim(),
            "<ul>\n<li><label><input type=\"checkbox\"> Close the \
                windows</label></li>\n<li><label><input type=\"checkbox\" checked> Take the \
                keys</label></li>\n<li><label><input type=\"checkbox\"> 2</label></li>\n</ul>"
        );
        assert!(
            !html("<input type=\"text\" name=x>Hello \u{e0f0}")
                .unwrap()
                .contains("<input")
        );
    }

    #[test]
    fn dropped_html_is_named() {
        for (text, expected) in [
            ("Hello **you** <b>x</b> <b3ach>", None),
            (
                "<script>alert(1)</script> <iframe src=\"https://a.example\"></iframe>",
                Some("has HTML that guests do not see: <script>, <iframe>"),
            ),
            (
                "<iframe src=\"https://www.youtube.com/embed/abc\"></iframe>",
                Some("has an embedded player, which guests see as a link to the video"),
            ),
            (
                "Look:\n<video src=x></video>",
                Some("has HTML that guests do not see: <video>"),
            ),
        ] {
            assert_eq!(warning(text).as_deref(), expected, "{text}");
        }
        let marked = to_marked_html("Hello <script>x</script>").unwrap();
        assert!(marked.contains("<mark>&lt;script&gt;</mark>"), "{marked}");
        let linked = html("<iframe src=\"https://player.vimeo.com/video/7\"></iframe>").unwrap();
        assert!(linked.contains("href=\"https://vimeo.com/7\""), "{linked}");
        assert!(linked.contains(">vimeo.com/7</a>"), "{linked}");
        assert_eq!(linked.matches("<a ").count(), 1, "{linked}");
    }

    #[test]
    fn numbers_in_a_hebrew_text_are_isolated() {
        let html = to_html("הקוד: *4321#\n**טלפון** +34 600 123 456", Some("he")).unwrap();
        for number in ["*4321#", "+34 600 123 456"] {
            let isolated = format!("<bdi dir=\"ltr\">{number}</bdi>");
            assert!(html.contains(&isolated), "{html}");
        }
    }

    proptest! {
        /// A code that consists only of special characters and digits, such as a door code, is
        /// never read as Markdown formatting.
        #[test]
        fn codes_keep_every_sign(code in "[0-9*#_~]{1,12}") {
            let text = format!("Code: {code} end");
            prop_assert_eq!(read(&html(&text).unwrap()), text);
        }
    }

    proptest! {
        #[test]
        fn rendered_text_never_contains_a_script(text: String) {
            prop_assert!(
                !html(&text)
                    .unwrap_or_default()
                    .to_lowercase()
                    .contains("<script")
            );
        }
    }
}
