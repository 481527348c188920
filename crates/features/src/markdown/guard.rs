//! Finds the formatting in a host's text and escapes all other special characters. So guests read
//! these characters as the host typed them (rules: manuals#texts-as-hosts-write-them).
//!
//! Hosts write codes such as `*1234#`, `5*6*7#` and `<b3ach>`. Markdown would read their special
//! characters as formatting and hide them. So this file writes new Markdown in which everything but
//! clear formatting is escaped. Terms such as *delimiter run* are those of `CommonMark`.

use super::tags::Tag;

/// The schemes that the address of a link may have.
pub(super) const SCHEMES: [&str; 7] = ["http", "https", "mailto", "tel", "sms", "geo", "whatsapp"];

/// The characters that a backslash escapes. A backslash before any other character is text.
const ESCAPED: &str = "*_~`[]<>#|";

/// A text whose special characters are escaped, unless they are formatting.
pub(super) struct EscapedText {
    pub markdown: String,
    /// The names of the elements whose tags are in the text.
    pub elements: Vec<String>,
}

/// Escapes the special characters of a text, except those that are formatting. `is_marked` gets the
/// name of an element, and returns whether the tags of this element are shown as text in a `<mark>`
/// element.
pub(super) fn escape_unformatted(text: &str, is_marked: &dyn Fn(&str) -> bool) -> EscapedText {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut escaper = Escaper {
        is_marked,
        pieces: Vec::new(),
        openers: Vec::new(),
        letters: 0,
        elements: Vec::new(),
    };
    let lines: Vec<&str> = text.split('\n').collect();
    let mut blocks = Blocks::default();
    let mut line_index = 0;
    while line_index < lines.len() {
        if line_index > 0 {
            escaper.push("\n");
        }
        line_index += escaper.block(&lines[line_index..], &mut blocks);
    }
    EscapedText {
        markdown: escaper
            .pieces
            .iter()
            .map(EscapedPiece::to_markdown)
            .collect(),
        elements: escaper.elements,
    }
}

/// The Markdown blocks that contain the current line.
#[derive(Default)]
struct Blocks {
    /// The columns at which the content of the open list items begins, the outermost first.
    items: Vec<usize>,
    /// Whether the previous line is part of a paragraph.
    is_in_paragraph: bool,
}

/// A part of the escaped text.
enum EscapedPiece {
    Text(String),
    /// A run of one delimiter character. The run is escaped unless it is part of a pair.
    Run {
        delimiter: char,
        count: usize,
        is_paired: bool,
    },
}

impl EscapedPiece {
    fn to_markdown(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Run {
                delimiter,
                count,
                is_paired: true,
            } => delimiter.to_string().repeat(*count),
            Self::Run {
                delimiter, count, ..
            } => format!("\\{delimiter}").repeat(*count),
        }
    }
}

/// A delimiter run that can begin formatting. `letters` is the number of letters before the run.
/// With this number, the escaper detects whether a pair of runs has a letter between them. A pair
/// without letters is not formatting.
struct Opener {
    piece: usize,
    delimiter: char,
    count: usize,
    letters: usize,
}

struct Escaper<'g> {
    is_marked: &'g dyn Fn(&str) -> bool,
    pieces: Vec<EscapedPiece>,
    openers: Vec<Opener>,
    /// The number of letters in the text that the escaper has read so far.
    letters: usize,
    elements: Vec<String>,
}

