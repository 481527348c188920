//! How fields are shown: as controls with a label, what they are for, what is wrong with them, and both versions in a conflict.

use std::collections::{HashMap, HashSet};

use askama::Template;
use engine::access::Permission;
use uuid::Uuid;

use super::fill::{here, is_plain_switch, others_of, rows};
use super::spec::{Kind, Spec};
use crate::console::labels;
use crate::console::screens::way;
use crate::console::visit::{Fields, Visit, first};
use crate::console::words::Words;
use crate::guest::markdown_to_html;
use crate::words::fill as fill_in;

/// Rows of a list that are there to be filled in.
const BLANK_ROWS: usize = 2;
/// Lines that a long text is shown with.
const LINES: usize = 5;
/// Lines beside what can be ticked.
const FEW_LINES: usize = 2;

/// A form as it is shown.
pub struct FormView {
    /// Where it is sent.
    pub action: String,
    /// The HTTP status of the page that shows it.
    pub status: u16,
    /// Fields that are not seen.
    pub hidden: Fields,
    /// The texts that its fields link: what each field is called, and the text.
    pub texts: Vec<(String, Uuid)>,
    pub sections: Vec<(&'static str, Vec<Control>)>,
    /// What was refused, of the form as a whole: what it is, and where it is known which field it is about, that.
    pub problems: Vec<(String, Option<String>)>,
    /// What else is to be said of it.
    pub notes: Vec<String>,
    /// A heading and a text, where somebody else has changed the same.
    pub conflict: Option<(&'static str, &'static str)>,
    /// What its button says.
    pub submit: &'static str,
    /// Whether it is there to be looked at alone.
    pub is_read_only: bool,
    pub words: &'static Words,
}

/// A field as it is shown.
#[derive(Template)]
#[template(path = "console/control.html")]
pub struct Control {
    pub name: String,
    pub id: String,
    pub label: String,
    pub help: String,
    pub errors: Vec<String>,
    pub input: Input,
    pub is_required: bool,
    pub is_disabled: bool,
    /// By which a form says that the field is there.
    pub here: Option<String>,
    /// The field and its values with which this one has an effect.
    pub when: Option<String>,
    /// Leads to where more can be done with it.
    pub link: Option<(String, &'static str)>,
    /// By which what cannot be shown is cleared.
    pub clear: Option<&'static str>,
    pub conflict: Option<Conflict>,
    /// Where Markdown is rendered as it is typed, and how it looks.
    pub rendered: Option<(String, String)>,
    pub words: &'static Words,
}

/// Both versions of a field that two have changed.
pub struct Conflict {
    /// What the other has made of it.
    pub theirs: String,
    /// Whether that is chosen.
    pub is_theirs: bool,
}

/// What a field is filled in with.
pub enum Input {
    Line {
        mode: &'static str,
        value: String,
    },
    Area {
        lines: usize,
        value: String,
    },
    Tick {
        is_on: bool,
    },
    Pick {
        options: Vec<Choice>,
    },
    /// Several; the switch is there where there may be none at all.
    Many {
        options: Vec<Choice>,
        set: Option<bool>,
    },
    /// Known texts to tick, and lines for others.
    Names {
        options: Vec<Choice>,
        lines: usize,
        others: String,
    },
    Colour {
        value: String,
    },
    Date {
        value: String,
    },
    Group {
        controls: Vec<Control>,
    },
    Rows {
        rows: Vec<Vec<Control>>,
    },
}

/// One of several.
pub struct Choice {
    pub value: String,
    pub label: String,
    pub is_chosen: bool,
}

impl Control {
    /// The ids of what describes it.
    fn described(&self) -> Option<String> {
        let parts = [(!self.help.is_empty(), "help"), (!self.errors.is_empty(), "error")];
        let ids: Vec<String> = parts.iter().filter(|(is_there, _)| *is_there).map(|(_, part)| format!("{}-{part}", self.id)).collect();
        (!ids.is_empty()).then(|| ids.join(" "))
    }
}

/// What is needed to show fields.
pub struct Showing<'s> {
    pub visit: &'s Visit,
    pub fields: &'s Fields,
    /// What operations list that fields name, by the operation.
    pub listed: &'s HashMap<String, Vec<(String, String)>>,
    /// What is wrong, by the names of fields.
    pub errors: &'s HashMap<String, Vec<String>>,
    /// What others have made of fields, as it is shown.
    pub theirs: &'s HashMap<String, String>,
    /// The texts that fields link, by the name of the field.
    pub texts: &'s HashMap<String, String>,
    /// The fields whose texts the member may not read.
    pub unseen: &'s HashSet<String>,
    pub is_read_only: bool,
    /// Texts in Markdown.
    pub markdown: &'static [&'static str],
}

