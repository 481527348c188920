//! Converts fields into the controls that the template shows. A control has a label, a help text,
//! errors and, in a conflict, both versions of the value.

use std::collections::{HashMap, HashSet};

use askama::Template;
use engine::access::Permission;
use features::markdown;
use features::words::fill as fill_in;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::choice_lists::{ChoiceLists, NameSearch};
use super::fill::{
    is_plain_switch, other_texts_field, presence_field, removal_field, rows, subject,
};
use super::layout::Layout;
use super::spec::{FieldSpec, InputKind};
use crate::labels;
use crate::request::{ConsoleFields, ConsoleRequest, first_value};
use crate::screens::resource_address;
use crate::words::{ConsoleWords, permission_text};

/// Number of empty rows that the form shows after the rows of a list.
const BLANK_ROWS: usize = 2;
/// Height of the text area for a long text, in lines.
const LINES: usize = 5;
/// Height in lines of the text area that is shown next to checkboxes.
const FEW_LINES: usize = 2;

/// A form as the template shows it.
pub struct FormView {
    /// The address that the form is sent to.
    pub action: String,
    /// The HTTP status of the page with the form.
    pub status: u16,
    /// The hidden fields of the form, such as the values that the form showed when it was opened.
    pub hidden: ConsoleFields,
    /// The texts to which fields of the form refer. Each has the label of its field, and the id of
    /// the text.
    pub texts: Vec<(String, Uuid)>,
    pub sections: Vec<(&'static str, Vec<Control>)>,
    /// The error messages of a refused form. For a message about one field, the second value is the
    /// element id of that field.
    pub problems: Vec<(String, Option<String>)>,
    /// Messages above the form that are not errors.
    pub notes: Vec<String>,
    /// Heading and text about a conflict with another member's changes. `None` if there is no
    /// conflict.
    pub conflict: Option<(&'static str, &'static str)>,
    /// The label of the button that sends the form.
    pub submit: &'static str,
    /// Whether the member may view the form but not send it.
    pub is_read_only: bool,
    /// A note above a read-only form that says why it is read-only. `None` if the page around the
    /// form gives the reason.
    pub read_only_note: Option<&'static str>,
    pub words: &'static ConsoleWords,
}

/// A field as the template shows it.
#[derive(Template)]
#[template(path = "control.html")]
pub struct Control {
    pub name: String,
    pub id: String,
    pub label: String,
    pub help: String,
    pub errors: Vec<String>,
    pub input: ControlInput,
    pub is_required: bool,
    pub is_disabled: bool,
    /// Name of the hidden field that tells the console that the form contains this field. It is
    /// needed because a browser sends nothing for an unticked checkbox. `None` for a control
    /// without checkboxes.
    pub here: Option<String>,
    /// The condition under which this field has an effect: another field and its values, as
    /// `field=a,b`.
    pub when: Option<String>,
    /// The link to a page about this field: the path of the page, and the label of the link. `None`
    /// if the field has no such page.
    pub link: Option<(String, &'static str)>,
    /// Label of the checkbox that deletes the stored value. `None` if the value must not be null.
    /// Also `None` if the form shows the value, because the member can then delete it by emptying
    /// the field.
    pub clear: Option<&'static str>,
    pub conflict: Option<Conflict>,
    /// Set for Markdown fields: the address of the console that renders typed text as HTML, and the
    /// HTML of the field's present text.
    pub rendered: Option<(String, String)>,
    pub words: &'static ConsoleWords,
}

/// The version of a field that another member saved, if that member and the signed-in member both
/// changed the field.
pub struct Conflict {
    /// The value that the other member saved, in words.
    pub their_version: String,
    /// Whether the signed-in member has chosen the value that another member saved, instead of the
    /// value that the signed-in member typed.
    pub is_theirs: bool,
}

/// The type of a control, and its value.
pub enum ControlInput {
    Line {
        mode: &'static str,
        value: String,
    },
    /// A line of text with suggested values.
    Suggested {
        value: String,
        suggestions: Vec<String>,
    },
    Area {
        lines: usize,
        value: String,
    },
    Tick {
        is_on: bool,
    },
    Pick {
        options: Vec<ControlOption>,
    },
    /// Checkboxes, of which the member can tick any number. If the value of the field may be null,
    /// `set` is the state of an additional checkbox. If that box is ticked, the field has a value.
    Checkboxes {
        options: Vec<ControlOption>,
        set: Option<bool>,
        /// The search by name for rows that the form does not show. Set if the list is too long for
        /// the form to show all rows.
        sought: Option<NameSearch>,
    },
    /// A choice of one row from a list that is too long to show. The options are the selected row,
    /// and the results of a search by name.
    Search {
        options: Vec<ControlOption>,
        sought: NameSearch,
    },
    /// Checkboxes for known texts, and a text area for any other texts.
    Names {
        options: Vec<ControlOption>,
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
        rows: Vec<FormRow>,
    },
}

/// A row of a list of objects. It has a control for each field of its object.
pub struct FormRow {
    /// A sentence that describes the rule which is stored for the row. `None` for a new row, and
    /// for a list of objects that are not rules.
    pub rule_sentence: Option<String>,
    pub controls: Vec<Control>,
    /// The checkbox that removes the row. `None` if the form is read-only. Also `None` if no rule
    /// is stored for the row, unless the member ticked the checkbox.
    pub removal: Option<Removal>,
}

/// The checkbox with which a member removes a row.
pub struct Removal {
    pub name: String,
    pub label: String,
    pub is_on: bool,
}

/// An option that a control of the form offers, such as an entry of a drop-down list.
pub struct ControlOption {
    pub value: String,
    pub label: String,
    pub is_chosen: bool,
}

impl Control {
    /// Returns the ids of the elements that describe the control, for `aria-describedby`.
    fn described(&self) -> Option<String> {
        let parts = [
            (!self.help.is_empty(), "help"),
            (!self.errors.is_empty(), "error"),
        ];
        let ids: Vec<String> = parts
            .iter()
            .filter(|(is_there, _)| *is_there)
            .map(|(_, part)| format!("{}-{part}", self.id))
            .collect();
        (!ids.is_empty()).then(|| ids.join(" "))
    }
}

/// The data from which the controls of a form are built, except the schemas of the fields.
pub struct FieldContext<'s> {
    pub request: &'s ConsoleRequest,
    pub fields: &'s ConsoleFields,
    /// The rows that reference fields can refer to.
    pub listed: &'s ChoiceLists,
    /// The error messages of each field, by the name of the field.
    pub errors: &'s HashMap<String, Vec<String>>,
    /// For each field in conflict, the value that the other member saved, in words. The key is the
    /// name of the field.
    pub theirs: &'s HashMap<String, String>,
    /// For each field that refers to a text, the id of the text. The key is the name of the field.
    pub texts: &'s HashMap<String, String>,
    /// The fields whose texts the member may not read.
    pub unseen: &'s HashSet<String>,
    pub is_read_only: bool,
    pub layout: &'static Layout,
    /// The values that the form showed when it was opened.
    pub base: &'s Map<String, Value>,
}

impl FieldContext<'_> {
    /// Builds the control of a field. `name` is the name of the field in the form. It begins with
    /// the names of the objects that contain the field.
    pub fn control(&self, spec: &FieldSpec, name: &str) -> Control {
        let (language, words) = (self.request.language, self.request.texts);
        let value = || {
            first_value(self.fields, name)
                .unwrap_or_default()
                .to_owned()
        };
        let lacks = spec
            .needs
            .filter(|permission| !self.request.has_permission(*permission));
        // A member who may not read a text must not overwrite it unseen. So the control does not
        // offer a value to edit.
        let lacks = lacks.or_else(|| {
            self.unseen
                .contains(name)
                .then_some(Permission::ViewProperties)
        });
        let mut help = labels::help(language, spec);
        let mut add = |sentence: String| {
            if !help.is_empty() {
                help.push(' ');
            }
            help.push_str(&sentence);
        };
        match &spec.kind {
            InputKind::Lines => add(words.forms.one_a_line.into()),
            InputKind::Pairs => add(words.forms.pair_a_line.into()),
            InputKind::Text(_) => add(words.forms.text_in_english.into()),
            InputKind::Reference(_) if self.listed.long(name).is_some() => {
                add(words.forms.find_one.into());
            }
            InputKind::References(_) if self.listed.long(name).is_some() => {
                add(words.forms.find_many.into());
            }
            _ => {}
        }
        if !spec.is_readable {
            add(words.forms.write_only.into());
            match spec.kind {
                // These controls have an option that leaves the stored value unchanged. So their
                // help text need not explain how to leave it unchanged.
                InputKind::Switch | InputKind::Choice(_) | InputKind::Reference(_) => {}
                InputKind::Names(_)
                | InputKind::Object(_)
                | InputKind::Choices(_)
                | InputKind::References(_) => {
                    add(words.forms.kept_unchosen.into());
                }
                _ => add(words.forms.kept_empty.into()),
            }
            if spec.is_nullable {
                add(fill_in(
                    words.forms.to_clear,
                    &[("clear", words.forms.clear)],
                ));
            }
        }
        if let Some(permission) = lacks {
            add(fill_in(
                words.forms.needs_permission,
                &[("permission", permission_text(&words.access, permission))],
            ));
        }
        let has_box = matches!(spec.kind, InputKind::Switch) && is_plain_switch(spec)
            || matches!(
                spec.kind,
                InputKind::Choices(_) | InputKind::References(_) | InputKind::Names(_)
            );
        let text = self.texts.get(name).and_then(|id| {
            Some((
                resource_address(self.request, "/translations/{id}", id)?,
                words.forms.other_languages,
            ))
        });
        Control {
            name: name.to_owned(),
            id: format!("f-{}", name.replace('.', "-")),
            label: spec
                .custom_label
                .clone()
                .unwrap_or_else(|| labels::label(language, &spec.name)),
            help,
            errors: self.errors.get(name).cloned().unwrap_or_default(),
            input: self.input(spec, name, value),
            is_required: spec.is_required,
            is_disabled: self.is_read_only || lacks.is_some(),
            here: has_box.then(|| presence_field(name)),
            when: spec
                .when
                .as_ref()
                .map(|(field, values)| format!("{field}={}", values.join(","))),
            link: text,
            clear: (!spec.is_readable && spec.is_nullable).then_some(words.forms.clear),
            conflict: self.theirs.get(name).map(|theirs| Conflict {
                their_version: fill_in(
                    words.forms.theirs,
                    &[(
                        "value",
                        if theirs.is_empty() {
                            words.forms.empty
                        } else {
                            theirs
                        },
                    )],
                ),
                is_theirs: first_value(self.fields, &choice_field(name)) == Some("theirs"),
            }),
            rendered: self.layout.markdown.contains(&name).then(|| {
                (
                    self.request.address("/rendered"),
                    markdown::to_marked_html(&value()).unwrap_or_default(),
                )
            }),
            words,
        }
    }

