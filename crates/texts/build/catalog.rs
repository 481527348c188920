//! Reads Fluent files, and refuses the parts of Fluent's syntax that a static table cannot express.
//!
//! A text is one of two things: a template with placeholders, written `{ $name }`, or a single
//! choice between templates by a number. A message has at most one attribute. Terms, functions and
//! references are refused.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use fluent_syntax::ast::{
    Comment, Entry, Expression, InlineExpression, Message, Pattern, PatternElement, Variant,
    VariantKey,
};
use fluent_syntax::parser;
use fluent_syntax::unicode::unescape_unicode_to_string;

/// The text files of all languages, or the problems that were found in them.
pub type Catalog = Result<Vec<TextFile>, Vec<String>>;

/// A file with texts in one language.
#[derive(Debug)]
pub struct TextFile {
    /// The language of the texts, which is the name of the file's folder.
    pub language: String,
    /// The file's name without its extension.
    pub name: String,
    /// The texts by their ids.
    pub texts: BTreeMap<String, Text>,
    /// The comment of each group, by the name of the group. The ids of a group begin with this name
    /// and a hyphen.
    pub groups: BTreeMap<String, String>,
}

impl TextFile {
    /// Returns the path of the file, relative to the root of the repository.
    pub fn path(&self) -> String {
        format!("texts/{}/{}.ftl", self.language, self.name)
    }
}

/// A text of a [`TextFile`]: a message in Fluent's syntax.
#[derive(Debug)]
pub struct Text {
    /// The comment above the message.
    pub comment: String,
    /// The message's value. `None` is possible only for a message with an attribute.
    pub value: Option<Template>,
    /// The message's attribute: name and value.
    pub attribute: Option<(String, Template)>,
}

/// The value of a message, with its placeholders in braces.
#[derive(Debug)]
pub enum Template {
    /// A single template, for a message whose text does not depend on a number.
    Plain(String),
    /// Several templates for a message with the number `variable`, each with its form: an exact
    /// number or a plural category. Exact numbers come first, and `other` is last. A number gets
    /// the first template whose form matches it.
    Counted {
        variable: String,
        forms: Vec<(String, String)>,
    },
}

impl Template {
    /// Returns all templates of this value.
    pub fn forms(&self) -> Vec<&str> {
        match self {
            Self::Plain(text) => vec![text],
            Self::Counted { forms, .. } => forms.iter().map(|(_, text)| text.as_str()).collect(),
        }
    }
}

/// Reads every file `<language>/<name>.ftl` below a folder. If a file cannot be parsed or has
/// another extension, returns the problems of all files instead of the texts.
pub fn read(folder: &Path) -> io::Result<Catalog> {
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    for language in sorted(folder)? {
        for name in sorted(&folder.join(&language))? {
            let source = fs::read_to_string(folder.join(&language).join(&name))?;
            match name.strip_suffix(".ftl") {
                Some(name) => match parse(&language, name, &source) {
                    Ok(file) => files.push(file),
                    Err(found) => problems.extend(found),
                },
                None => problems.push(format!("texts/{language}/{name} does not end in .ftl")),
            }
        }
    }
    Ok(if problems.is_empty() {
        Ok(files)
    } else {
        Err(problems)
    })
}

fn sorted(folder: &Path) -> io::Result<Vec<String>> {
    let mut names: Vec<String> = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<_>>()?;
    names.sort();
    Ok(names)
}

