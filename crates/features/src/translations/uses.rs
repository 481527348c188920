//! Stores which resources show which texts, and checks every text against the resources that show
//! it (rules: translations#writing; access#texts-of-limited-callers).
//!
//! A resource in this file is a document that links texts: a step, a manual, a category, a portal
//! or a branding. Names in the code call it a *thing*. A write of a resource stores its links to
//! texts (`translation_use`). The module of the resource implements [`TextRules`]: the form of the
//! texts in each field, the callers who can see and change the resources, and additional checks of
//! a new text. Several resources may show the same text. This file therefore checks every write
//! of a text, and every new link to it, against the needs of all of them. `src/app.rs` lists the
//! modules.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use engine::context::Context;
use engine::error::{Error, Issue, PathSegment, Reason, Result};
use engine::typed;
use engine::values;
use uuid::Uuid;

use super::placeholders::{check_placeholders, unknown_placeholder};
use super::{ENGLISH, OtherLanguages, SourceTable, delete_entry, entries, put, queue};

store::statements! {
    /// Selects the source table of each text: the kind of resource that can link the text.
    SOURCES = "select id, source_table from translation where organization_id = ?1 and id = \
        any(?2)";
    /// Selects the length of the longest version of each text, in characters.
    LENGTHS = "select translation_id, cast(max(length(text)) as bigint) from translation_entry
        where organization_id = ?1 and translation_id = any(?2) group by translation_id";
    /// Selects the versions of texts that may contain placeholders.
    WITH_BRACES = "select translation_id, text from translation_entry
        where organization_id = ?1 and translation_id = any(?2) and text like '%{{%'";
    /// Selects the resources and fields that show the given texts.
    USES = "select translation_id, thing_id, field from translation_use where organization_id = ?1
        and translation_id = any(?2)";
    /// Stores that a field of a resource shows the given texts.
    INSERT = "insert into translation_use (organization_id, translation_id, thing_id, field)
        select organization_id, id, ?2, ?3 from translation where organization_id = ?1
        and id = any(?4)";
    /// Deletes the stored links from a resource to texts.
    DELETE = "delete from translation_use where organization_id = ?1 and thing_id = ?2";
}

/// Maximum length of a text in a field that sets no limit, in characters.
pub(crate) const MAX_TEXT_LENGTH: usize = 6_000;

/// The form that the text of a field must have, in every language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextForm {
    /// Maximum number of characters of the text.
    pub max_length: usize,
    /// Whether surrounding spaces are removed before the text is checked and stored.
    pub is_trimmed: bool,
}

impl TextForm {
    /// Creates the form of a text that has a maximum length of `longest` characters and is stored
    /// unchanged, with its surrounding spaces.
    pub(crate) const fn up_to(longest: usize) -> Self {
        Self {
            max_length: longest,
            is_trimmed: false,
        }
    }

    /// Creates the form of texts that have at most `longest` characters and are stored without
    /// surrounding spaces.
    pub(crate) const fn trimmed_up_to(longest: usize) -> Self {
        Self {
            max_length: longest,
            is_trimmed: true,
        }
    }

    /// Combines the forms that two fields require of the same text. The smaller of the two maximum
    /// lengths applies, and the text is trimmed if one of the forms requires it.
    fn and(self, other: Self) -> Self {
        Self {
            max_length: self.max_length.min(other.max_length),
            is_trimmed: self.is_trimmed || other.is_trimmed,
        }
    }

    /// Returns a text as it is stored in this form: without surrounding spaces if `is_trimmed` is
    /// set, and unchanged otherwise.
    fn of(self, text: &str) -> &str {
        if self.is_trimmed {
            typed::trim(text)
        } else {
            text
        }
    }

    /// Returns the error message for a text that is blank or longer than `max_length`; `None` for a
    /// valid text.
    fn fault(self, text: &str) -> Option<String> {
        if typed::is_blank(text) {
            return Some("must not be blank".into());
        }
        self.is_exceeded_by(text.chars().count()).then(|| {
            format!(
                "must have at most {} characters for the fields that show it",
                self.max_length
            )
        })
    }

    const fn is_exceeded_by(self, length: usize) -> bool {
        length > self.max_length
    }
}

