//! Finds the HTML tags in a text, and tells them from similar text that a host typed, such as the
//! password `<b3ach>`.

use std::fmt::Write as _;

use url::Url;

/// The elements whose tags begin an HTML block in Markdown, at the beginning of any line
/// (`CommonMark`, 4.6).
const BLOCKS: &str = "address article aside base basefont blockquote body caption center col \
    colgroup dd details dialog dir div dl dt fieldset figcaption figure footer form frame frameset \
    h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link main menu menuitem nav noframes ol \
    optgroup option p param search section summary table tbody td tfoot th thead title tr track ul";

/// The HTML elements whose content is not Markdown. The content extends to the end tag.
const VERBATIM: &str = "pre script style textarea";

/// All elements of HTML that are not in the two lists above, including obsolete ones.
const INLINE: &str = "a abbr acronym applet area audio b bdi bdo big blink br button canvas cite \
    code data datalist del dfn em embed font i img input ins kbd label map mark marquee math meta \
    meter nobr noscript object output path picture progress q rp rt ruby s samp select slot small \
    source span strike strong sub sup svg template time tt u var video wbr";

/// Elements of SVG and `MathML`, which HTML may contain. Elements whose names are everyday words or
/// have one or two letters are left out, because a host may type them as text.
const EMBEDDED: &str = "animate animatemotion animatetransform circle clippath defs ellipse \
    foreignobject lineargradient maction mfenced mfrac mmultiscripts mover mpadded mphantom mroot \
    mrow mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover polygon \
    polyline radialgradient rect textpath tspan";

/// The elements with a name of one letter that need an end tag. Without its end tag, a text such as
/// `<b>` counts as plain text, because it is more likely part of a password than a tag.
const SHORT: &str = "a b i q s u";

/// A tag in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tag<'t> {
    /// The name in lower case.
    pub name: String,
    /// The tag as the host typed it, from `<` to `>`.
    pub text: &'t str,
    pub is_end: bool,
}

fn is_in(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|element| element == name)
}

impl<'t> Tag<'t> {
    /// Reads the tag of a known element at the beginning of a text.
    pub fn read(text: &'t str) -> Option<Self> {
        let inside = text.strip_prefix('<')?;
        let (is_end, inside) = inside
            .strip_prefix('/')
            .map_or((false, inside), |inside| (true, inside));
        let name: String = inside
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect();
        let after_name = &inside[name.len()..];
        let is_over =
            after_name.starts_with(|next: char| next.is_whitespace() || "/>".contains(next));
        let name = name.to_ascii_lowercase();
        if !is_over || !is_known(&name) {
            return None;
        }
        let end = text.len() - after_name.len() + end_of(after_name)?;
        Some(Self {
            name,
            text: &text[..end],
            is_end,
        })
    }

    /// Returns whether the tag begins a block that lasts until a blank line.
    pub fn is_block(&self) -> bool {
        is_in(BLOCKS, &self.name)
    }

    /// Returns whether the content of the element is not Markdown.
    pub fn is_verbatim(&self) -> bool {
        is_in(VERBATIM, &self.name)
    }

    /// Returns false for a start tag of an element in [`SHORT`] if the text after the tag does not
    /// contain the end tag. Returns true for every other tag.
    pub fn is_closed(&self, after_tag: &str) -> bool {
        !is_in(SHORT, &self.name)
            || self.is_end
            || after_tag
                .to_ascii_lowercase()
                .contains(&format!("</{}>", self.name))
    }

    /// Returns the value of an attribute, with or without quotes; `None` if the tag lacks the
    /// attribute.
    fn attribute(&self, name: &str) -> Option<&'t str> {
        let lower = self.text.to_ascii_lowercase();
        let offset = lower
            .match_indices(name)
            .map(|(offset, _)| offset)
            .find(|offset| lower[..*offset].ends_with(char::is_whitespace))?;
        let value = self.text[offset + name.len()..]
            .trim_start()
            .strip_prefix('=')?
            .trim_start();
        match value.chars().next()? {
            quote @ ('"' | '\'') => value[1..].split(quote).next(),
            _ => value
                .split(|character: char| character.is_whitespace() || character == '>')
                .next(),
        }
    }
}

/// Returns whether a lower-case name is that of an element of HTML, SVG or `MathML` in the lists
/// above.
fn is_known(name: &str) -> bool {
    [BLOCKS, VERBATIM, INLINE, EMBEDDED]
        .iter()
        .any(|list| is_in(list, name))
}

/// Returns the offset behind the `>` that ends a tag. A `>` in quotes does not end the tag. Returns
/// `None` if the tag has no end, or if another tag begins before its end.
pub(super) fn end_of(text: &str) -> Option<usize> {
    let mut quote = None;
    for (offset, character) in text.char_indices() {
        match (quote, character) {
            (None, '>') => return Some(offset + 1),
            (None, '<') => return None,
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), character) if open == character => quote = None,
            _ => {}
        }
    }
    None
}