/// Parses a file. Each returned problem is a line of text: the file's path, then the line number of
/// a syntax error or the id of the text at fault, and the reason.
pub fn parse(language: &str, name: &str, source: &str) -> Result<TextFile, Vec<String>> {
    let mut file = TextFile {
        language: language.to_owned(),
        name: name.to_owned(),
        texts: BTreeMap::new(),
        groups: BTreeMap::new(),
    };
    let path = file.path();
    let resource = parser::parse(source).map_err(|(_, errors)| {
        let line = |place: usize| {
            source
                .bytes()
                .take(place)
                .filter(|byte| *byte == b'\n')
                .count()
                + 1
        };
        errors
            .iter()
            .map(|error| {
                // The parser's error message contains the characters that the parser expected, such
                // as a line break. A line break is escaped, so that the problem is reported on one
                // line.
                let kind = error.kind.to_string().replace('\n', "\\n");
                format!("{path}:{}: {kind}", line(error.pos.start))
            })
            .collect::<Vec<_>>()
    })?;
    let (mut problems, mut group) = (Vec::new(), None);
    for entry in resource.body {
        match entry {
            Entry::GroupComment(comment) => {
                let comment = joined(&comment);
                let Some((name, about)) = comment.split_once(": ") else {
                    problems.push(format!(
                        "{path}: `## {comment}` has to begin with the name of the group and a colon"
                    ));
                    continue;
                };
                group = Some(format!("{name}-"));
                file.groups.insert(name.to_owned(), about.to_owned());
            }
            Entry::Message(message) => {
                let id = message.id.name;
                if let Some(prefix) = &group
                    && !id.starts_with(prefix)
                {
                    problems.push(format!("{path}: `{id}` has to begin with `{prefix}`"));
                }
                match text(&message) {
                    Ok(text) => {
                        if file.texts.insert(id.to_owned(), text).is_some() {
                            problems.push(format!("{path}: `{id}` is there twice"));
                        }
                    }
                    Err(problem) => problems.push(format!("{path}: `{id}` {problem}")),
                }
            }
            Entry::Term(term) => problems.push(format!("{path}: `-{}` is a term", term.id.name)),
            Entry::Comment(_) | Entry::ResourceComment(_) | Entry::Junk { .. } => {}
        }
    }
    if problems.is_empty() {
        Ok(file)
    } else {
        Err(problems)
    }
}

fn joined(comment: &Comment<&str>) -> String {
    comment.content.join(" ").trim().to_owned()
}

fn text(message: &Message<&str>) -> Result<Text, String> {
    let attribute = match message.attributes.as_slice() {
        [] => None,
        [one] => Some((one.id.name.to_owned(), template(&one.value)?)),
        _ => return Err("has more than one attribute".into()),
    };
    Ok(Text {
        comment: message.comment.as_ref().map(joined).unwrap_or_default(),
        value: message.value.as_ref().map(template).transpose()?,
        attribute,
    })
}

fn template(pattern: &Pattern<&str>) -> Result<Template, String> {
    if let [
        PatternElement::Placeable {
            expression:
                Expression::Select {
                    selector: InlineExpression::VariableReference { id },
                    variants,
                },
        },
    ] = pattern.elements.as_slice()
    {
        return Ok(Template::Counted {
            variable: id.name.to_owned(),
            forms: forms(variants)?,
        });
    }
    plain(pattern).map(Template::Plain)
}

fn forms(variants: &[Variant<&str>]) -> Result<Vec<(String, String)>, String> {
    let mut forms = Vec::new();
    for variant in variants {
        let (VariantKey::Identifier { name } | VariantKey::NumberLiteral { value: name }) =
            variant.key;
        if variant.default != (name == "other") {
            return Err("needs `*[other]`, and no other default".into());
        }
        if forms.iter().any(|(known, _)| known == name) {
            return Err(format!("has [{name}] twice"));
        }
        forms.push((name.to_owned(), plain(&variant.value)?));
    }
    // An exact number takes precedence over a plural category that contains it, whatever their
    // order in the file is.
    forms.sort_by_key(|(name, _)| (name == "other", name.parse::<u32>().is_err()));
    Ok(forms)
}

fn plain(pattern: &Pattern<&str>) -> Result<String, String> {
    let mut text = String::new();
    for element in &pattern.elements {
        match element {
            PatternElement::TextElement { value } => text.push_str(value),
            PatternElement::Placeable {
                expression: Expression::Inline(InlineExpression::VariableReference { id }),
            } => {
                text.push('{');
                text.push_str(id.name);
                text.push('}');
            }
            PatternElement::Placeable {
                expression: Expression::Inline(InlineExpression::StringLiteral { value }),
            } => text.push_str(&unescape_unicode_to_string(value)),
            PatternElement::Placeable {
                expression: Expression::Select { .. },
            } => return Err("chooses in the middle of a text".into()),
            PatternElement::Placeable { .. } => {
                return Err("has something in braces that is neither a variable nor a text".into());
            }
        }
    }
    Ok(text)
}