impl Default for TextForm {
    fn default() -> Self {
        Self::up_to(MAX_TEXT_LENGTH)
    }
}

/// A field of a resource that shows a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldUse {
    pub thing: Uuid,
    /// The name of the field that shows the text.
    pub field: String,
}

/// A text that is about to change.
#[derive(Debug)]
pub struct TextChange<'n> {
    /// The fields that show the text.
    pub uses: &'n [FieldUse],
    /// The language of the new text.
    pub language: &'n str,
    /// The new text, as it will be stored.
    pub text: &'n str,
}

impl TextChange<'_> {
    /// Returns whether the language is English, of any region.
    pub(crate) fn is_english(&self) -> bool {
        super::is_english(self.language)
    }

    /// Returns the resources that show the text in a field for which `in_field` returns true.
    pub(crate) fn things(&self, in_field: impl Fn(&str) -> bool) -> Vec<Uuid> {
        distinct(
            self.uses
                .iter()
                .filter(|field_use| in_field(&field_use.field))
                .map(|field_use| field_use.thing),
        )
    }
}

/// A module's rules for the texts that its resources show.
pub trait TextRules: Send + Sync {
    /// Returns the source tables of the module's texts. No other module has texts of these source
    /// tables.
    fn sources(&self) -> &'static [SourceTable];

    /// Returns the form that the text of a field must have.
    fn form(&self, field: &str) -> TextForm;

    /// Returns whether the text of a field is Markdown.
    fn is_markdown(&self, _field: &str) -> bool {
        false
    }

    /// Returns the resources in `things` that a limited caller can see. By default, these are all
    /// resources in `things`.
    fn visible(&self, _: &mut Context<'_, '_>, things: &[Uuid]) -> Result<HashSet<Uuid>> {
        Ok(things.iter().copied().collect())
    }

    /// Returns the resources in `things` that a limited caller may change. By default, these are
    /// all resources in `things`.
    fn writable(&self, _: &mut Context<'_, '_>, things: &[Uuid]) -> Result<HashSet<Uuid>> {
        Ok(things.iter().copied().collect())
    }

    /// Checks a new text that resources of the module show. Fails with 403 if the caller lacks a
    /// permission, and with 409 if the text conflicts with another resource. The code that calls
    /// this method has already checked the caller's access to the resources.
    fn admit(&self, context: &mut Context<'_, '_>, change: &TextChange<'_>) -> Result<()>;

    /// Is called after a text has changed. An implementation sets the time of the last change of
    /// those resources whose own operations read or write this text as a field, such as the heading
    /// of a step.
    fn changed(&self, _: &mut Context<'_, '_>, _: &TextChange<'_>) -> Result<()> {
        Ok(())
    }
}

/// Returns the resources in `things` that a limited caller can see. All these resources show texts
/// of the same source table.
pub(super) fn visible(
    context: &mut Context<'_, '_>,
    source: SourceTable,
    things: Vec<Uuid>,
) -> Result<HashSet<Uuid>> {
    module(context, source)?.visible(context, &things)
}

/// Returns the rules of the module whose resources show the texts of a source table.
fn module(context: &Context<'_, '_>, source: SourceTable) -> Result<&'static dyn TextRules> {
    let module = context
        .listed::<&'static dyn TextRules>()
        .iter()
        .find(|module| module.sources().contains(&source));
    module
        .copied()
        .ok_or_else(|| Error::internal("no module has this source table"))
}

/// Returns the source table of a text, or 404 if there is no such text.
fn source(context: &mut Context<'_, '_>, id: Uuid) -> Result<SourceTable> {
    sources(context, vec![id])?
        .remove(&id)
        .ok_or_else(not_found)
}

fn sources(context: &mut Context<'_, '_>, ids: Vec<Uuid>) -> Result<HashMap<Uuid, SourceTable>> {
    let read = |row: &store::Row| -> Result<(Uuid, SourceTable)> {
        let source = row
            .get::<String>(1)?
            .parse()
            .map_err(|_| Error::internal("a text has an unknown source table"))?;
        Ok((row.get(0)?, source))
    };
    context
        .rows(&SOURCES, values![ids])?
        .iter()
        .map(read)
        .collect()
}