impl Showing<'_> {
    /// A field of a name.
    pub fn control(&self, spec: &Spec, name: &str) -> Control {
        let (language, words) = (self.visit.language, self.visit.words);
        let value = || first(self.fields, name).unwrap_or_default().to_owned();
        let lacks = spec.needs.filter(|permission| !self.visit.holds(*permission));
        // Whoever cannot see a text does not write over it.
        let lacks = lacks.or_else(|| self.unseen.contains(name).then_some(Permission::ViewProperties));
        let mut help = labels::help(language, spec);
        let mut add = |sentence: String| {
            if !help.is_empty() {
                help.push(' ');
            }
            help.push_str(&sentence);
        };
        match &spec.kind {
            Kind::Lines => add(words.forms.one_a_line.into()),
            Kind::Pairs => add(words.forms.pair_a_line.into()),
            Kind::Text(_) => add(words.forms.text_in_english.into()),
            _ => {}
        }
        if !spec.is_readable {
            add(words.forms.write_only.into());
            match spec.kind {
                // One of these to choose is to leave it as it is.
                Kind::Switch | Kind::Choice(_) | Kind::Reference(_) => {}
                Kind::Names(_) | Kind::Object(_) | Kind::Choices(_) | Kind::References(_) => add(words.forms.kept_unchosen.into()),
                _ => add(words.forms.kept_empty.into()),
            }
            if spec.is_nullable {
                add(fill_in(words.forms.to_clear, &[("clear", words.forms.clear)]));
            }
        }
        if let Some(permission) = lacks {
            add(fill_in(words.forms.needs_permission, &[("permission", words.access.permission(permission.as_ref()))]));
        }
        let has_box = matches!(spec.kind, Kind::Switch) && is_plain_switch(spec)
            || matches!(spec.kind, Kind::Choices(_) | Kind::References(_) | Kind::Names(_));
        let text = self.texts.get(name).and_then(|id| Some((way(self.visit, "/translations/{id}", id)?, words.forms.other_languages)));
        Control {
            name: name.to_owned(),
            id: format!("f-{}", name.replace('.', "-")),
            label: labels::label(language, &spec.name),
            help,
            errors: self.errors.get(name).cloned().unwrap_or_default(),
            input: self.input(spec, name, value),
            is_required: spec.is_required,
            is_disabled: self.is_read_only || lacks.is_some(),
            here: has_box.then(|| here(name)),
            when: spec.when.as_ref().map(|(field, values)| format!("{field}={}", values.join(","))),
            link: text,
            clear: (!spec.is_readable && spec.is_nullable).then_some(words.forms.clear),
            conflict: self.theirs.get(name).map(|theirs| Conflict {
                theirs: fill_in(words.forms.theirs, &[("value", if theirs.is_empty() { words.forms.empty } else { theirs })]),
                is_theirs: first(self.fields, &chosen(name)) == Some("theirs"),
            }),
            rendered: self
                .markdown
                .contains(&name)
                .then(|| (self.visit.address("/rendered"), markdown_to_html(&value()).unwrap_or_default())),
            words,
        }
    }

    fn input(&self, spec: &Spec, name: &str, value: impl Fn() -> String) -> Input {
        let (language, words) = (self.visit.language, self.visit.words);
        let below = |specs: &[Spec], name: &str| -> Vec<Control> {
            specs.iter().map(|part| self.control(part, &format!("{name}.{}", part.name))).collect()
        };
        match &spec.kind {
            Kind::Line(mode) => Input::Line { mode, value: value() },
            Kind::Number => Input::Line { mode: "numeric", value: value() },
            Kind::Area | Kind::Text(_) | Kind::Lines | Kind::Pairs => Input::Area { lines: LINES, value: value() },
            Kind::Switch if is_plain_switch(spec) => Input::Tick { is_on: value() == "true" },
            Kind::Switch => {
                let blank = if spec.is_readable { words.forms.not_set } else { words.forms.keep };
                let options = [("", blank), ("true", words.frame.yes), ("false", words.frame.no)];
                let chosen = value();
                let choice = |(value, label): (&str, &str)| Choice { is_chosen: chosen == value, value: value.into(), label: label.into() };
                Input::Pick { options: options.map(choice).into() }
            }
            Kind::Choice(values) => {
                let named = values.iter().map(|value| (value.clone(), labels::choice(language, value)));
                Input::Pick { options: self.options(spec, named.collect(), &[value()]) }
            }
            Kind::Reference(list) => match self.listed.get(list) {
                Some(listed) => Input::Pick { options: self.options(spec, listed.clone(), &[value()]) },
                None => Input::Line { mode: "text", value: value() },
            },
            Kind::Choices(values) => {
                self.many(spec, name, values.iter().map(|value| (value.clone(), labels::choice(language, value))).collect())
            }
            Kind::References(list) => self.many(spec, name, self.listed.get(list).cloned().unwrap_or_default()),
            Kind::Names(known) => {
                let is_ticked = |known: &str| self.fields.iter().any(|(field, value)| field == name && value == known);
                let option = |known: &&str| Choice {
                    value: (*known).to_owned(),
                    label: labels::asked(language, known),
                    is_chosen: is_ticked(known),
                };
                let others = first(self.fields, &others_of(name)).unwrap_or_default().to_owned();
                Input::Names { options: known.iter().map(option).collect(), lines: FEW_LINES, others }
            }
            Kind::Colour => Input::Colour { value: value() },
            Kind::Date => Input::Date { value: value() },
            Kind::Object(specs) => Input::Group { controls: below(specs, name) },
            Kind::Objects(specs) => {
                let count = rows(name, self.fields) + if self.is_read_only { 0 } else { BLANK_ROWS };
                Input::Rows { rows: (0..count).map(|number| below(specs, &format!("{name}.{number}"))).collect() }
            }
            Kind::Other => Input::Line { mode: "text", value: String::new() },
        }
    }

    /// What can be chosen: nothing as well, where that may be, and what is chosen although it is not listed.
    fn options(&self, spec: &Spec, listed: Vec<(String, String)>, chosen: &[String]) -> Vec<Choice> {
        let words = &self.visit.words.forms;
        let is_listed = |value: &String| listed.iter().any(|(known, _)| known == value);
        let others: Vec<_> =
            chosen.iter().filter(|value| !value.is_empty() && !is_listed(value)).map(|value| (value.clone(), value.clone())).collect();
        let blank = match (spec.is_readable, spec.is_nullable) {
            (false, _) => Some(words.keep),
            (true, true) => Some(words.not_set),
            (true, false) if chosen.iter().all(String::is_empty) => Some(words.choose),
            (true, false) => None,
        };
        let blank = blank.map(|label| (String::new(), label.to_owned()));
        let all = blank.into_iter().chain(others).chain(listed);
        all.map(|(value, label)| Choice { is_chosen: chosen.contains(&value), value, label }).collect()
    }

    fn many(&self, spec: &Spec, name: &str, listed: Vec<(String, String)>) -> Input {
        let chosen: Vec<String> = self.fields.iter().filter(|(known, _)| known == name).map(|(_, value)| value.clone()).collect();
        let is_listed = |value: &String| listed.iter().any(|(known, _)| known == value);
        let others: Vec<_> = chosen.iter().filter(|value| !is_listed(value)).map(|value| (value.clone(), value.clone())).collect();
        let all = others.into_iter().chain(listed);
        let options = all.map(|(value, label)| Choice { is_chosen: chosen.contains(&value), value, label }).collect();
        let set = spec.is_nullable.then(|| first(self.fields, &format!("{name}.set")) == Some("yes"));
        Input::Many { options, set }
    }
}

/// The field by which it is said whose version of another is to stay.
pub fn chosen(name: &str) -> String {
    format!("choose.{name}")
}
