//! The page that sets up the first organization.

use askama::Template;
use axum::response::Response;
use engine::format::ENGLISH;
use engine::language;
use features::words;
use http::HeaderMap;
use texts::Notice;
use texts::sign_in::SignInSetupWords;
use vestibule_http::browser::accepted_languages;

use super::addresses::{SETUP, address};
use super::frame::SignInFrame;
use super::reply::{page, rendered};
use super::setup::{InvalidField, SetupInput};
use super::visit::SignInRequest;

/// A text field or a list of the set-up form.
struct SetupField {
    name: &'static str,
    label: &'static str,
    hint: &'static str,
    value: String,
    error: Option<&'static str>,
    /// The ids of the elements that describe the input (`aria-describedby`).
    described: String,
    /// Additional HTML attributes of the input, such as `maxlength="200"`. The page inserts them
    /// without escaping.
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
    /// The languages that the person can choose. Each has its tag, its name in the language itself,
    /// and whether it is chosen.
    languages: Vec<(&'static str, &'static str, bool)>,
    timezones: Vec<String>,
    /// The id, the label and the error of each invalid field.
    problems: Vec<(&'static str, &'static str, &'static str)>,
}

/// Returns the empty form. Country and language are preset from the browser's language.
pub(super) fn empty_form(visit: &SignInRequest, ticket: &str) -> Response {
    let input = SetupInput {
        country: preferred_country(&visit.headers).unwrap_or_default(),
        languages: vec![visit.language.to_owned()],
        ..SetupInput::default()
    };
    render(visit, 200, ticket, &input, &[])
}

/// Returns the form with the values that the person typed and the errors of the fields.
pub(super) fn form_with_errors(
    visit: &SignInRequest,
    ticket: &str,
    input: &SetupInput,
    errors: &[(&'static str, InvalidField)],
) -> Response {
    render(visit, 400, ticket, input, errors)
}

fn render(
    visit: &SignInRequest,
    status: u16,
    ticket: &str,
    input: &SetupInput,
    errors: &[(&'static str, InvalidField)],
) -> Response {
    let forms = visit.ticket_form_secret(ticket);
    let texts = &visit.words.setup;
    let fields = fields(texts, input, errors);
    let problem = |field: &SetupField| Some((field.name, field.label, field.error?));
    let template = SetupPage {
        frame: SignInFrame::new(&visit.service, visit.language, texts.title.0, None),
        action: address(&visit.service, SETUP),
        ticket,
        form: forms.token(),
        problems: fields.iter().filter_map(problem).collect(),
        fields,
        languages: languages(&input.languages),
        timezones: timezones(),
    };
    forms.set_cookie_on(page(status, rendered(&template), visit.language, &[]))
}

fn fields(
    texts: &SignInSetupWords,
    input: &SetupInput,
    errors: &[(&'static str, InvalidField)],
) -> Vec<SetupField> {
    let field = |name: &'static str, (label, hint): Notice, value: &str, attributes| {
        let error = errors
            .iter()
            .find(|(field, _)| *field == name)
            .map(|(_, error)| describe(texts, *error));
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
            &input.organization,
            r#" autocomplete="organization" maxlength="200""#,
        ),
        field(
            "country",
            texts.country,
            &input.country,
            concat!(
                r#" autocomplete="country" maxlength="2" autocapitalize="characters""#,
                r#" spellcheck="false""#
            ),
        ),
        field(
            "timezone",
            texts.timezone,
            &input.timezone,
            r#" list="timezones" autocomplete="off" spellcheck="false""#,
        ),
        field(
            "name",
            texts.name,
            &input.name,
            r#" autocomplete="name" maxlength="200""#,
        ),
        field(
            "email",
            texts.email,
            &input.email,
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

/// Returns the languages of the guest's page, English first. Each has its tag, its name in the
/// language itself, and whether it is chosen. English is always chosen.
fn languages(chosen: &[String]) -> Vec<(&'static str, &'static str, bool)> {
    let is_chosen = |tag: &str| tag == ENGLISH || chosen.iter().any(|choice| choice == tag);
    let mut languages: Vec<_> = words::LANGUAGES
        .iter()
        .map(|tag| (*tag, words::own_name(tag), is_chosen(tag)))
        .collect();
    languages.sort_by_key(|(tag, name, _)| (*tag != ENGLISH, *name));
    languages
}

/// Returns the names of all geographic time zones, such as `Europe/Madrid`.
fn timezones() -> Vec<String> {
    let all = jiff::tz::db().available();
    let mut zones: Vec<String> = all
        .map(|name| name.as_str().to_owned())
        .filter(|name| name.contains('/') && !name.starts_with("Etc/"))
        .collect();
    zones.sort_unstable();
    zones
}

/// Returns the country of the browser's preferred language, such as `ES` of `es-ES`. Returns `None`
/// if the language has no region, or if the region is not a country, such as Latin America in
/// `es-419`.
fn preferred_country(headers: &HeaderMap) -> Option<String> {
    let region = language::region(accepted_languages(headers).first()?)?;
    (region.len() == 2).then_some(region)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http::header::ACCEPT_LANGUAGE;

    use super::*;

    #[test]
    fn the_country_is_that_of_the_language_with_the_highest_weight() {
        for (header, expected) in [
            ("en-GB;q=0.5, es-ES", Some("ES")),
            ("es-es,en;q=0.9", Some("ES")),
            ("zh-Hant-TW", Some("TW")),
            ("de, en-US;q=0.5", None),
            ("es-419", None),
            ("*", None),
        ] {
            let header_value = HeaderValue::from_static(header);
            let headers = HeaderMap::from_iter([(ACCEPT_LANGUAGE, header_value)]);
            assert_eq!(preferred_country(&headers).as_deref(), expected, "{header}");
        }
        assert_eq!(preferred_country(&HeaderMap::new()), None);
    }
}