/// Returns the fields that show each of these texts. Texts that no field shows are left out.
fn uses(context: &mut Context<'_, '_>, ids: Vec<Uuid>) -> Result<HashMap<Uuid, Vec<FieldUse>>> {
    let mut uses = HashMap::<Uuid, Vec<FieldUse>>::new();
    for row in context.rows(&USES, values![ids])? {
        uses.entry(row.get(0)?).or_default().push(FieldUse {
            thing: row.get(1)?,
            field: row.get(2)?,
        });
    }
    Ok(uses)
}

fn uses_of(context: &mut Context<'_, '_>, id: Uuid) -> Result<Vec<FieldUse>> {
    Ok(uses(context, vec![id])?.remove(&id).unwrap_or_default())
}

/// Returns whether any field shows a text as Markdown.
pub(super) fn is_markdown(context: &mut Context<'_, '_>, id: Uuid) -> Result<bool> {
    let source = source(context, id)?;
    let module = module(context, source)?;
    let uses = uses_of(context, id)?;
    Ok(uses
        .iter()
        .any(|field_use| module.is_markdown(&field_use.field)))
}

/// Returns the form that a text must have to be valid in every field that shows it. A text that no
/// field shows must have the default form.
fn form(module: &dyn TextRules, uses: &[FieldUse]) -> TextForm {
    uses.iter().fold(TextForm::default(), |form, field_use| {
        form.and(module.form(&field_use.field))
    })
}

fn not_found() -> Error {
    Error::not_found("Translation")
}

fn distinct(ids: impl Iterator<Item = Uuid>) -> Vec<Uuid> {
    ids.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Fails with 404 if the text does not exist, or if the caller can see none of the resources that
/// show it. Every caller can read and write a text that no resource shows.
pub(crate) fn check_readable(context: &mut Context<'_, '_>, id: Uuid) -> Result<()> {
    let source = source(context, id)?;
    let module = module(context, source)?;
    if !context.property_scope().is_limited() {
        return Ok(());
    }
    let things = distinct(
        uses_of(context, id)?
            .into_iter()
            .map(|field_use| field_use.thing),
    );
    if things.is_empty() || !module.visible(context, &things)?.is_empty() {
        Ok(())
    } else {
        Err(not_found())
    }
}

/// Returns the ids of the given texts that a limited caller can read, by the rule of
/// [`check_readable`].
pub(super) fn readable(context: &mut Context<'_, '_>, ids: &[Uuid]) -> Result<HashSet<Uuid>> {
    let sources = sources(context, ids.to_vec())?;
    let mut things_by_text: HashMap<Uuid, Vec<Uuid>> = HashMap::new();
    for row in context.rows(&USES, values![ids.to_vec()])? {
        things_by_text
            .entry(row.get(0)?)
            .or_default()
            .push(row.get(1)?);
    }
    let mut by_module: BTreeMap<SourceTable, Vec<Uuid>> = BTreeMap::new();
    for (id, things) in &things_by_text {
        if let Some(source) = sources.get(id) {
            by_module.entry(*source).or_default().extend(things);
        }
    }
    let mut visible = HashSet::new();
    for (source, things) in by_module {
        visible.extend(module(context, source)?.visible(context, &distinct(things.into_iter()))?);
    }
    let is_readable = |id: &Uuid| {
        things_by_text
            .get(id)
            .is_none_or(|things| things.iter().any(|thing| visible.contains(thing)))
    };
    Ok(sources.into_keys().filter(is_readable).collect())
}

/// A link from a resource to a text, stored or requested.
#[derive(Debug, Clone)]
pub(crate) struct TextLink<'l> {
    /// The path of the linking field in the request.
    pub path: Vec<PathSegment>,
    pub id: Uuid,
    /// The `sourceTable` that a text of this field must have. A link to a text with another one is
    /// an issue.
    pub source: SourceTable,
    /// The name of the linking field, such as `titleId`.
    pub field: &'l str,
    /// Whether the stored resource already has this link.
    pub is_stored: bool,
}