    fn input(&self, spec: &FieldSpec, name: &str, value: impl Fn() -> String) -> ControlInput {
        let (language, words) = (self.request.language, self.request.texts);
        let below = |specs: &[FieldSpec], name: &str| -> Vec<Control> {
            specs
                .iter()
                .map(|part| self.control(part, &format!("{name}.{}", part.name)))
                .collect()
        };
        match &spec.kind {
            InputKind::Line(mode) => ControlInput::Line {
                mode,
                value: value(),
            },
            InputKind::Suggested(known) => ControlInput::Suggested {
                value: value(),
                suggestions: known.iter().map(|(_, label)| label.clone()).collect(),
            },
            InputKind::Number => ControlInput::Line {
                mode: "numeric",
                value: value(),
            },
            InputKind::Area | InputKind::Text(_) | InputKind::Lines | InputKind::Pairs => {
                ControlInput::Area {
                    lines: LINES,
                    value: value(),
                }
            }
            InputKind::Switch if is_plain_switch(spec) => ControlInput::Tick {
                is_on: value() == "true",
            },
            InputKind::Switch => {
                let blank = if spec.is_readable {
                    words.forms.not_set
                } else {
                    words.forms.keep
                };
                let options = [
                    ("", blank),
                    ("true", words.frame.yes),
                    ("false", words.frame.no),
                ];
                let chosen = value();
                let choice = |(value, label): (&str, &str)| ControlOption {
                    is_chosen: chosen == value,
                    value: value.into(),
                    label: label.into(),
                };
                ControlInput::Pick {
                    options: options.map(choice).into(),
                }
            }
            InputKind::Choice(values) => {
                let named = values
                    .iter()
                    .map(|value| (value.clone(), labels::choice(language, value)));
                ControlInput::Pick {
                    options: self.options(spec, named.collect(), &[value()]),
                }
            }
            InputKind::Reference(list) => {
                let chosen = value();
                if let Some(listed) = self.listed.short(list) {
                    ControlInput::Pick {
                        options: self.options(spec, listed.to_vec(), &[chosen]),
                    }
                } else if let Some(found) = self.listed.long(name) {
                    let is_blank = chosen.is_empty() && found.is_empty();
                    ControlInput::Search {
                        options: if is_blank {
                            Vec::new()
                        } else {
                            self.options(spec, found.to_vec(), &[chosen])
                        },
                        sought: NameSearch::of(self.fields, name),
                    }
                } else {
                    ControlInput::Line {
                        mode: "text",
                        value: chosen,
                    }
                }
            }
            InputKind::Choices(values) => self.many(
                spec,
                name,
                values
                    .iter()
                    .map(|value| (value.clone(), labels::choice(language, value)))
                    .collect(),
            ),
            InputKind::References(list) => {
                let rows = self.listed.short(list).or_else(|| self.listed.long(name));
                self.many(spec, name, rows.unwrap_or_default().to_vec())
            }
            InputKind::Names(known) => {
                let is_ticked = |known: &str| {
                    self.fields
                        .iter()
                        .any(|(field, value)| field == name && value == known)
                };
                let option = |known: &&str| ControlOption {
                    value: (*known).to_owned(),
                    label: labels::asked(language, known),
                    is_chosen: is_ticked(known),
                };
                let others = first_value(self.fields, &other_texts_field(name))
                    .unwrap_or_default()
                    .to_owned();
                ControlInput::Names {
                    options: known.iter().map(option).collect(),
                    lines: FEW_LINES,
                    others,
                }
            }
            InputKind::Colour => ControlInput::Colour { value: value() },
            InputKind::Date => ControlInput::Date { value: value() },
            InputKind::Object(specs) => ControlInput::Group {
                controls: below(specs, name),
            },
            InputKind::Objects(specs) | InputKind::Rules(specs) => {
                let count =
                    rows(name, self.fields) + if self.is_read_only { 0 } else { BLANK_ROWS };
                let row = |number: usize| {
                    let row = format!("{name}.{number}");
                    let reported = self.told(specs, name, &row);
                    FormRow {
                        controls: below(specs, &row),
                        removal: self.removal(&row, reported.as_deref()),
                        rule_sentence: reported,
                    }
                };
                ControlInput::Rows {
                    rows: (0..count).map(row).collect(),
                }
            }
            InputKind::Other => ControlInput::Line {
                mode: "text",
                value: String::new(),
            },
        }
    }