impl Escaper<'_> {
    fn push(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(EscapedPiece::Text(last)) => last.push_str(text),
            _ => self.pieces.push(EscapedPiece::Text(text.to_owned())),
        }
    }

    /// Adds the next line, or a whole block if the content of the block is not Markdown. Returns
    /// the number of lines that were read.
    fn block(&mut self, lines: &[&str], blocks: &mut Blocks) -> usize {
        let line = &untabbed(lines[0]);
        if line.trim().is_empty() {
            self.openers.clear();
            blocks.is_in_paragraph = false;
            return 1;
        }
        let body = line.trim_start_matches(' ');
        let indent = blocks.indent(line.len() - body.len(), body);
        if let Some(end) = fence(body, &lines[1..]) {
            self.openers.clear();
            blocks.is_in_paragraph = false;
            self.push(&" ".repeat(indent));
            self.push(body);
            for line in &lines[1..=end] {
                self.push("\n");
                self.push(line);
            }
            return end + 1;
        }
        if let Some(count) = html_block(body, lines, blocks.is_in_paragraph) {
            self.openers.clear();
            blocks.is_in_paragraph = false;
            for (index, line) in lines[..count].iter().enumerate() {
                if index > 0 {
                    self.push("\n");
                }
                self.html(line.trim_start());
            }
            return count;
        }
        self.push(&" ".repeat(indent));
        if is_break(body) {
            self.openers.clear();
            blocks.is_in_paragraph = false;
            self.push(body);
            return 1;
        }
        let (markers, text) = self.markers(body, indent, blocks);
        if !markers.is_empty() {
            self.openers.clear();
        }
        blocks.is_in_paragraph = !markers.contains('#');
        let text = self.line_start(text);
        self.inline(text, &lines[1..]);
        1
    }

    /// Adds the markers of lists, quotes and headings at the beginning of a line. Returns the
    /// markers and the text after them. A marker is formatting if the text after it has a letter. A
    /// marker of a list item is also formatting before an empty text or an unticked checkbox.
    fn markers<'t>(
        &mut self,
        body: &'t str,
        indent: usize,
        blocks: &mut Blocks,
    ) -> (&'t str, &'t str) {
        let mut rest = body;
        while let Some(marker) = marker(rest) {
            let following = &rest[marker.width..];
            let text = following.trim_start_matches(' ');
            let is_item = marker.is_item && (text.is_empty() || text.starts_with("[ ] "));
            if !has_letter(text) && !is_item {
                // A marker before text without letters, as in `# 4321`, is text and is escaped. The
                // marker of a numbered list, as in `4. 321`, needs no escape, because the HTML list
                // shows the same number.
                if marker.is_counted {
                    break;
                }
                // A star needs no backslash here, because [`Self::inline`] escapes it afterwards.
                if !rest.starts_with('*') {
                    self.push("\\");
                }
                return (&body[..body.len() - rest.len()], rest);
            }
            self.push(&rest[..marker.width]);
            self.push(" ");
            if marker.is_item {
                let column = indent + body.len() - rest.len() + marker.width + 1;
                blocks.items.push(column);
            }
            rest = text;
            if marker.is_heading {
                break;
            }
        }
        (&body[..body.len() - rest.len()], rest)
    }

    /// Escapes the start of a line that looks like a link definition, because Markdown would hide
    /// the line. Returns the part of the line that is not written yet.
    fn line_start<'t>(&mut self, text: &'t str) -> &'t str {
        let is_definition = text.starts_with('[')
            && text
                .split_once("]:")
                .is_some_and(|(_, target)| !is_link(target.trim()));
        if is_definition {
            self.push("\\[");
            return &text[1..];
        }
        text
    }

    /// Adds the text of a line to the output, and escapes each special character that is not
    /// formatting. `following` are the lines after it.
    fn inline(&mut self, line: &str, following: &[&str]) {
        let mut offset = 0;
        while let Some(character) = line[offset..].chars().next() {
            let rest = &line[offset..];
            offset += match character {
                '\\' => self.backslash(rest),
                '`' => self.code(line, offset),
                '<' => self.angle(rest, following),
                ']' => self.target(rest),
                '#' if is_closing(line, offset) => {
                    self.push("\\#");
                    1
                }
                '*' | '_' | '~' => self.run(line, offset, character),
                _ => self.plain(line, offset, character),
            };
        }
    }

    /// Writes a character to the output unchanged. If a web address begins at this character,
    /// writes the whole address unchanged. Returns the number of bytes that were read.
    fn plain(&mut self, line: &str, offset: usize, character: char) -> usize {
        let rest = &line[offset..];
        let is_start = line[..offset]
            .chars()
            .next_back()
            .is_none_or(|before| !before.is_alphanumeric());
        let is_address = ["http://", "https://", "www."]
            .iter()
            .any(|start| rest.starts_with(start));
        let count = if is_start && is_address {
            rest.find(|character: char| character.is_whitespace() || "<>)]".contains(character))
                .unwrap_or(rest.len())
        } else {
            character.len_utf8()
        };
        self.letters += usize::from(character.is_alphabetic());
        self.push(&rest[..count]);
        count
    }

    /// Adds a backslash, as text or as the escape of the next character. Returns the number of
    /// bytes that were read.
    fn backslash(&mut self, rest: &str) -> usize {
        match rest[1..].chars().next() {
            Some(next) if ESCAPED.contains(next) => {
                self.push(&rest[..2]);
                2
            }
            Some(next) if next.is_ascii_punctuation() => {
                self.push("\\\\");
                1
            }
            None => {
                self.push("\\\\");
                1
            }
            Some(_) => {
                self.push("\\");
                1
            }
        }
    }

    /// Adds a code span. If its backquotes have no counterpart or are inside a word, adds them as
    /// text. Returns the number of bytes that were read.
    fn code(&mut self, line: &str, offset: usize) -> usize {
        let rest = &line[offset..];
        let count = rest.len() - rest.trim_start_matches('`').len();
        let is_in_word = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
        let delimiter = &rest[..count];
        let ends = rest[count..]
            .find(delimiter)
            .map(|end| count + end)
            .filter(|end| !rest[end + count..].starts_with('`'))
            .filter(|end| !is_in_word(rest[end + count..].chars().next()))
            .filter(|_| !is_in_word(line[..offset].chars().next_back()));
        if let Some(end) = ends {
            self.letters += usize::from(has_letter(&rest[count..end]));
            self.push(&rest[..end + count]);
            end + count
        } else {
            self.push(&"\\`".repeat(count));
            count
        }
    }

    /// Appends a whole HTML tag, a whole HTML comment, or an address in angle brackets to the
    /// output. Appends any other angle bracket as text. Returns the number of bytes that were read.
    fn angle(&mut self, rest: &str, following: &[&str]) -> usize {
        if let Some(tag) = Tag::read(rest) {
            let is_closed = tag.is_closed(&rest[tag.text.len()..])
                || following.iter().any(|line| tag.is_closed(line));
            if is_closed {
                return self.tag(&tag);
            }
        }
        let markup = comment(rest).or_else(|| address(rest));
        if let Some(markup) = markup {
            self.push(markup);
            markup.len()
        } else {
            self.push("\\<");
            1
        }
    }

    /// Adds an HTML tag unchanged, or as text in a `<mark>` element if `is_marked` returns true for
    /// its name. Returns the number of bytes that were read.
    fn tag(&mut self, tag: &Tag<'_>) -> usize {
        if !self.elements.contains(&tag.name) {
            self.elements.push(tag.name.clone());
        }
        if (self.is_marked)(&tag.name) {
            let escaped = tag.text.replace('&', "&amp;").replace('<', "&lt;");
            let escaped = escaped.replace('>', "&gt;").replace('*', "&#42;");
            self.push(&format!("<mark>{escaped}</mark>"));
        } else {
            self.push(tag.text);
        }
        tag.text.len()
    }

    /// Adds a line of an HTML block, in which nothing is Markdown.
    fn html(&mut self, line: &str) {
        let mut rest = line;
        while let Some(offset) = rest.find('<') {
            self.push(&rest[..offset]);
            rest = &rest[offset..];
            let count = match (Tag::read(rest), comment(rest)) {
                (Some(tag), _) => self.tag(&tag),
                (None, Some(comment)) => {
                    self.push(comment);
                    comment.len()
                }
                (None, None)
                    if rest[1..].starts_with(|next: char| {
                        next.is_ascii_alphabetic() || "/!?".contains(next)
                    }) =>
                {
                    self.push("&lt;");
                    1
                }
                (None, None) => {
                    self.push("<");
                    1
                }
            };
            rest = &rest[count..];
        }
        self.push(rest);
    }

    /// Writes the end of a link: the bracket after the link's text, and the target in parentheses.
    /// A target without a letter is no URL, as in `[1](2)`, so the host meant ordinary text. The
    /// function then escapes the bracket, and Markdown makes no link. Returns the number of bytes
    /// that were read.
    fn target(&mut self, rest: &str) -> usize {
        let target = rest
            .strip_prefix("](")
            .and_then(|target| target.split_once(')'))
            .map(|(target, _)| target);
        match target {
            Some(target) if has_letter(target) => {
                let is_number = ["tel:", "sms:", "whatsapp:"]
                    .iter()
                    .any(|scheme| target.trim_start().starts_with(scheme));
                // Hosts group the digits of phone numbers with spaces, but Markdown accepts no
                // spaces in a target.
                let address = if is_number {
                    target.replace(char::is_whitespace, "")
                } else if target.starts_with("www.") {
                    format!("https://{target}")
                } else {
                    target.to_owned()
                };
                self.push(&format!("]({address})"));
                target.len() + 3
            }
            Some(_) => {
                self.push("\\]");
                1
            }
            None => {
                self.push("]");
                1
            }
        }
    }

    /// Adds a delimiter run. If the run ends formatting, pairs it with the earlier run that begins
    /// the formatting. Returns the number of bytes that were read.
    fn run(&mut self, line: &str, offset: usize, delimiter: char) -> usize {
        let rest = &line[offset..];
        let count = rest.len() - rest.trim_start_matches(delimiter).len();
        let around = SurroundingCharacters::of(&line[..offset], &rest[count..]);
        let is_sized = if delimiter == '~' {
            count == 2
        } else {
            count <= 3
        };
        let is_single = delimiter == '*' && count == 1;
        let piece = self.pieces.len();
        let mut is_paired = false;
        if is_sized && around.can_end(delimiter, is_single) {
            let opener = self
                .openers
                .iter()
                .rposition(|opener| opener.delimiter == delimiter && opener.count == count);
            if let Some(index) = opener {
                let opener = self.openers.remove(index);
                self.openers.truncate(index);
                is_paired = opener.letters < self.letters;
                if let (true, Some(EscapedPiece::Run { is_paired, .. })) =
                    (is_paired, self.pieces.get_mut(opener.piece))
                {
                    *is_paired = true;
                }
            }
        }
        if is_sized && !is_paired && around.can_begin(delimiter, is_single) {
            self.openers.push(Opener {
                piece,
                delimiter,
                count,
                letters: self.letters,
            });
        }
        self.pieces.push(EscapedPiece::Run {
            delimiter,
            count,
            is_paired,
        });
        count
    }
}