/// Returns an issue for each link to a text of the wrong source table, with a version that is too
/// long for the field, or with an unknown placeholder. Fails with 404 if a text does not exist, or
/// if the caller can see none of the resources that show it. For a link that is already stored,
/// only the source table is checked.
pub(crate) fn wrong_links(
    context: &mut Context<'_, '_>,
    links: &[TextLink<'_>],
) -> Result<Vec<Issue>> {
    if links.is_empty() {
        return Ok(Vec::new());
    }
    let sources = sources(context, distinct(links.iter().map(|link| link.id)))?;
    if let Some(link) = links.iter().find(|link| !sources.contains_key(&link.id)) {
        return Err(not_found().of(link.id));
    }
    let new = distinct(
        links
            .iter()
            .filter(|link| !link.is_stored)
            .map(|link| link.id),
    );
    check_visible_uses(context, &new, &sources)?;
    let faults = placeholder_faults(context, &new)?;
    let lengths = lengths(context, new)?;
    let mut issues = Vec::new();
    for TextLink {
        path,
        id,
        source,
        field,
        is_stored: is_kept,
    } in links
    {
        let form = module(context, *source)?.form(field);
        let reason = if sources.get(id) != Some(source) {
            Reason::rule(
                "other_source",
                format!(
                    "is not the id of a text with sourceTable {}",
                    source.as_ref()
                ),
            )
        } else if !is_kept
            && lengths
                .get(id)
                .is_some_and(|length| form.is_exceeded_by(*length))
        {
            Reason::rule(
                "too_long_version",
                format!(
                    "must not be a text with a version of more than {} characters",
                    form.max_length
                ),
            )
        } else if !is_kept && let Some(fault) = faults.get(id) {
            fault.clone()
        } else {
            continue;
        };
        issues.push(Issue::at(path.clone(), reason));
    }
    Ok(issues)
}

/// Fails with 404 if one of these texts is shown only by resources that a limited caller cannot
/// see.
fn check_visible_uses(
    context: &mut Context<'_, '_>,
    ids: &[Uuid],
    sources: &HashMap<Uuid, SourceTable>,
) -> Result<()> {
    if ids.is_empty() || !context.property_scope().is_limited() {
        return Ok(());
    }
    let uses = uses(context, ids.to_vec())?;
    let mut by_source = BTreeMap::<SourceTable, Vec<&[FieldUse]>>::new();
    for (id, uses) in &uses {
        if let Some(source) = sources.get(id) {
            by_source.entry(*source).or_default().push(uses);
        }
    }
    for (source, texts) in by_source {
        let things = distinct(
            texts
                .iter()
                .flat_map(|uses| uses.iter())
                .map(|field_use| field_use.thing),
        );
        let visible = module(context, source)?.visible(context, &things)?;
        if texts.iter().any(|uses| {
            uses.iter()
                .all(|field_use| !visible.contains(&field_use.thing))
        }) {
            return Err(not_found());
        }
    }
    Ok(())
}

fn lengths(context: &mut Context<'_, '_>, ids: Vec<Uuid>) -> Result<HashMap<Uuid, usize>> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = context.rows(&LENGTHS, values![ids])?;
    rows.iter()
        .map(|row| {
            Ok((
                row.get(0)?,
                usize::try_from(row.get::<i64>(1)?).unwrap_or(usize::MAX),
            ))
        })
        .collect()
}

/// Returns a reason for each text that contains an unknown placeholder, by the id of the text.
fn placeholder_faults(
    context: &mut Context<'_, '_>,
    ids: &[Uuid],
) -> Result<HashMap<Uuid, Reason>> {
    let mut faults = HashMap::new();
    if ids.is_empty() {
        return Ok(faults);
    }
    for row in context.rows(&WITH_BRACES, values![ids])? {
        let (id, text): (Uuid, String) = (row.get(0)?, row.get(1)?);
        if let Some(fault) = unknown_placeholder(context, [text.as_str()])? {
            faults.insert(id, fault);
        }
    }
    Ok(faults)
}