    /// Returns a sentence that describes the stored rule of a row, such as which guests must fill
    /// in a detail. Returns `None` for a new row, and for a row that has no rule.
    fn told(&self, parts: &[FieldSpec], name: &str, row: &str) -> Option<String> {
        let layout = self.layout.rules_in(name)?;
        let about = subject(parts, row, self.fields);
        let rule = self.base.get(name)?.get(&about)?.as_object()?;
        Some((layout.describe)(
            self.request.texts,
            self.request.language,
            &about,
            rule,
        ))
    }

    /// Returns the checkbox that removes a row from a list of rules. Returns `None` if the form is
    /// read-only. Also returns `None` for a row without a stored rule, unless the member ticked the
    /// checkbox.
    fn removal(&self, row: &str, reported: Option<&str>) -> Option<Removal> {
        let words = self.request.texts;
        let name = removal_field(row);
        let is_on = first_value(self.fields, &name).is_some();
        let label = match reported {
            Some(reported) => words.frame.labelled(words.forms.remove, reported),
            None => words.forms.remove.to_owned(),
        };
        ((reported.is_some() || is_on) && !self.is_read_only).then_some(Removal {
            name,
            label,
            is_on,
        })
    }

    /// Returns the options of a control. The first option has no value: its label says that the
    /// stored value stays, that no value is set, or that the member must choose. A required field
    /// with a selected value lacks this option. Then come the selected values that `listed` does
    /// not contain, and the entries of `listed`.
    fn options(
        &self,
        spec: &FieldSpec,
        listed: Vec<(String, String)>,
        chosen: &[String],
    ) -> Vec<ControlOption> {
        let words = &self.request.texts.forms;
        let is_listed = |value: &String| listed.iter().any(|(known, _)| known == value);
        let others: Vec<_> = chosen
            .iter()
            .filter(|value| !value.is_empty() && !is_listed(value))
            .map(|value| (value.clone(), value.clone()))
            .collect();
        let blank = match (spec.is_readable, spec.is_nullable) {
            (false, _) => Some(words.keep),
            (true, true) => Some(words.not_set),
            (true, false) if chosen.iter().all(String::is_empty) => Some(words.choose),
            (true, false) => None,
        };
        let blank = blank.map(|label| (String::new(), label.to_owned()));
        let all = blank.into_iter().chain(others).chain(listed);
        all.map(|(value, label)| ControlOption {
            is_chosen: chosen.contains(&value),
            value,
            label,
        })
        .collect()
    }

    fn many(&self, spec: &FieldSpec, name: &str, listed: Vec<(String, String)>) -> ControlInput {
        let chosen: Vec<String> = self
            .fields
            .iter()
            .filter(|(known, _)| known == name)
            .map(|(_, value)| value.clone())
            .collect();
        let is_listed = |value: &String| listed.iter().any(|(known, _)| known == value);
        let others: Vec<_> = chosen
            .iter()
            .filter(|value| !is_listed(value))
            .map(|value| (value.clone(), value.clone()))
            .collect();
        let all = others.into_iter().chain(listed);
        let options = all
            .map(|(value, label)| ControlOption {
                is_chosen: chosen.contains(&value),
                value,
                label,
            })
            .collect();
        let set = spec
            .is_nullable
            .then(|| first_value(self.fields, &format!("{name}.set")) == Some("yes"));
        let sought = self
            .listed
            .long(name)
            .map(|_| NameSearch::of(self.fields, name));
        ControlInput::Checkboxes {
            options,
            set,
            sought,
        }
    }
}

/// Returns the name of the form field with the member's choice between the two versions of a field
/// in conflict.
pub fn choice_field(name: &str) -> String {
    format!("choose.{name}")
}