/// Replaces each embedded player of `YouTube` and of Vimeo with a link to its video. Returns the
/// new text, and whether a player was replaced.
pub(super) fn with_links_to_videos(text: &str) -> (String, bool) {
    let mut linked = String::with_capacity(text.len());
    let (mut rest, mut has_player) = (text, false);
    while let Some(offset) = rest.find('<') {
        let (before, from_tag) = rest.split_at(offset);
        linked.push_str(before);
        let player = Tag::read(from_tag).filter(|tag| tag.name == "iframe" && !tag.is_end);
        let video = player.as_ref().and_then(|tag| video(tag.attribute("src")?));
        rest = if let (Some(tag), Some(video)) = (player, video) {
            has_player = true;
            // Markdown turns an address with a scheme into a link, even inside of this link. So the
            // label has no scheme. An underscore in the label must not be read as formatting, so it
            // is encoded.
            let label = video
                .trim_start_matches("https://")
                .trim_start_matches("www.");
            let label = label.replace('_', "&#95;");
            // Writing to a String cannot fail.
            let _ = write!(linked, "<a href=\"{video}\">{label}</a>");
            after_end_tag(&from_tag[tag.text.len()..], "iframe")
        } else {
            linked.push('<');
            &from_tag[1..]
        };
    }
    linked.push_str(rest);
    (linked, has_player)
}

/// Returns the text after the end tag of an element. If there is no end tag, returns the whole
/// text.
fn after_end_tag<'t>(text: &'t str, name: &str) -> &'t str {
    let end = format!("</{name}>");
    match text.to_ascii_lowercase().find(&end) {
        Some(offset) => &text[offset + end.len()..],
        None => text,
    }
}

/// Returns the address of the page with the video that an embedded player shows. `source` is the
/// address of the player. Returns `None` if the player is of a site other than `YouTube` and Vimeo.
fn video(source: &str) -> Option<String> {
    let source = source.replace("&amp;", "&");
    let source = match source.strip_prefix("//") {
        Some(rest) => format!("https://{rest}"),
        None => source,
    };
    let url = Url::parse(&source).ok()?;
    let host = url.host_str()?.trim_start_matches("www.");
    let mut path = url.path_segments()?;
    let is_name = |name: &&str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    match (host, path.next()?) {
        ("youtube.com" | "m.youtube.com" | "youtube-nocookie.com", "embed") => path
            .next()
            .filter(is_name)
            .map(|id| format!("https://www.youtube.com/watch?v={id}")),
        ("player.vimeo.com", "video") => path
            .next()
            .filter(is_name)
            .map(|id| format!("https://vimeo.com/{id}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_elements_of_html_are_tags() {
        let name = |text| Tag::read(text).map(|tag| (tag.name, tag.is_end));
        assert_eq!(name("<b>x"), Some(("b".into(), false)));
        assert_eq!(name("</Strong > x"), Some(("strong".into(), true)));
        assert_eq!(name("<br/>"), Some(("br".into(), false)));
        assert_eq!(name("<animate dur=1s>"), Some(("animate".into(), false)));
        assert_eq!(name("<a title='>' href=x>y"), Some(("a".into(), false)));
        for text in [
            "<b3ach>", "<f>", "<3", "<b", "<b <i>", "< b>", "<p@ss>", "<b-x>", "b>", "<>",
        ] {
            assert_eq!(name(text), None, "{text}");
        }
    }

    #[test]
    fn an_embedded_player_becomes_a_link_to_its_video() {
        for (text, expected) in [
            (
                "See <iframe width=560 src=\"https://www.youtube.com/embed/abc_-1?rel=0&amp;x=1\" \
                    allowfullscreen></iframe>!",
                "See <a href=\"https://www.youtube.com/watch?v=abc_-1\">\
                    youtube.com/watch?v=abc&#95;-1</a>!",
            ),
            (
                "<IFRAME SRC='//player.vimeo.com/video/12345'>old browser</IFRAME>",
                "<a href=\"https://vimeo.com/12345\">vimeo.com/12345</a>",
            ),
        ] {
            assert_eq!(with_links_to_videos(text), (expected.to_owned(), true));
        }
        for text in [
            "<iframe src=\"https://evil.example/embed/x\"></iframe>",
            "<iframe src=\"https://www.youtube.com/embed/\"></iframe>",
            "<iframe src=\"https://www.youtube.com/embed/a%22onload\"></iframe>",
            "<iframe>",
            "a < b",
        ] {
            assert_eq!(with_links_to_videos(text), (text.to_owned(), false));
        }
    }

    proptest! {
        #[test]
        fn a_text_without_players_is_kept(text in "[a-z<>/\"= é]{0,60}") {
            prop_assert_eq!(with_links_to_videos(&text), (text, false));
        }
    }
}