/// Stores the links of a resource to texts, each with the name of its field. `before` are the
/// stored links of the resource; a new resource has none.
pub(crate) fn save_links<'l>(
    context: &mut Context<'_, '_>,
    thing: Uuid,
    before: impl IntoIterator<Item = (&'l str, Option<Uuid>)>,
    now: impl IntoIterator<Item = (&'l str, Option<Uuid>)>,
) -> Result<()> {
    let (before, now) = (link_set(before), link_set(now));
    if before == now {
        return Ok(());
    }
    if !before.is_empty() {
        context.execute_deferred(&DELETE, values![thing])?;
    }
    let mut by_field = BTreeMap::<&str, Vec<Uuid>>::new();
    for (field, id) in now {
        by_field.entry(field).or_default().push(id);
    }
    for (field, ids) in by_field {
        context.execute_deferred(&INSERT, values![thing, field, ids])?;
    }
    Ok(())
}

fn link_set<'l>(
    links: impl IntoIterator<Item = (&'l str, Option<Uuid>)>,
) -> BTreeSet<(&'l str, Uuid)> {
    links
        .into_iter()
        .filter_map(|(field, id)| Some((field, id?)))
        .collect()
}

/// A text that passed all checks and may be written.
pub(crate) struct CheckedText {
    id: Uuid,
    language: String,
    text: String,
    module: &'static dyn TextRules,
    /// The fields that show the text. If the operation of a resource writes the text, the fields of
    /// that resource are left out, because that operation checks the text for them itself.
    uses: Vec<FieldUse>,
    is_change: bool,
}

/// The resource whose operation writes a text, and the path of the text in the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextWriter<'w> {
    /// The resource whose operation writes the text. That operation checks the text for this
    /// resource and records the change itself. `None` if an operation on translations writes the
    /// text.
    pub thing: Option<Uuid>,
    /// The path of the text in the request.
    pub path: &'w [&'w str],
}

impl CheckedText {
    /// Checks a text that is to be written by hand in a language. Nothing is checked if the same
    /// hand-written text is stored already and the English text has not changed since.
    ///
    /// Fails with 404 if the text does not exist, or if a limited caller may change none of the
    /// resources that show it. Fails with 403 if the caller may change only some of these
    /// resources, or lacks a permission. Fails with 409 if a resource that shows the text refuses
    /// it because of another resource, for example because two categories would have the same
    /// title. Fails with 400 if the text is blank, is too long for a field that shows it, or
    /// contains an unknown placeholder.
    pub(crate) fn check_write(
        context: &mut Context<'_, '_>,
        id: Uuid,
        language: &str,
        text: &str,
        writer: TextWriter<'_>,
    ) -> Result<Self> {
        let source = source(context, id)?;
        let module = module(context, source)?;
        let mut uses = uses_of(context, id)?;
        let form = form(module, &uses);
        let is_linked = !uses.is_empty() || writer.thing.is_some();
        uses.retain(|field_use| Some(field_use.thing) != writer.thing);
        let is_shared = is_shown_elsewhere(context, module, &uses, writer)?;
        let text = form.of(text).to_owned();
        let stored = entries(context, id)?
            .into_iter()
            .find(|entry| entry.language == language);
        let is_news = stored.is_none_or(|stored| !stored.is_written(&text));
        if is_news {
            if is_shared {
                return Err(Error::forbidden(shown_elsewhere()));
            }
            if !uses.is_empty() {
                module.admit(
                    context,
                    &TextChange {
                        uses: &uses,
                        language,
                        text: &text,
                    },
                )?;
            }
            if let Some(fault) = form.fault(&text) {
                return Err(Error::invalid(writer.path, fault));
            }
            if is_linked {
                check_placeholders(context, writer.path, &text)?;
            }
        }
        Ok(Self {
            id,
            language: language.to_owned(),
            text,
            module,
            uses,
            is_change: is_news,
        })
    }

    /// Returns whether the text differs from the stored one.
    pub(crate) fn is_change(&self) -> bool {
        self.is_change
    }

    /// Writes the text, and updates the resources that show it ([`TextRules::changed`]). `others`
    /// selects the languages that are translated again.
    pub(crate) fn write_checked(
        self,
        context: &mut Context<'_, '_>,
        others: OtherLanguages,
    ) -> Result<()> {
        let Self {
            id,
            language,
            text,
            module,
            uses,
            is_change: is_news,
        } = self;
        put(context, id, &language, &text, others)?;
        if is_news {
            module.changed(
                context,
                &TextChange {
                    uses: &uses,
                    language: &language,
                    text: &text,
                },
            )
        } else {
            Ok(())
        }
    }
}