impl Blocks {
    /// Returns the indent of a line. The indent is limited so that the line does not become a code
    /// block. Markdown reads a line as code if it is indented by four more blanks than the content
    /// around it.
    fn indent(&mut self, indent: usize, body: &str) -> usize {
        if self.is_in_paragraph && marker(body).is_none() {
            return indent;
        }
        while self.items.last().is_some_and(|column| *column > indent) {
            self.items.pop();
        }
        let column = self.items.last().copied().unwrap_or_default();
        if indent >= column + 4 { column } else { indent }
    }
}

/// The two nearest characters before a delimiter run, and the two nearest after it. The character
/// next to the run is the first of each pair.
struct SurroundingCharacters {
    before: [Option<char>; 2],
    after: [Option<char>; 2],
}

impl SurroundingCharacters {
    fn of(before: &str, after: &str) -> Self {
        let mut before = before.chars().rev();
        let mut after = after.chars();
        Self {
            before: [before.next(), before.next()],
            after: [after.next(), after.next()],
        }
    }

    fn can_begin(&self, delimiter: char, is_single: bool) -> bool {
        self.is_clear(self.after) && !is_in_word(self.before[0], delimiter, is_single)
    }

    fn can_end(&self, delimiter: char, is_single: bool) -> bool {
        self.is_clear(self.before) && !is_in_word(self.after[0], delimiter, is_single)
    }

