//! The page that sets up the first organization.

use askama::Template;
use axum::response::Response;
use engine::format::ENGLISH;
use http::header::ACCEPT_LANGUAGE;
use texts::Notice;
use texts::sign_in::SignInSetupWords;

use super::addresses::{SETUP, address};
use super::frame::SignInFrame;
use super::reply::{page, rendered};
use super::setup::{InvalidField, SetupInput};
use super::visit::SignInRequest;
use crate::words;

/// A text field of the form.
struct SetupField {
    name: &'static str,
    label: &'static str,
    hint: &'static str,
    value: String,
    error: Option<&'static str>,
    /// The ids of the elements that describe it.
    described: String,
    /// Further attributes of the input. They are constants.
    attributes: &'static str,
}

#[derive(Template)]
#[template(path = "people/setup.html")]
struct SetupPage<'p> {
    frame: SignInFrame<'p>,
    action: String,
    ticket: &'p str,
    form: String,
    fields: Vec<SetupField>,
    /// Tag, name in the language itself, and whether it is chosen.
    languages: Vec<(&'static str, &'static str, bool)>,
    timezones: Vec<String>,
    /// Id of the field, its label, and its problem.
    problems: Vec<(&'static str, &'static str, &'static str)>,
}

/// Returns the empty form. The browser's language suggests a country and a language.
pub(super) fn empty(visit: &SignInRequest, ticket: &str) -> Response {
    let typed = SetupInput {
        country: region(visit).unwrap_or_default(),
        languages: vec![visit.language.to_owned()],
        ..SetupInput::default()
    };
    shown(visit, 200, ticket, &typed, &[])
}

/// Returns the form as it was typed, with the reasons why it was refused.
pub(super) fn again(
    visit: &SignInRequest,
    ticket: &str,
    typed: &SetupInput,
    wrong: &[(&'static str, InvalidField)],
) -> Response {
    shown(visit, 400, ticket, typed, wrong)
}

fn shown(
    visit: &SignInRequest,
    status: u16,
    ticket: &str,
    typed: &SetupInput,
    wrong: &[(&'static str, InvalidField)],
) -> Response {
    let forms = visit.forms_of(ticket);
    let texts = &visit.words.setup;
    let fields = fields(texts, typed, wrong);
    let problem = |field: &SetupField| Some((field.name, field.label, field.error?));
    let template = SetupPage {
        frame: SignInFrame::new(&visit.service, visit.language, texts.title.0, None),
        action: address(&visit.service, SETUP),
        ticket,
        form: forms.token(),
        problems: fields.iter().filter_map(problem).collect(),
        fields,
        languages: languages(&typed.languages),
        timezones: timezones(),
    };
    forms.on(page(status, rendered(&template), visit.language, &[]))
}

fn fields(
    texts: &SignInSetupWords,
    typed: &SetupInput,
    wrong: &[(&'static str, InvalidField)],
) -> Vec<SetupField> {
    let field = |name: &'static str, (label, hint): Notice, value: &str, attributes| {
        let error = wrong.iter().find(|(field, _)| *field == name);
        let error = error.map(|(_, wrong)| describe(texts, *wrong));
        let ids = [("hint", !hint.is_empty()), ("error", error.is_some())];
        let ids = ids.iter().filter(|(_, is_there)| *is_there);
        SetupField {
            name,
            label,
            hint,
            value: value.to_owned(),
            error,
            described: ids
                .map(|(part, _)| format!("{name}-{part}"))
                .collect::<Vec<_>>()
                .join(" "),
            attributes,
        }
    };
    vec![
        field(
            "organization",
            texts.organization,
            &typed.organization,
            r#" autocomplete="organization" maxlength="200""#,
        ),
        field(
            "country",
            texts.country,
            &typed.country,
            r#" autocomplete="country" maxlength="2" autocapitalize="characters" spellcheck="false""#,
        ),
        field(
            "timezone",
            texts.timezone,
            &typed.timezone,
            r#" list="timezones" autocomplete="off" spellcheck="false""#,
        ),
        field(
            "name",
            texts.name,
            &typed.name,
            r#" autocomplete="name" maxlength="200""#,
        ),
        field(
            "email",
            texts.email,
            &typed.email,
            r#" type="email" autocomplete="email""#,
        ),
    ]
}

fn describe(texts: &SignInSetupWords, wrong: InvalidField) -> &'static str {
    match wrong {
        InvalidField::Required => texts.required,
        InvalidField::Country => texts.no_country,
        InvalidField::Timezone => texts.no_timezone,
        InvalidField::Email => texts.no_email,
        InvalidField::TooLong => texts.too_long,
    }
}

/// Returns the languages that the guest's page speaks, English first.
fn languages(chosen: &[String]) -> Vec<(&'static str, &'static str, bool)> {
    let is_chosen = |tag: &str| tag == ENGLISH || chosen.iter().any(|known| known == tag);
    let mut languages: Vec<_> = words::LANGUAGES
        .iter()
        .map(|tag| (*tag, words::own_name(tag), is_chosen(tag)))
        .collect();
    languages.sort_by_key(|(tag, name, _)| (*tag != ENGLISH, *name));
    languages
}

/// Returns the names of all time zones that have a region.
fn timezones() -> Vec<String> {
    let all = jiff::tz::db().available();
    let mut zones: Vec<String> = all
        .map(|name| name.as_str().to_owned())
        .filter(|name| name.contains('/') && !name.starts_with("Etc/"))
        .collect();
    zones.sort_unstable();
    zones
}

/// Returns the region of the browser's preferred language, such as `ES` of `es-ES`.
fn region(visit: &SignInRequest) -> Option<String> {
    let header = visit.headers.get(ACCEPT_LANGUAGE)?.to_str().ok()?;
    let tag = header.split([',', ';']).next()?;
    let region = tag.trim().split('-').next_back()?;
    let is_region = region.len() == 2 && tag.contains('-');
    is_region.then(|| region.to_ascii_uppercase())
}