/// Removes a text in one language. If the removed text was hand-written and the organization uses
/// the language, the English text is queued for translation into it.
///
/// Fails with 404 if the text does not exist in that language, or if a limited caller may change
/// none of the resources that show it. Fails with 403 if the caller may change only some of them,
/// or lacks a permission. Fails with 409 for the English text.
pub(super) fn remove(context: &mut Context<'_, '_>, id: Uuid, language: &str) -> Result<()> {
    let source = source(context, id)?;
    let module = module(context, source)?;
    let uses = uses_of(context, id)?;
    let writer = TextWriter {
        thing: None,
        path: &["language"],
    };
    let is_shared = is_shown_elsewhere(context, module, &uses, writer)?;
    let stored = entries(context, id)?
        .into_iter()
        .find(|entry| entry.language == language)
        .ok_or_else(|| Error::not_found("Text"))?;
    if is_shared {
        return Err(Error::forbidden(shown_elsewhere()));
    }
    let change = TextChange {
        uses: &uses,
        language,
        text: "",
    };
    if !uses.is_empty() {
        module.admit(context, &change)?;
    }
    if language == ENGLISH {
        return Err(Error::conflict(Reason::rule(
            "english_text",
            "The English text cannot be removed, because other languages are translated from it.",
        )));
    }
    queue::cancel(context, id, language)?;
    delete_entry(context, id, language)?;
    let languages = &context.organization.settings.languages;
    if !stored.is_machine_translated && languages.iter().any(|enabled| enabled == language) {
        queue::enqueue(context, id, &BTreeSet::from([language.to_owned()]), false)?;
    }
    module.changed(context, &change)
}

fn shown_elsewhere() -> Reason {
    Reason::rule(
        "text_shown_elsewhere",
        "The text is also shown by something that you cannot change.",
    )
}

/// Returns whether the text is shown by a resource that the caller may not change. A caller who can
/// access all properties may change every resource. Fails with 404 if the caller may change none of
/// the resources that show the text, unless `writer` is an operation that writes a resource.
fn is_shown_elsewhere(
    context: &mut Context<'_, '_>,
    module: &dyn TextRules,
    uses: &[FieldUse],
    writer: TextWriter<'_>,
) -> Result<bool> {
    let things = distinct(uses.iter().map(|field_use| field_use.thing));
    if things.is_empty() || !context.property_scope().is_limited() {
        return Ok(false);
    }
    let writable = module.writable(context, &things)?;
    if writable.is_empty() && writer.thing.is_none() {
        return Err(not_found());
    }
    Ok(things.iter().any(|thing| !writable.contains(thing)))
}

/// Returns a machine translation in the form in which it is stored; `None` if it is too long for a
/// field that shows it.
pub(super) fn fit_to_fields(
    context: &mut Context<'_, '_>,
    id: Uuid,
    text: &str,
) -> Result<Option<String>> {
    let source = source(context, id)?;
    let module = module(context, source)?;
    let form = form(module, &uses_of(context, id)?);
    let text = form.of(text);
    Ok(form.fault(text).is_none().then(|| text.to_owned()))
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn the_strictest_of_several_text_limits_applies() {
        let (title, body) = (TextForm::trimmed_up_to(3), TextForm::up_to(5));
        assert_eq!(title.and(body), title);
        assert_eq!(body.and(title), title);
        // Inputs: a text. Results: the stored text under the form `title` and under the form
        // `body`, or `None` if the form refuses the text.
        for (text, first, second) in [
            ("abc", Some("abc"), Some("abc")),
            (" abc\u{a0}", Some("abc"), Some(" abc\u{a0}")),
            ("abcd", None, Some("abcd")),
            (
                "\u{1F3E0}\u{1F3E0}\u{1F3E0}",
                Some("\u{1F3E0}\u{1F3E0}\u{1F3E0}"),
                Some("\u{1F3E0}\u{1F3E0}\u{1F3E0}"),
            ),
            (" abcd ", None, None),
            ("  ", None, None),
        ] {
            for (form, expected) in [(title, first), (body, second)] {
                let stored = form.of(text);
                assert_eq!(
                    form.fault(stored).is_none().then_some(stored),
                    expected,
                    "{text:?}"
                );
            }
        }
    }
}