    /// Returns whether the delimiter run is clearly formatting. `inside` has two characters of the
    /// text that the run would format: first the character next to the run, which must not be
    /// blank, and then the one beside that. A digit or `#` directly before or after the run, or as
    /// the second character of `inside`, means that the run is part of a code such as `*1234#`.
    fn is_clear(&self, inside: [Option<char>; 2]) -> bool {
        let touches = |character: Option<char>| {
            character.is_some_and(|character| character.is_numeric() || character == '#')
        };
        inside[0].is_some_and(|character| !character.is_whitespace())
            && !touches(self.before[0])
            && !touches(self.after[0])
            && !touches(inside[1])
    }
}

/// Returns whether a delimiter run beside the character `outside` is inside a word, where it is not
/// formatting. `_` is inside a word beside every letter and digit: `snake_case`. Another delimiter
/// is inside a word only if it is a single character beside a letter that has a case: `a*b`.
/// Letters without a case do not count, because their scripts often have no blanks between words.
fn is_in_word(outside: Option<char>, delimiter: char, is_single: bool) -> bool {
    outside.is_some_and(|character| match delimiter {
        '_' => character.is_alphanumeric(),
        _ => is_single && (character.is_lowercase() || character.is_uppercase()),
    })
}

fn has_letter(text: &str) -> bool {
    text.contains(char::is_alphabetic)
}

/// Replaces each tab at the beginning of a line by four blanks.
fn untabbed(line: &str) -> String {
    let body = line.trim_start_matches([' ', '\t']);
    let indent = &line[..line.len() - body.len()];
    indent.replace('\t', "    ") + body
}

/// Returns the index of the line that ends the code block which begins with the line `body`.
/// Returns `None` if no code block begins there, or if it has no end.
fn fence(body: &str, following: &[&str]) -> Option<usize> {
    let count = body.len() - body.trim_start_matches('`').len();
    if count < 3 || body[count..].contains('`') {
        return None;
    }
    let ends = |line: &&str| {
        let line = line.trim();
        line.len() >= count && line.trim_start_matches('`').is_empty()
    };
    following.iter().position(ends).map(|end| end + 1)
}

/// Returns the number of lines of the HTML block that begins with the first of `lines`. `body` is
/// this line without its indent. Returns `None` if no HTML block begins there.
fn html_block(body: &str, lines: &[&str], is_in_paragraph: bool) -> Option<usize> {
    let tag = Tag::read(body);
    if body.starts_with("<!--") {
        let ends = lines.iter().position(|line| line.contains("-->"));
        return Some(ends.map_or(lines.len(), |end| end + 1));
    }
    let begins = |name: &str| {
        body.get(1..=name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    if ["script", "style", "pre", "textarea"]
        .iter()
        .any(|name| begins(name))
        && tag
            .as_ref()
            .is_some_and(|tag| tag.is_verbatim() && !tag.is_end)
    {
        let ends = |line: &&str| {
            let line = line.to_ascii_lowercase();
            ["</script>", "</style>", "</pre>", "</textarea>"]
                .iter()
                .any(|end| line.contains(end))
        };
        let end = lines.iter().position(ends);
        return Some(end.map_or(lines.len(), |end| end + 1));
    }
    let is_alone = |tag: &Tag<'_>| body[tag.text.len()..].trim().is_empty() && !is_in_paragraph;
    tag.filter(|tag| tag.is_block() || is_alone(tag))?;
    let end = lines.iter().position(|line| line.trim().is_empty());
    Some(end.unwrap_or(lines.len()))
}

/// Returns whether a line is a horizontal rule: three or more `*`, `-` or `_`, all the same, with
/// or without spaces between them.
fn is_break(body: &str) -> bool {
    let characters: String = body.split_whitespace().collect();
    characters.len() > 2
        && ['*', '-', '_']
            .iter()
            .any(|delimiter| characters.trim_start_matches(*delimiter).is_empty())
}

/// A Markdown marker at the beginning of a block, such as `#`, `-` or `1.`.
struct Marker {
    /// The length of the marker without the blanks after it.
    width: usize,
    is_item: bool,
    /// Whether the marker belongs to a numbered list item, such as `1.`.
    is_counted: bool,
    is_heading: bool,
}

fn marker(text: &str) -> Option<Marker> {
    let marker = |width, is_item, is_counted, is_heading| {
        Some(Marker {
            width,
            is_item,
            is_counted,
            is_heading,
        })
    };
    let is_over = |width: usize| text[width..].is_empty() || text[width..].starts_with(' ');
    let digits = text.len()
        - text
            .trim_start_matches(|character: char| character.is_ascii_digit())
            .len();
    let hashes = text.len() - text.trim_start_matches('#').len();
    if text.starts_with('>') {
        return marker(1, false, false, false);
    }
    if text.starts_with(['-', '*', '+']) && is_over(1) {
        return marker(1, true, false, false);
    }
    if (1..=6).contains(&hashes) && is_over(hashes) {
        return marker(hashes, false, false, true);
    }
    let is_counted = (1..=9).contains(&digits) && text[digits..].starts_with(['.', ')']);
    if is_counted && is_over(digits + 1) {
        return marker(digits + 1, true, true, false);
    }
    None
}

/// Returns whether the rest of a line consists of `#` characters after a digit and a blank, as in
/// `# Code 42 ##`. Markdown would drop these characters at the end of a heading.
fn is_closing(line: &str, offset: usize) -> bool {
    line[offset..].trim_end().trim_start_matches('#').is_empty()
        && line[..offset].ends_with(' ')
        && line[..offset].trim_end().ends_with(char::is_numeric)
}

fn comment(rest: &str) -> Option<&str> {
    let inside = rest.strip_prefix("<!--")?;
    let end = inside.find("-->")?;
    Some(&rest[..4 + end + 3])
}

/// Returns the link or mail address in angle brackets at the beginning of a text, with the
/// brackets. Returns `None` if the brackets contain anything else.
fn address(rest: &str) -> Option<&str> {
    let end = rest.find('>')?;
    let inside = &rest[1..end];
    let is_plain =
        !inside.contains(|character: char| character.is_whitespace() || character == '<');
    (is_plain && (is_link(inside) || engine::format::is_email(inside))).then(|| &rest[..=end])
}

/// Returns whether a text is an address: one of the [`SCHEMES`] in upper or lower case, a colon,
/// and more text.
fn is_link(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        !rest.is_empty() && SCHEMES.contains(&scheme.to_ascii_lowercase().as_str())
    })
}
